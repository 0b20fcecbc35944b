"""Is what happened elsewhere weighed? Shared causes, the history of hosts and jobs, two broken nodes at once."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from detectors.attribution.action import VerdictAction
from detectors.attribution.attributing import attribute
from detectors.attribution.chance import at_least, at_least_of
from detectors.attribution.facts import Facts
from detectors.attribution.replaying import judged_again
from detectors.attribution.surroundings import Death, Exposure, Neighbour, Surroundings, Usual
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from tests.detectors.attribution.building import END, NOW, START, at, attempt, earlier, ecc, facts, quote, symptom

FAR = ("x01", "x02")


def near(number: int, before_end: float = 8, **changes: Any) -> Neighbour:
    """Another job that failed so many seconds before this one's end, without saying why."""
    values: dict[str, Any] = {
        "label": f"{number}-0",
        "job": f"{number}/0",
        "happened_at": at(before_end),
        "layer": Layer.UNKNOWN,
        "signature": "",
        "fingerprint": f"f{number}",
    }
    return Neighbour(**{**values, **changes})


def death(number: int, *nodes: str, **changes: Any) -> Death:
    """A job that died on some nodes an hour before, without a word."""
    values: dict[str, Any] = {
        "label": f"{number}-0",
        "job": f"{number}/0",
        "work": f"work {number}",
        "nodes": nodes,
        "ended_at": START - timedelta(hours=1),
    }
    return Death(**{**values, **changes})


def around(*deaths: Death, runs: int = 2, hours: float = 1.0, usual: Usual | None = None) -> Surroundings:
    """Deaths, and `runs` attempts on each node in `hours`; elsewhere 400 attempts of which 2 died."""
    nodes = sorted({node for one in deaths for node in one.nodes})
    return Surroundings(
        work="work of this job",
        deaths=deaths,
        exposures=tuple(Exposure(node, runs, hours, len(deaths), len(deaths)) for node in nodes),
        usual=usual or Usual(attempts=400, deaths=2, hours=4000.0),
    )


def bus_error(host: str = "n03", **changes: Any) -> Facts:
    """A process that a signal ended on a host, and nothing that says why."""
    line = quote(f"srun: error: {host}: task 2: Bus error", host=host)
    told = symptom(
        "slurm.task_signal", Layer.UNKNOWN, Role.CANDIDATE, evidence=(line,), nodes=(host,), confidence=0.6
    )
    return facts(told, **changes)


def silent(**changes: Any) -> Facts:
    """Failed without a line."""
    return facts(**{"attempt": attempt(exit_code=1), **changes})


def stale(host: str = "n01", **changes: Any) -> Facts:
    """One host that tells of a stale file handle."""
    values = {"nodes": (host,), "fingerprint": "stale", "confidence": 0.9}
    return facts(symptom("fs.stale", Layer.SYSTEM_FILESYSTEM, **values), **changes)


def read_only(**changes: Any) -> Facts:
    """One host whose file system went read-only."""
    values = {"nodes": ("n02",), "fingerprint": "erofs", "confidence": 0.8, "action": "exclude_one_or_stop"}
    return facts(symptom("fs.erofs", Layer.SYSTEM_FILESYSTEM, **values), **changes)


def broken_connection(**changes: Any) -> Facts:
    """One host that loses its connection to a peer."""
    values = {"nodes": ("n02",), "confidence": 0.6, "fingerprint": "ib"}
    return facts(symptom("nccl.ib.completion", Layer.HARDWARE_NETWORK, Role.CANDIDATE, **values), **changes)


def missing_library(**changes: Any) -> Facts:
    """One host that cannot load a library."""
    values = {"nodes": ("n02",), "fingerprint": "lib", "confidence": 0.9, "action": "exclude_one_or_stop"}
    return facts(symptom("py.import", Layer.USER, **values), **changes)


@dataclass(frozen=True)
class Case:
    """Facts, and what follows: the shared row (or ""), culprits that may be left out."""

    name: str
    facts: Facts
    shared: str = ""
    excluded: tuple[str, ...] = ()


def _others(*neighbours: Neighbour, **usual: Any) -> dict[str, Any]:
    return {"around": Surroundings(neighbours=neighbours, usual=Usual(**usual))}


