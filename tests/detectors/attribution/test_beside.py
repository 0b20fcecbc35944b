"""What does a verdict tell beside its first cause: further causes, lines against rivals, runs in the attempt?"""

from dataclasses import replace
from typing import Any

import pytest

from detectors.attribution.attributing import attribute
from detectors.attribution.facts import Facts, Symptom
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from tests.detectors.attribution.building import NOW, at, ecc, facts, quote, symptom


def body(told: Facts) -> dict[str, Any]:
    return attribute(told, NOW).body


def lost_gpu(host: str, **changes: Any) -> Symptom:
    values = {"nodes": (host,), "key": f"xid.79-{host}", "confidence": 0.97, **changes}
    return symptom("xid.79", Layer.HARDWARE_GPU, **values)


def read_only(host: str, **changes: Any) -> Symptom:
    values = {"nodes": (host,), "confidence": 0.9, **changes}
    return symptom("fs.erofs", Layer.SYSTEM_FILESYSTEM, **values)


FURTHER = [
    ("one cause", facts(ecc("n03")), []),
    ("two GPUs of two hosts", facts(ecc("n03"), lost_gpu("n02")), ["hardware.gpu"]),
    ("storage of another host at the same time", facts(ecc("n03"), read_only("n02")), ["system.filesystem"]),
    ("it came later, so it may be a consequence", facts(ecc("n03"), read_only("n02", before_end=1)), []),
    ("it is on the same host", facts(ecc("n03"), read_only("n03")), []),
    ("it names no host", facts(ecc("n03"), read_only("n03", nodes=())), []),
    ("it may be one, and is no root", facts(ecc("n03"), read_only("n02", role=Role.CANDIDATE)), []),
    ("it is not sure enough to stop a job", facts(ecc("n03"), read_only("n02", confidence=0.8)), []),
    (
        "a victim's message",
        facts(ecc("n03"), symptom("pg.abort", Layer.FRAMEWORK, Role.SECONDARY, nodes=("n02",))),
        [],
    ),
    ("nothing at all", facts(), []),
]


@pytest.mark.parametrize(("told", "layers"), [one[1:] for one in FURTHER], ids=[one[0] for one in FURTHER])
def test_a_further_cause_is_one_that_the_first_cannot_have_brought_about(told: Facts, layers: list[str]) -> None:
    assert body(told)["outcome"]["compound"] == layers


def quoted(one: Symptom, before_end: float | None, offset: int) -> Symptom:
    line = quote(f"line {offset}", offset=offset)
    return replace(one, evidence=(replace(line, at=None if before_end is None else at(before_end)),))


AGAINST = [
    ("what came a minute later", 60.0, 8.0, ["h2"]),
    ("within the doubt of clocks", 10.0, 6.0, []),
    ("what came before it", 8.0, 60.0, []),
    ("nothing tells when the line was written", None, 8.0, []),
]


@pytest.mark.parametrize(("cause", "rival", "names"), [one[1:] for one in AGAINST], ids=[one[0] for one in AGAINST])
def test_a_line_of_the_cause_speaks_against_what_came_after_it(
    cause: float | None, rival: float, names: list[str]
) -> None:
    first = quoted(ecc("n03", before_end=cause or 60.0), cause, 10)
    other = quoted(symptom("py.exception", Layer.APPLICATION, before_end=rival), rival, 900)
    told = body(facts(first, other))
    assert [row["signature_id"] for row in told["hypotheses"]] == ["cuda.ecc", "py.exception"]
    mine, others = told["evidence"]
    assert (mine["refutes"], others["refutes"], others["supports"]) == (names, [], ["h2"])


CYCLES = [
    ("never", (), "elastic.restart", 0),
    ("the first restart is announced", ("[default] Worker group FAILED. 3/3 attempts left; will restart",), "", 1),
    ("the last one", ("[default] Worker group FAILED. 1/3 attempts left; will restart worker group",), "", 3),
    ("more left than there are", ("[default] Worker group FAILED. 9/3 attempts left; will restart",), "", 1),
    (
        "NVRx counts them",
        ("- Cycle: 2 Event: worker_terminated Node: gpu-07 Rank: 7 Time: x UTC",),
        "nvrx.cycle_event",
        2,
    ),
    ("NVRx, in brackets", ("[Cycle 4] Did not get initial heartbeat. Waited 60 seconds",), "nvrx.hb_initial", 4),
    ("a number that is no count", (f"[Cycle {'9' * 40}] x",), "nvrx.hb_initial", 0),
    ("somebody else's word", ("Cycle: 7 of the learning rate",), "py.exception", 0),
]


@pytest.mark.parametrize(
    ("lines", "signature", "cycle"), [one[1:] for one in CYCLES], ids=[one[0] for one in CYCLES]
)
def test_the_launcher_tells_which_run_within_the_attempt_it_was(
    lines: tuple[str, ...], signature: str, cycle: int
) -> None:
    one = symptom(signature or "elastic.restart", Layer.FRAMEWORK, Role.SECONDARY)
    one = replace(one, evidence=tuple(quote(line, offset=place) for place, line in enumerate(lines)))
    assert body(facts(one))["workload"]["cycle"] == cycle
