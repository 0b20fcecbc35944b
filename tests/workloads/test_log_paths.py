"""Where do the logs of an attempt stand, and what does a file's name tell?"""

import glob
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.log_paths import Hints, JobNames, expand, hints_of, log_patterns

NAMES = JobNames(number=42, name="train", user="ann", work_dir="/home/ann/run")
TASK = replace(NAMES, array_job=40, array_task=7)

GLOBS: dict[str, tuple[JobNames, str, str]] = {
    "name and number": (NAMES, "/logs/%x_%j.log", "/logs/train_42.log"),
    "user": (NAMES, "/logs/%u/out", "/logs/ann/out"),
    "relative to the work folder": (NAMES, "logs/%j.out", "/home/ann/run/logs/42.out"),
    "up from the work folder: the reader's to refuse": (NAMES, "../%j.out", "/home/ann/run/../42.out"),
    "a percent sign": (NAMES, "/l/100%%_%j", "/l/100%_42"),
    "an array task": (TASK, "/l/%A_%a", "/l/40_7"),
    "array fields outside an array, as Slurm fills them": (NAMES, "/l/%A_%a", "/l/42_4294967294"),
    "padded number": (NAMES, "/l/%6j", "/l/000042"),
    "padding stops at ten": (NAMES, "/l/%25j", "/l/0000000042"),
    "padding of a name is passed over": (NAMES, "/l/%9x", "/l/train"),
    "task": (NAMES, "/l/%t", "/l/*"),
    "node name, node and step": (NAMES, "/l/%N-%n.%s", "/l/*-*.*"),
    "number and step": (NAMES, "/l/%J", "/l/42*"),
    "two wildcards in a row are no folder sign": (NAMES, "/l/%t%N/x", "/l/*/x"),
    "a field we do not know": (NAMES, "/l/%z%q", "/l/%z%q"),
    "a percent sign at the end": (NAMES, "/l/x%", "/l/x%"),
    "a width at the end": (NAMES, "/l/x%4", "/l/x%4"),
    "a backslash turns the fields off": (NAMES, r"/l/\%j", "/l/%j"),
    "two backslashes are one": (NAMES, r"/l/a\\b%j", r"/l/a\b%j"),
    "signs of a glob in the pattern": (NAMES, "/l/[a]*?%j", "/l/[[]a][*][?]42"),
    "signs of a glob in the name": (replace(NAMES, name="a[0]*"), "/l/%x", "/l/a[[]0][*]"),
    "signs of a glob in the work folder": (replace(NAMES, work_dir="/home/*"), "%j", "/home/[*]/42"),
    "fields in the work folder are none": (replace(NAMES, work_dir="/home/%j"), "%j", "/home/%j/42"),
    "a slash in the name is a folder": (replace(NAMES, name="a/b"), "/l/%x", "/l/a/b"),
}


@pytest.mark.parametrize(("names", "pattern", "expected"), GLOBS.values(), ids=GLOBS.keys())
def test_globs(names: JobNames, pattern: str, expected: str) -> None:
    found = expand(pattern, names, "cluster")
    assert found is not None
    assert found.glob == expected


NOWHERE: dict[str, tuple[JobNames, str]] = {
    "an empty pattern": (NAMES, ""),
    "relative without a work folder": (replace(NAMES, work_dir=""), "out"),
    "relative to a relative work folder": (replace(NAMES, work_dir="run"), "out"),
    "a NUL": (NAMES, "/l/a\0b"),
    "no UTF-8": (NAMES, "/l/\udc80"),
    "longer than a path": (NAMES, "/l/" + "a" * 4096),
    "longer once expanded": (replace(NAMES, name="n" * 255), "/l" + "/%x" * 20),
    "too many wildcards": (NAMES, "/l" + "/%t" * 7),
    "a name that climbs": (replace(NAMES, name="../../etc/passwd"), "/logs/%u/%x"),
    "a name that is the folder above": (replace(NAMES, name=".."), "/logs/%x/out"),
    "a job without a name": (replace(NAMES, name=""), "/logs/%x/out"),
}


@pytest.mark.parametrize(("names", "pattern"), NOWHERE.values(), ids=NOWHERE.keys())
def test_patterns_that_name_no_log(names: JobNames, pattern: str) -> None:
    assert expand(pattern, names, "opt-in") is None


def places(names: JobNames, logs: list[str], cluster: list[str], out: str, err: str) -> list[tuple[str, str]]:
    return [(each.origin, each.glob) for each in log_patterns(names, logs, cluster, out, err)]


def test_the_order_is_opt_in_cluster_own_output() -> None:
    assert places(NAMES, ["a.log"], ["/logs/%j"], "o", "e") == [
        ("opt-in", "/home/ann/run/a.log"),
        ("cluster", "/logs/42"),
        ("stdout", "/home/ann/run/o"),
        ("stderr", "/home/ann/run/e"),
    ]


