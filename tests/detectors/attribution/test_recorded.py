"""Whom do dumps of Flight Recorders, analyses of them and polls of RAS name? Cases of attribution section 6.3."""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from detectors.attribution.action import VerdictAction
from detectors.attribution.attributing import attribute
from detectors.attribution.facts import Facts
from detectors.attribution.recorded import NO_DUMP, OLD_DUMPS, standstill_in_dumps
from detectors.attribution.replaying import read_facts
from detectors.attribution.standstill import standstill_of
from detectors.attribution.witnesses import Analysed, Members, Polled, Recorded, Wait, Witnesses
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from schedulers.states import JobState
from tests.detectors.attribution.building import END, FOUR, NOW, attempt, facts, never_stepped, quote, symptom

ALL = "0 default_pg"
AT = END.timestamp() - 600
RANKS = tuple((rank, FOUR[rank // 2]) for rank in range(8))


def at(rank: int, state: str = "started", seq: int = 78, group: str = ALL, **changes: Any) -> Recorded:
    """Waits in a collective."""
    begun = seq if state == "started" else seq - 1
    values = {"op": "all_reduce", "size": "4/4", "begun": AT, "enq": seq + 1, "started": begun, "done": seq - 1}
    return Recorded(group, rank, "", AT, seq=seq, state=state, **{**values, **changes})


def idle(rank: int, done: int = 77, group: str = ALL) -> Recorded:
    """Has completed all that it had enqueued."""
    return Recorded(group, rank, "", AT - 1, enq=done, started=done, done=done)


def dumped(
    rows: Sequence[Recorded], groups: Sequence[Members] = (Members(ALL, tuple(range(8))),), **more: Any
) -> Facts:
    """A job that was ended while it hung, and its dumps."""
    told = symptom("fr.dump", Layer.FRAMEWORK_COMM, Role.CONFIRM, 600, kind=AnomalyKind.HANG)
    values = {"last_step_at": END - timedelta(seconds=660)}
    witnesses = Witnesses(recorded=tuple(rows), members=tuple(groups))
    return facts(told, attempt=attempt(**values), ranks=RANKS, nodes=(), **{"witnesses": witnesses, **more})


SEVEN = [at(rank) for rank in range(7)]
TENSOR = [Members(ALL, tuple(range(8))), *(Members(f"{n} tensor", (2 * n, 2 * n + 1)) for n in range(4))]
PROGRAM, GPU, HOST = Layer.APPLICATION, Layer.HARDWARE_GPU, Layer.HARDWARE_HOST
Named = tuple[str, Facts, str, tuple[int, ...], Layer]
NAMED: list[Named] = [
    ("one never joined", dumped([*SEVEN, idle(7)]), "A", (7,), PROGRAM),
    ("one host never joined", dumped([*SEVEN[:6], idle(6), idle(7)]), "A", (6, 7), PROGRAM),
    ("the GPU of one has not begun it", dumped([*SEVEN, at(7, "scheduled")]), "J", (7,), GPU),
    ("one runs another operation", dumped([*SEVEN, at(7, op="broadcast")]), "D", (7,), PROGRAM),
    ("one brings another size", dumped([*SEVEN, at(7, size="8/8")]), "D", (7,), PROGRAM),
    (
        "one is behind what the others completed",
        dumped([*[at(r, seq=90) for r in range(7)], at(7)]),
        "E",
        (7,),
        PROGRAM,
    ),
    ("one left no dump", dumped(SEVEN), "B", (7,), HOST),
    (
        "whom an outer group waits for waits in an inner one: the idle one there is it",
        dumped(
            [*(at(r) for r in range(6)), idle(6), idle(7), at(6, seq=5, group="3 tensor"), idle(7, 4, "3 tensor")],
            TENSOR,
        ),
        "A",
        (7,),
        PROGRAM,
    ),
    (
        "a stream that waits in a started collective of another group is a victim's",
        dumped(
            [
                *(at(r) for r in range(6)),
                *(at(r, "scheduled") for r in (6, 7)),
                at(6, seq=5, group="3 tensor"),
                at(7, "scheduled", 5, "3 tensor"),
            ],
            TENSOR,
        ),
        "J",
        (7,),
        GPU,
    ),
]


@pytest.mark.parametrize(("found", "case", "ranks", "layer"), [n[1:] for n in NAMED], ids=[n[0] for n in NAMED])
def test_whom_dumps_name(found: Facts, case: str, ranks: tuple[int, ...], layer: Layer) -> None:
    missing = standstill_in_dumps(found)
    assert missing is not None
    assert (missing.case, missing.ranks, missing.layer, missing.source) == (case, ranks, layer, "fr_dump")
    judgement = attribute(found, NOW)
    hosts = tuple(dict.fromkeys(FOUR[rank // 2] for rank in ranks))
    assert tuple(one.host for one in judgement.implicated if one.role == "culprit") == hosts
    assert (judgement.kind, judgement.layer, judgement.signature) == (AnomalyKind.HANG, layer, "fr.dump")
    assert judgement.action is VerdictAction.RESTART, "who is named by dumps alone is not left out"
    assert read_facts(judgement.body["inputs"]).input_hash() == judgement.input_hash


NOBODY: list[tuple[str, Facts, str | None, Layer | None]] = [
    ("all have begun it", dumped([at(rank) for rank in range(8)]), "C", Layer.HARDWARE_NETWORK),
    ("no GPU has begun it", dumped([at(rank, "scheduled") for rank in range(8)]), "C", Layer.HARDWARE_NETWORK),
    ("half run another operation", dumped([at(r, op="ab"[r % 2]) for r in range(8)]), "D", Layer.APPLICATION),
    ("sizes of an all-to-all differ", dumped([at(r, op="all_to_all", size=str(r)) for r in range(8)]), "C", None),
    ("all is completed", dumped([idle(rank) for rank in range(8)]), None, None),
    ("most left no dump", dumped(SEVEN[:3]), None, None),
    ("two hosts left no dump", dumped(SEVEN[1:]), None, None),
    ("half never joined, and more", dumped([*SEVEN[:3], *(idle(r) for r in range(3, 8))]), None, None),
    ("no dumps", dumped([]), None, None),
    (
        "a job that ended well",
        replace(dumped([*SEVEN, idle(7)]), attempt=attempt(state=JobState.COMPLETED)),
        None,
        None,
    ),
]


@pytest.mark.parametrize(("found", "case", "layer"), [n[1:] for n in NOBODY], ids=[n[0] for n in NOBODY])
def test_whom_dumps_do_not_name(found: Facts, case: str | None, layer: Layer | None) -> None:
    missing = standstill_of(found)
    assert (missing.case if missing else None) == case
    assert missing is None or (missing.ranks == () and (layer is None or missing.layer is layer))
    assert not [one for one in attribute(found, NOW).implicated if one.role == "culprit"]


def test_dumps_from_before_the_last_steps_tell_nothing() -> None:
    found = dumped([*SEVEN, idle(7)])
    later = replace(found, attempt=attempt(last_step_at=END - timedelta(seconds=12)))
    assert standstill_in_dumps(later) is None
    assert OLD_DUMPS in attribute(later, NOW).body["missing_evidence"]


def test_missing_dumps_are_said() -> None:
    wait = Wait("", 0, "n01", AT, own=True, seq=78, enq=79, done=77, op="ALLREDUCE", begun=AT)
    without = dumped([], witnesses=Witnesses(waits=(wait,)))
    assert NO_DUMP in attribute(without, NOW).body["missing_evidence"]
    some = attribute(dumped(SEVEN[2:]), NOW).body["missing_evidence"]
    assert [one for one in some if one.startswith("no dump of rank 0, 1, 7:")]


def test_lines_alone_show_case_c_where_dumps_show_whose_gpu_has_not_begun() -> None:
    lines = tuple(
        Wait("", r, FOUR[r // 2], AT + 600, own=True, seq=78, enq=79, done=77, op="ALLREDUCE", begun=AT)
        for r in range(8)
    )
    fast = dumped([], witnesses=Witnesses(waits=lines))
    slow = dumped([*SEVEN, at(7, "scheduled")])
    slow = replace(slow, witnesses=replace(slow.witnesses, waits=lines))
    before, after = standstill_of(fast), standstill_of(slow)
    assert before is not None and (before.case, before.ranks) == ("C", ())
    assert after is not None and (after.case, after.ranks) == ("J", (7,))
    assert attribute(fast, NOW).input_hash != attribute(slow, NOW).input_hash


def test_an_error_of_hardware_is_stronger_than_dumps() -> None:
    found = dumped([*SEVEN, at(7, "scheduled")])
    lost = symptom("xid.79", Layer.HARDWARE_GPU, nodes=("n04",), before_end=601)
    judgement = attribute(replace(found, symptoms=(*found.symptoms, lost)), NOW)
    assert judgement.signature == "xid.79"


def test_512_ranks_are_compared_within_two_seconds() -> None:
    world = 512
    ranks = tuple(range(world))
    groups = [Members(ALL, ranks), *(Members(f"{n} tensor", ranks[8 * n : 8 * n + 8]) for n in range(64))]
    rows = [at(r) for r in range(world) if r != 300] + [idle(300)]
    rows += [idle(r, 2_000, f"{r // 8} tensor") for r in range(world)]
    began = time.process_time()
    missing = standstill_in_dumps(dumped(rows, groups))
    assert time.process_time() - began < 2
    assert missing is not None and missing.ranks == (300,)


def polled(*rows: Polled, **more: Any) -> Facts:
    shown = {"kind": AnomalyKind.HANG, "nodes": ("n04",), "evidence": (quote("Rank 7 has launched up to …"),)}
    told = symptom("nccl.ras_lag", Layer.FRAMEWORK_COMM, Role.ROOT, 600, **shown)
    return dumped([], witnesses=Witnesses(polled=rows), symptoms=(told,), **more)


def lag(rank: int, ops: int = 60, most: int = 64, **changes: Any) -> Polled:
    return Polled("ab", rank, FOUR[rank // 2], AT, ops=ops, most=most, **changes)


POLLS: list[tuple[str, Facts, tuple[str, ...]]] = [
    ("behind, once", polled(lag(7)), ("n04",)),
    ("behind, and at the same place from poll to poll", polled(lag(7, polls=4)), ("n04",)),
    ("behind, and it moves", polled(lag(7, polls=4, moved=True)), ()),
    ("ahead", polled(lag(7, ops=70)), ()),
    ("many are behind", polled(*(lag(rank) for rank in range(8))), ()),
    ("dead", polled(Polled("", None, "n02", AT, "dead"), lag(7)), ("n02",)),
    ("missing", polled(Polled("ab", 5, "n03", AT, "missing")), ("n03",)),
]


@pytest.mark.parametrize(("found", "hosts"), [one[1:] for one in POLLS], ids=[one[0] for one in POLLS])
def test_whom_polls_of_ras_name(found: Facts, hosts: tuple[str, ...]) -> None:
    judgement = attribute(found, NOW)
    assert tuple(one.host for one in judgement.implicated if one.role == "culprit") == hosts
    assert judgement.action is not VerdictAction.RESTART_EXCLUDE
    if hosts:
        assert {row["source"] for row in judgement.body["evidence"]} == {"ras"}


def test_a_rank_of_a_smaller_communicator_is_no_global_rank() -> None:
    missing = standstill_of(polled(Polled("ab", 1, "n04", AT, ops=60, most=64)))
    assert missing is not None and (missing.ranks, missing.hosts) == ((), ("n04",))


def test_an_analysis_in_the_log_names_ranks() -> None:
    rows = (Analysed("fr_trace", "J", ALL, 78, (7,), 8, AT),)
    missing = standstill_of(dumped([], witnesses=Witnesses(analysed=rows)))
    assert missing is not None and (missing.case, missing.ranks, missing.hosts) == ("J", (7,), ("n04",))


def test_what_only_ras_tells_of_a_job_that_makes_steps_is_no_hang() -> None:
    live = {"state": JobState.RUNNING, "ended_at": None, "exit_code": None, "exit_signal": None}
    told = polled(lag(7, polls=4))
    trains = replace(told, attempt=attempt(**live))
    judgement = attribute(trains, NOW)
    assert judgement.action is VerdictAction.NONE
    assert {one.role for one in judgement.implicated} <= {"victim"}
    silence = symptom("hang.silence", Layer.UNKNOWN, Role.CANDIDATE, 12, kind=AnomalyKind.HANG, basis="step")
    stands = attribute(replace(trains, symptoms=(*trains.symptoms, silence)), NOW)
    assert [one.host for one in stands.implicated if one.role == "culprit"] == ["n04"]
    assert stands.action is VerdictAction.RESTART
    begins = attribute(replace(trains, attempt=never_stepped(**live)), NOW)
    assert begins.action is VerdictAction.NONE
    fragment = attribute(replace(trains, attempt=never_stepped(**live, started_at=None)), NOW)
    assert [one.host for one in fragment.implicated if one.role == "culprit"] == ["n04"]


@pytest.mark.parametrize("signature", ["nccl.ras_lag", "pg.watchdog_timeout", "fr.missing"])
def test_a_job_that_trains_on_after_a_line_about_a_hang_is_not_restarted(signature: str) -> None:
    live = {"state": JobState.RUNNING, "ended_at": None, "exit_code": None, "exit_signal": None}
    told = symptom(signature, Layer.FRAMEWORK_COMM, Role.ROOT, 60, kind=AnomalyKind.HANG, refuted=True)
    judgement = attribute(facts(told, attempt=attempt(**live)), NOW)
    assert judgement.action is VerdictAction.NONE