STORAGE = {"layer": Layer.SYSTEM_FILESYSTEM, "signature": "fs.eio", "hosts": FAR}
FULL = {**STORAGE, "signature": "fs.enospc"}
NETWORK = {"layer": Layer.HARDWARE_NETWORK, "signature": "nccl.ib.port_error", "hosts": FAR}
LIBRARY = {"layer": Layer.USER, "fingerprint": "lib", "hosts": FAR, "before_end": 1800}
ECC = {"layer": Layer.HARDWARE_GPU, "fingerprint": "ecc", "sure": True}
CASES = (
    Case("a library that one host lacks", missing_library(), "", ("n02",)),
    Case(
        "a library that another job lacks elsewhere",
        missing_library(**_others(near(7, **LIBRARY))),
        "shared.environment",
    ),
    Case(
        "a library that another job lacked on the same host",
        missing_library(**_others(near(7, **{**LIBRARY, "hosts": ("n02",)}))),
        "",
        ("n02",),
    ),
    Case("storage that one job tells of", stale()),
    Case("storage that another job tells of, too", stale(**_others(near(7, 40, **STORAGE))), "shared.storage"),
    Case(
        "a read-only disk of one host while other jobs' disks are full",
        read_only(**_others(near(7, 4, **FULL), near(8, 40, **FULL))),
        "",
        ("n02",),
    ),
    Case(
        "a read-only disk of one host beside a used-up quota and a broken checkpoint",
        read_only(
            **_others(
                near(7, **{**STORAGE, "signature": "fs.edquot"}), near(8, **{**STORAGE, "signature": "ckpt.zip"})
            )
        ),
        "",
        ("n02",),
    ),
    Case(
        "a file system that is read-only on another job's host, too",
        read_only(**_others(near(7, 40, **{**STORAGE, "signature": "fs.erofs"}))),
        "shared.storage",
    ),
    Case(
        "a verdict on storage that no line proves is nobody's witness",
        read_only(**_others(near(7, **{**STORAGE, "signature": ""}))),
        "",
        ("n02",),
    ),
    Case(
        "a broken connection while another job's card is broken",
        broken_connection(**_others(near(7, **{**NETWORK, "signature": "kernel.mlx5_health", "sure": True}))),
    ),
    Case(
        "a broken connection while another job loses its own",
        broken_connection(**_others(near(7, **NETWORK))),
        "shared.network",
    ),
    Case("storage that another job told of an hour ago", stale(**_others(near(7, 3600, **STORAGE)))),
    Case(
        "storage that two hosts tell of",
        facts(symptom("fs.stale", Layer.SYSTEM_FILESYSTEM, nodes=("n01", "n02"))),
        "shared.storage_of_hosts",
    ),
    Case("three jobs that die silently at once", silent(**_others(near(7), near(8))), "shared.at_once"),
    Case(
        "a job that dies silently while two programs fail by what they say themselves",
        silent(**_others(near(7, layer=Layer.USER, signature="py.import"), near(8, layer=Layer.APPLICATION))),
    ),
    Case("two jobs that die silently at once", silent(**_others(near(7)))),
    Case(
        "three jobs that die at once where that is usual", silent(**_others(near(7), near(8), failures_a_day=900))
    ),
    Case(
        "three jobs that die at once on one node, which is no shared cause",
        silent(**_others(near(7, common=("n03",)), near(8, common=("n03",)))),
    ),
    Case("attempts of one job are not several jobs", silent(**_others(near(7), near(7, label="7-1")))),
    Case(
        "broken hardware stays its host's when others die silently at the same moment",
        facts(ecc("n03"), **_others(near(7), near(8), near(9))),
        "",
        ("n03",),
    ),
    Case(
        "the same broken hardware in one other job is chance",
        facts(ecc("n03", fingerprint="ecc"), **_others(near(7, hosts=("x1",), **ECC))),
        "",
        ("n03",),
    ),
    Case(
        "the same broken hardware in two other jobs on other hosts within a minute is shared",
        facts(
            ecc("n03", fingerprint="ecc"),
            **_others(near(7, hosts=("x1",), **ECC), near(8, hosts=("x2",), **ECC)),
        ),
        "shared.same_cause",
    ),
    Case(
        "three jobs on one broken host",
        facts(
            ecc("n03", fingerprint="ecc"),
            **_others(near(7, hosts=("n03",), **ECC), near(8, hosts=("n03",), **ECC)),
        ),
        "",
        ("n03",),
    ),
    Case("one death on a host", bus_error()),
    Case("the second job that dies on a host", bus_error(around=around(death(7, "n03"))), "", ("n03",)),
    Case("another host's deaths", bus_error(around=around(death(7, "n02"), death(8, "n02")))),
    Case(
        "a popular host, on which as many die as anywhere",
        bus_error(around=around(*(death(n, "n03") for n in range(3)), runs=300, hours=3000.0)),
    ),
    Case(
        "a host of a cluster in which every tenth attempt dies so",
        bus_error(around=around(death(7, "n03"), runs=8, hours=80.0, usual=Usual(400, 40, 4000.0))),
    ),
    Case(
        "the same work again and again tells of the work",
        bus_error(around=around(*(death(n, "n03", work="work of this job") for n in range(5)))),
    ),
    Case(
        "works that die elsewhere too",
        bus_error(around=around(*(death(n, "n03", elsewhere=True) for n in range(5)))),
    ),
    Case(
        "deaths on two hosts alike name nobody",
        silent(around=around(death(7, "n01", "n02"), death(8, "n01", "n02"))),
    ),
    Case(
        "deaths of which one host saw the most",
        silent(around=around(death(7, "n01", "n02"), death(8, "n01", "x1"), death(9, "n01", "x2"))),
        "",
        ("n01",),
    ),
    Case(
        "a black hole kills the same work as it starts",
        bus_error(
            attempt=attempt(started_at=END - timedelta(seconds=30)),
            around=around(death(7, "n03", early=True, work="work of this job")),
        ),
        "",
        ("n03",),
    ),
    Case(
        "what the program says itself is the program's, however often it fails on that host",
        facts(
            symptom("py.exception", Layer.APPLICATION, nodes=("n03",), confidence=0.9),
            around=around(*(death(n, "n03") for n in range(5))),
        ),
    ),
    Case(
        "two hosts, each broken by its own evidence",
        facts(ecc("n03"), ecc("n01", key="other", before_end=7, confidence=0.9)),
        "",
        ("n01", "n03"),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_surroundings(case: Case) -> None:
    judgement = attribute(case.facts, NOW)
    left_out = tuple(sorted(one.host for one in judgement.implicated if one.excludable))
    assert (judgement.shared.rule if judgement.shared else "", left_out) == (case.shared, case.excluded)
    wanted = judgement.action is VerdictAction.RESTART_EXCLUDE
    assert wanted == bool(left_out)
    if judgement.shared:
        assert {one.role for one in judgement.implicated} <= {"victim"}
        assert judgement.shared.because in judgement.sentence
    again = judged_again(judgement.body, NOW)
    assert (again.body, again.input_hash) == (judgement.body, judgement.input_hash)


def test_three_broken_hosts_are_one_too_many() -> None:
    also = [ecc(host, key=host, before_end=7, confidence=sure) for host, sure in (("n01", 0.9), ("n02", 0.95))]
    judgement = attribute(facts(ecc("n03"), *also), NOW)
    assert [(one.host, one.role) for one in judgement.implicated if one.role != "victim"] == [
        ("n03", "culprit"),
        ("n02", "culprit"),
        ("n01", "suspect"),
    ]
    assert not next(one for one in judgement.implicated if one.host == "n01").excludable


def test_each_culprit_has_its_own_confidence_and_lines() -> None:
    lines = {host: quote(f"{host}: broken", host=host, offset=place) for place, host in enumerate(("n01", "n03"))}
    first = ecc("n03", evidence=(lines["n03"],))
    other = ecc("n01", key="other", confidence=0.85, evidence=(lines["n01"],))
    judgement = attribute(facts(first, other), NOW)
    rows = {one.host: one for one in judgement.implicated}
    assert (rows["n03"].confidence, rows["n01"].confidence) == (0.97, 0.85)
    assert rows["n03"].evidence and rows["n01"].evidence and rows["n03"].evidence != rows["n01"].evidence


def test_a_death_follows_the_job_over_hosts_without_one_in_common() -> None:
    first = attribute(bus_error(), NOW)
    past = [earlier(index, fingerprint=first.fingerprint, nodes=(f"x{index}",)) for index in range(2)]
    found = bus_error(earlier=tuple(past), around=around(death(7, "n03"), death(8, "n03")))
    judgement = attribute(found, NOW)
    assert judgement.layer is Layer.APPLICATION
    assert not [one for one in judgement.implicated if one.excludable]
    assert "history.follows_job" in {rule.id for rule in judgement.rules if rule.fired}
    common = tuple(replace(one, nodes=("n03", *one.nodes)) for one in past)
    assert attribute(replace(found, earlier=common), NOW).layer is Layer.HARDWARE_HOST


def test_the_history_of_its_nodes_stands_in_the_verdict() -> None:
    body = attribute(bus_error(around=around(death(7, "n03"), hours=310.0)), NOW).body
    assert body["history"]["nodes"]["n03"] == {
        "incidents_30d": 1,
        "jobs": 1,
        "attempts": 2,
        "exposure_node_h": 310.0,
    }


def test_the_order_of_surroundings_changes_nothing() -> None:
    some = Surroundings(neighbours=(near(7), near(8)), deaths=(death(1, "n03", "n01"), death(2, "n03")))
    turned = Surroundings(neighbours=some.neighbours[::-1], deaths=some.deaths[::-1])
    assert attribute(silent(around=some), NOW).body == attribute(silent(around=turned), NOW).body


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (at_least(0, 3.0), 1.0),
        (at_least(1, 1.0), 0.632),
        (at_least(3, 0.0), 0.0),
        (at_least(500, 500.0), 0.506),
        (at_least_of(2, 2, 0.1), 0.01),
        (at_least_of(0, 5, 0.5), 1.0),
        (at_least_of(1, 10, 0.5), 0.999),
        (at_least_of(60, 100_000, 0.0005), 0.093),
        (at_least_of(3, 3, 1.0), 1.0),
    ],
)
def test_chance(found: float, wanted: float) -> None:
    assert found == pytest.approx(wanted, abs=0.001)
