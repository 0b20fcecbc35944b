"""Are cases put on, each on a cluster of its own, and does the product know nothing of their truth?"""

import pickle
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import pytest

from lab.cases.case import Act, Case, Did, Simulated
from lab.cases.catalogue import CASES
from lab.score.grade import Standing
from lab.score.grading import grade
from lab.score.said import Result
from lab.simulate.play import Fault
from lab.virtual.run import put_on
from lab.virtual.sharing import shares
from tests.lab.virtual.cases import ECC, fault, play, trap

NEVER = fault("never", play(replace(ECC, step=90_000)))
UNKNOWN = trap("unknown-act", Act("dance", (), at=5.0))
NOWHERE = fault("nowhere", play(Fault("ecc", step=5, node="n99")))
OPTED_OUT = fault("no-opt-in", play(ECC, comment="{}"))
FIRST_ATTEMPT_ONLY = trap("requeued", Act("foreign_requeue", ("0",), on_step=20), seconds=120)
HELD = trap("held", Act("hold", ("0",), at=20.0), Act("requeue", ("0",), at=30.0))


def run(cases: Sequence[Case], folder: Path, **options: int) -> tuple[dict[str, Result], list[str]]:
    said: list[str] = []
    return {one.case.name: one for one in put_on(cases, folder, said.append, **options)}, said


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Result], list[str]]:
    """One run of every kind of case."""
    cases = (fault("gpu"), trap("quiet"), FIRST_ATTEMPT_ONLY, HELD, NEVER, UNKNOWN, NOWHERE, OPTED_OUT)
    return run(cases, tmp_path_factory.mktemp("done") / "run", processes=2)


def test_a_fault_is_struck_found_and_recovered(done: tuple[dict[str, Result], list[str]]) -> None:
    result = done[0]["gpu"]
    (deed,) = result.injected
    assert (deed.case, deed.what, deed.nodes, deed.attempt, deed.step) == ("gpu", "ecc", ("n02",), 0, 60)
    assert [one.did for one in result.said.advice] == [Did.RESTART_EXCLUDE]
    assert result.said.states == {deed.job: "running"}
    assert any(command.startswith("scontrol requeuehold") for command in result.said.commands)
    assert 25 < result.healthy_seconds < 45  # until the fault struck, and no second of the new attempt
    assert grade(result, "simulated").wrong == ()


def test_a_trap_is_left_alone_and_all_its_time_is_healthy(done: tuple[dict[str, Result], list[str]]) -> None:
    result = done[0]["quiet"]
    assert result.injected == () and not result.said.commands
    assert 80 < result.healthy_seconds < 90
    assert grade(result, "simulated").left_alone


def test_acts_from_outside_are_written_down(done: tuple[dict[str, Result], list[str]]) -> None:
    (requeued,) = done[0]["requeued"].injected
    assert (requeued.what, requeued.attempt) == ("foreign_requeue", 0)
    assert [one.what for one in done[0]["held"].injected] == ["hold", "requeue"]


def test_a_fault_that_never_struck_is_neither_found_nor_missed(done: tuple[dict[str, Result], list[str]]) -> None:
    graded = grade(done[0]["never"], "simulated")
    assert done[0]["never"].injected == ()
    assert graded.standing is Standing.NOT_PUT_ON and graded.found is None and graded.wrong == ()


@pytest.mark.parametrize(
    ("name", "why"), [("unknown-act", "nobody can do 'dance'"), ("nowhere", "There is no node 'n99'")]
)
def test_a_case_that_cannot_be_put_on_is_broken_and_stops_no_other(
    done: tuple[dict[str, Result], list[str]], name: str, why: str
) -> None:
    assert why in done[0][name].broken
    assert grade(done[0][name], "simulated").standing is Standing.BROKEN


def test_a_comment_of_its_own_is_no_opt_in(done: tuple[dict[str, Result], list[str]]) -> None:
    result = done[0]["no-opt-in"]
    assert result.said.advice and not result.said.commands


def test_one_line_is_said_for_each(done: tuple[dict[str, Result], list[str]]) -> None:
    results, said = done
    assert len(said) == len(results) == 8
    assert any(line.endswith("fault gpu: crash hardware.gpu xid.48 0.97 on n02; restart_exclude without n02 "
                             "(named_node): right") for line in said)  # fmt: skip