def test_defaults_are_those_of_slurm() -> None:
    assert places(NAMES, [], [], "", "") == [("stdout", "/home/ann/run/slurm-42.out")]
    assert places(TASK, [], [], "", "") == [("stdout", "/home/ann/run/slurm-40_7.out")]


def test_the_same_place_is_looked_at_once_and_the_bin_never() -> None:
    assert places(NAMES, ["%j.log"], [], "/home/ann/run/%j.log", "/dev/null") == [
        ("opt-in", "/home/ann/run/42.log")
    ]


def test_many_patterns_leave_room_for_the_own_output() -> None:
    found = places(NAMES, [f"{n}" for n in range(8)], [f"/l/{n}" for n in range(99)], "o", "e")
    assert len(found) == 16
    assert [origin for origin, _ in found[-2:]] == ["stdout", "stderr"]


HINTS: dict[str, tuple[str, str, list[str], dict[str, Hints]]] = {
    "rank": (
        "cluster",
        "/l/%j_%t.log",
        ["/l/42_0.log", "/l/42_11.log"],
        {
            "/l/42_0.log": Hints(rank=0),
            "/l/42_11.log": Hints(rank=11),
        },
    ),
    "a padded rank, and files that only look like one": (
        "cluster",
        "/l/%4t.log",
        ["/l/0003.log", "/l/3.log", "/l/abcd.log"],
        {"/l/0003.log": Hints(rank=3)},
    ),
    "host": ("cluster", "/l/%N.log", ["/l/gpu-01.ib.log"], {"/l/gpu-01.ib.log": Hints(host="gpu-01.ib")}),
    "node counted in the attempt's list": (
        "cluster",
        "/l/%n",
        ["/l/1", "/l/9", "/l/99999999999999999999"],
        {"/l/1": Hints(host="n02"), "/l/9": Hints(), "/l/99999999999999999999": Hints()},
    ),
    "a host beats a counted node": ("cluster", "/l/%N_%n", ["/l/n05_0"], {"/l/n05_0": Hints(host="n05")}),
    "a field twice must say the same": (
        "cluster",
        "/l/%t/%t",
        ["/l/1/1", "/l/1/2"],
        {"/l/1/1": Hints(rank=1)},
    ),
    "steps of one job and not of the next": (
        "cluster",
        "/l/%J_%t",
        ["/l/42.0_5", "/l/42_5", "/l/421_5", "/l/42.x_5"],
        {"/l/42.0_5": Hints(rank=5), "/l/42_5": Hints(rank=5)},
    ),
    "no wildcard": ("cluster", "/l/%j", ["/l/42"], {"/l/42": Hints()}),
    "a batch script's one file holds every rank": (
        "stdout",
        "/l/%t_%N.out",
        ["/l/0_n01.out"],
        {"/l/0_n01.out": Hints()},
    ),
    "several files of the own pattern were written by srun": (
        "stdout",
        "/l/%t.out",
        ["/l/0.out", "/l/1.out"],
        {"/l/0.out": Hints(rank=0), "/l/1.out": Hints(rank=1)},
    ),
    "a file name that is no UTF-8": ("cluster", "/l/%N", ["/l/\udcff"], {}),
    "a folder is no part of a node's name": ("cluster", "/l/%N", ["/l/a/b", "/l/.."], {}),
}


@pytest.mark.parametrize(("origin", "pattern", "paths", "expected"), HINTS.values(), ids=HINTS.keys())
def test_hints(origin: str, pattern: str, paths: list[str], expected: dict[str, Hints]) -> None:
    found = expand(pattern, NAMES, origin)
    assert found is not None
    assert hints_of(found, paths, ("n01", "n02")) == expected


def test_what_slurm_would_write_is_found_and_told_apart(tmp_path: Path) -> None:
    names = replace(NAMES, name="run [1]*", work_dir=str(tmp_path))
    for file in ("run [1]*_42_0.log", "run [1]*_42_1.log", "run [1]*_43_0.log", "run 1x_42_0.log"):
        (tmp_path / file).touch()
    pattern = expand("%x_%j_%t.log", names, "opt-in")
    assert pattern is not None
    found = hints_of(pattern, glob.glob(pattern.glob))
    assert {Path(path).name: hints.rank for path, hints in found.items()} == {
        "run [1]*_42_0.log": 0,
        "run [1]*_42_1.log": 1,
    }


PIECES = st.lists(
    st.sampled_from(
        ["%j", "%x", "%t", "%N", "%n", "%s", "%J", "%%", "%", "%9t", "/", "..", "*", "[", "\\", "a", "é"]
    )
)


@given(PIECES.map("".join), st.text(max_size=20), st.text(max_size=20))
def test_any_pattern_gives_a_bounded_absolute_place_or_none(pattern: str, name: str, folder: str) -> None:
    found = expand(pattern, replace(NAMES, name=name, work_dir=folder), "opt-in")
    if found is None:
        return
    assert found.glob.startswith("/")
    assert "**" not in found.glob
    assert "\0" not in found.glob
    assert len(found.fields) <= 6
    hints_of(found, ["/l/1", found.glob], ("n01",))