def test_a_process_that_dies_breaks_only_what_it_had_left(tmp_path: Path) -> None:
    dies = replace(fault("dies"), simulated=Dying((), 10.0))
    results, _ = run([fault("gpu", seconds=40), dies], tmp_path / "run", processes=1)
    assert "ended with status" in results["dies"].broken and "ended with status" in results["gpu"].broken


class Dying(Simulated):
    """Cannot be read by the process that gets it."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return pickle.loads, ("no bytes",)


def test_one_seed_gives_equal_results_however_many_processes(tmp_path: Path) -> None:
    cases = (fault("gpu"), FIRST_ATTEMPT_ONLY)
    first, _ = run(cases, tmp_path / "one", seed=7, processes=1)
    again, _ = run(cases, tmp_path / "two", seed=7, processes=2)
    assert first == again and first["gpu"].said.verdicts


def test_deleting_the_truth_changes_no_verdict(tmp_path: Path) -> None:
    cases = (fault("gpu"), FIRST_ATTEMPT_ONLY)
    kept, _ = run(cases, tmp_path / "kept", processes=2)
    with emptied(tmp_path / "gone") as deleted:
        gone, _ = run(cases, tmp_path / "gone", processes=2)
    assert {path.stem for path in deleted} == {"gpu", "requeued"}
    assert all(one.injected for one in kept.values()) and not any(one.injected for one in gone.values())
    assert {name: one.said for name, one in gone.items()} == {name: one.said for name, one in kept.items()}
    assert kept["gpu"].said.advice and kept["gpu"].said.verdicts[0].body_hash


@contextmanager
def emptied(folder: Path):  # type: ignore[no-untyped-def]  # a generator of a set
    """Every truth file below the folder is deleted as soon as it is there; which ones."""
    deleted: set[Path] = set()
    over = Event()

    def delete() -> None:
        while not over.wait(0.002):
            for path in folder.glob("*/truth/*"):
                path.unlink(missing_ok=True)
                deleted.add(path)

    thread = Thread(target=delete)
    thread.start()
    try:
        yield deleted
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("act", [Act("cancel", ("3",), at=20.0), Act("hold", ("0",), on_step=90_000)])
def test_a_case_half_of_which_was_done_was_not_put_on(tmp_path: Path, act: Act) -> None:
    half = trap("half", Act("hold", ("0",), at=10.0), act)
    results, _ = run([half], tmp_path / "run", processes=1)
    assert grade(results["half"], "simulated").standing is Standing.NOT_PUT_ON


def test_nothing_that_the_product_saw_or_stored_names_a_case(tmp_path: Path) -> None:
    run([fault("telltale-name", seconds=60)], tmp_path / "run", processes=1)
    (part,) = (tmp_path / "run").iterdir()
    seen = [path for name in ("logs", "site") for path in (part / name).rglob("*")]
    assert any(path.suffix == ".out" for path in seen)
    assert not [path for path in seen if "telltale" in str(path.relative_to(part))]
    assert not [path for path in seen if path.is_file() and b"telltale" in path.read_bytes()]


def test_truth_lies_outside_every_folder_that_the_product_may_read(tmp_path: Path) -> None:
    run([fault("gpu", seconds=40)], tmp_path / "run", processes=1)
    (truth,) = (tmp_path / "run").glob("*/truth/gpu.jsonl")
    logs = list((tmp_path / "run").glob("*/logs/*"))
    assert logs and not any(truth.is_relative_to(folder) for folder in logs)
    assert not any("ecc" in path.name or "truth" in path.name for folder in logs for path in folder.iterdir())


@pytest.mark.parametrize("processes", [1, 2, 3, 8])
def test_all_cases_are_shared_out_once(processes: int) -> None:
    scripted = [case for case in CASES if case.simulated]
    parts = shares(scripted, processes)
    assert len(parts) <= processes and all(parts)
    assert sorted(case.name for part in parts for case in part) == sorted(case.name for case in scripted)


def test_nothing_is_shared_out_of_nothing() -> None:
    assert shares([], 2) == []
