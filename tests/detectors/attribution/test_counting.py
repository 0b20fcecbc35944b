"""Whom do counters of collectives and broken connections name? Cases of attribution sections 6.3, 6.4 and 10.3."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from detectors.attribution.action import VerdictAction
from detectors.attribution.attributing import attribute
from detectors.attribution.facts import Facts, NodeFacts
from detectors.attribution.network import vote_of
from detectors.attribution.standstill import standstill_of
from detectors.attribution.witnesses import Edge, Port, Wait, Witnesses
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from schedulers.states import JobState
from tests.detectors.attribution.building import END, NOW, attempt, facts, quote, symptom

HOSTS = tuple(f"n{number:02d}" for number in range(1, 65))
RANKS = tuple((rank, HOSTS[rank // 2]) for rank in range(8))
GROUP = ""  # of every rank
BEGUN = 1_000_000.0
AT = BEGUN + 600
FOUR = HOSTS[:4]


def own(rank: int, seq: int = 78, enq: int = 79, done: int = 77, **changes: Any) -> Wait:
    values = {"op": "BROADCAST", "size": "4/4", "begun": BEGUN, "group": GROUP, "at": AT, **changes}
    return Wait(rank=rank, host=HOSTS[rank // 2], own=True, seq=seq, enq=enq, done=done, **values)


def told(rank: int, enq: int = 77, done: int = 77) -> Wait:
    return Wait(GROUP, rank, HOSTS[rank // 2], AT, notified=True, enq=enq, done=done)


def timed_out(ranks: Sequence[int] = range(8)) -> Any:
    changes = {"kind": AnomalyKind.HANG, "ranks": tuple(ranks), "sentence": "A collective timed out"}
    return symptom("pg.watchdog_timeout", Layer.FRAMEWORK_COMM, Role.SECONDARY, **changes)


def hanging(waits: Sequence[Wait], nodes: Sequence[str] = FOUR, **changes: Any) -> Facts:
    state = {"state": JobState.FAILED, "nodes": tuple(nodes), **changes}
    return facts(
        timed_out(), attempt=attempt(**state), ranks=RANKS, witnesses=Witnesses(waits=tuple(waits)), nodes=()
    )


def live(waits: Sequence[Wait]) -> Facts:
    return hanging(waits, state=JobState.RUNNING, ended_at=None, exit_code=None, exit_signal=None)


SEVEN = [own(rank) for rank in range(7)]
PROGRAM, MACHINE = Layer.APPLICATION, Layer.HARDWARE_HOST
NAMED: list[tuple[str, Facts, str, tuple[int, ...], Layer]] = [
    (
        "two of eight were only told, and had completed what they had enqueued",
        hanging([*(own(r) for r in range(6)), told(6), told(7)]),
        "A",
        (6, 7),
        Layer.APPLICATION,
    ),
    ("one waits in another operation", hanging([*SEVEN, own(7, op="ALLGATHER")]), "D", (7,), PROGRAM),
    ("one waits in one of another size", hanging([*SEVEN, own(7, size="8/8")]), "D", (7,), PROGRAM),
    ("one has enqueued less", hanging([*SEVEN, told(7, enq=70, done=69)]), "E", (7,), PROGRAM),
    ("one says nothing", hanging(SEVEN), "B", (7,), MACHINE),
    ("one host says nothing", hanging([own(r) for r in range(2, 8)]), "B", (0, 1), MACHINE),
]


@pytest.mark.parametrize(("found", "case", "ranks", "layer"), [n[1:] for n in NAMED], ids=[n[0] for n in NAMED])
def test_who_is_missing(found: Facts, case: str, ranks: tuple[int, ...], layer: Layer) -> None:
    missing = standstill_of(found)
    assert missing is not None
    assert (missing.case, missing.ranks, missing.layer) == (case, ranks, layer)
    judgement = attribute(found, NOW)
    hosts = tuple(dict.fromkeys(HOSTS[rank // 2] for rank in ranks))
    assert tuple(one.host for one in judgement.implicated if one.role == "culprit") == hosts
    assert (judgement.kind, judgement.layer) == (AnomalyKind.HANG, layer)
    assert judgement.action is VerdictAction.RESTART, "a hang named by lines alone leaves no host out"
    assert judgement.implicated[0].rank in ranks


NOBODY_MISSING: list[tuple[str, Facts]] = [
    ("all wait, but not at the same place", hanging([own(r, 78 + r % 2) for r in range(8)])),
    ("half of them were only told", hanging([*(own(r) for r in range(4)), *(told(r) for r in range(4, 8))])),
    ("most are silent", hanging([own(0), own(1)])),
    ("two hosts are silent", hanging([own(r) for r in range(1, 7)])),
    ("a live attempt, and the others may still speak", live([own(r) for r in range(7)])),
    ("told before it had come so far: it waits too", hanging([*(own(r) for r in range(7)), told(7, 79, 77)])),
]


@pytest.mark.parametrize("found", [one[1] for one in NOBODY_MISSING], ids=[one[0] for one in NOBODY_MISSING])
def test_nobody_is_missing(found: Facts) -> None:
    assert standstill_of(found) is None
    assert not [one for one in attribute(found, NOW).implicated if one.role == "culprit"]


def test_whoever_is_silent_in_a_live_job_that_is_torn_down_speaks_no_more() -> None:
    waits = [replace(own(r), at=END.timestamp() - 8, begun=END.timestamp() - 608) for r in range(7)]
    torn = symptom("slurm.task_killed", Layer.FRAMEWORK, Role.CANDIDATE, 2, nodes=("n04",), confidence=0.5)
    found = live(waits)
    assert standstill_of(found) is None
    missing = standstill_of(replace(found, symptoms=(*found.symptoms, torn)))
    assert missing is not None and (missing.case, missing.ranks, missing.layer) == ("B", (7,), MACHINE)
    early = replace(torn, happened_at=torn.happened_at - timedelta(seconds=60))
    assert standstill_of(replace(found, symptoms=(*found.symptoms, early))) is None


def test_all_wait_at_the_same_place() -> None:
    found = hanging([own(r) for r in range(8)])
    missing = standstill_of(found)
    assert missing is not None and (missing.case, missing.ranks, missing.hosts) == ("C", (), ())
    judgement = attribute(found, NOW)
    assert (judgement.layer, judgement.confidence) == (Layer.HARDWARE_NETWORK, 0.75)
    assert judgement.action is VerdictAction.RESTART
    assert {one.role for one in judgement.implicated} == {"victim"}


def test_a_silent_host_that_is_down_is_left_out() -> None:
    found = hanging([own(r) for r in range(2, 8)])
    lost = replace(found, nodes=(NodeFacts("n01", ("down",)),))
    assert attribute(lost, NOW).action is VerdictAction.RESTART_EXCLUDE


def test_the_group_that_stood_still_first_is_asked() -> None:
    inner = [own(r, group="3/tensor", begun=BEGUN - 60) for r in (0, 1, 2)] + [
        Wait("3/tensor", 3, HOSTS[1], AT, notified=True, enq=5, done=5)
    ]
    missing = standstill_of(hanging([*inner, *(own(r) for r in range(7)), told(7)]))
    assert missing is not None
    assert missing.ranks == (3,)


def broken(*pairs: tuple[str, str], ports: Sequence[Port] = (), also: Sequence[Any] = ()) -> Facts:
    nodes = HOSTS
    edges = tuple(Edge(a, b if b in nodes else "", b, "mlx5_0", AT) for a, b in pairs)
    nodes_said = tuple(sorted({a for a, _ in pairs} & set(nodes)))
    line = symptom("nccl.ib.completion", Layer.HARDWARE_NETWORK, Role.CANDIDATE, nodes=nodes_said, confidence=0.7)
    seen = (line,) if pairs else (symptom("nccl.ib.port_error", Layer.HARDWARE_NETWORK, Role.CANDIDATE),)
    told_by_them = Witnesses(edges=edges, ports=tuple(ports))
    return facts(*seen, *also, attempt=attempt(nodes=tuple(nodes)), witnesses=told_by_them)


def port(host: str, down: bool, failures: int = 1, seconds: float = 10) -> Port:
    return Port(host, "mlx5_0", down, failures, AT, AT + seconds)


ALL_TO_ONE = [(host, "n17") for host in HOSTS if host != "n17"]
TO_NINE = [("n05", host) for host in HOSTS[8:17]]
IN_A_RING = [(HOSTS[number], HOSTS[(number + 1) % 64]) for number in range(64)]
IN_TURN = [("n01", "n03"), ("n02", "n03"), ("n03", "n01")]
VOTES: list[tuple[str, Facts, tuple[str, ...], bool]] = [
    ("63 hosts report one", broken(*ALL_TO_ONE), ("n17",), True),
    ("two report one, which reports them in turn", broken(*IN_TURN), ("n03",), True),
    ("one reports nine, after its port failed", broken(*TO_NINE, ports=[port("n05", True)]), ("n05",), True),
    ("one reports nine", broken(*TO_NINE), ("n05",), True),
    ("a port failed twice in five minutes", broken(ports=[port("n05", False, 2)]), ("n05",), True),
    ("one reports nine, but its port came back", broken(*TO_NINE, ports=[port("n05", False)]), ("n05",), False),
    ("one connection", broken(("n01", "n02")), ("n01", "n02"), False),
    ("one connection, both ways", broken(("n01", "n02"), ("n02", "n01")), ("n01", "n02"), False),
    ("the fabric", broken(*IN_A_RING), (), False),
    ("an address that nobody knows", broken(("n01", "10.9.9.9"), ("n02", "10.9.9.9")), (), False),
]


@pytest.mark.parametrize(("found", "hosts", "excluded"), [v[1:] for v in VOTES], ids=[v[0] for v in VOTES])
def test_votes(found: Facts, hosts: tuple[str, ...], excluded: bool) -> None:
    vote = vote_of(found)
    assert vote is not None
    assert (vote.hosts, vote.excludable) == (hosts, excluded)
    judgement = attribute(found, NOW)
    assert judgement.layer is Layer.HARDWARE_NETWORK
    named = {one.host for one in judgement.implicated if one.excludable}
    assert named == (set(hosts) if excluded else set())
    assert judgement.action is (VerdictAction.RESTART_EXCLUDE if excluded else VerdictAction.RESTART)


def test_a_port_that_came_back_once_is_nobodys_fault() -> None:
    assert vote_of(broken(ports=[port("n05", False)])) is None


def test_a_process_that_died_first_makes_its_peers_victims() -> None:
    died = symptom("py.exception", Layer.APPLICATION, nodes=("n17",), before_end=60, sentence="KeyError on n17")
    assert attribute(broken(*ALL_TO_ONE[:5], also=(died,)), NOW).sentence == "KeyError on n17"


def test_a_lost_node_makes_its_peers_victims() -> None:
    lost = symptom("slurm.node_failure", Layer.HARDWARE_HOST, nodes=("n17",))
    found = replace(broken(*ALL_TO_ONE[:5], also=(lost,)), nodes=(NodeFacts("n17", ("down",)),))
    judgement = attribute(found, NOW)
    assert judgement.signature == "slurm.node_failure"
    assert [one.host for one in judgement.implicated if one.excludable] == ["n17"]


def killed(before_end: float) -> Any:
    return symptom("slurm.task_killed", Layer.FRAMEWORK, Role.CANDIDATE, before_end, nodes=("n03",), confidence=0.5)


def waiting_until(seconds_before_end: float) -> list[Wait]:
    said_at = END.timestamp() - seconds_before_end
    return [*(replace(own(r), at=said_at, begun=said_at - 600) for r in range(7)), replace(told(7), at=said_at)]


def test_a_process_killed_after_the_watchdogs_is_torn_down_and_no_cause() -> None:
    found = hanging(waiting_until(8))
    after = replace(found, symptoms=(*found.symptoms, killed(2)))
    assert attribute(after, NOW).implicated[0].host == "n04", "where rank 7 runs"
    before = replace(found, symptoms=(*found.symptoms, killed(60)))
    assert attribute(before, NOW).signature == "slurm.task_killed"


def test_a_rank_that_says_that_it_is_stuck_is_named_where_counters_name_nobody() -> None:
    held = {"kind": AnomalyKind.HANG, "nodes": ("n04",), "ranks": (7,), "sentence": "The interpreter is held"}
    silence = {"kind": AnomalyKind.HANG, "basis": "step", "sentence": "No step"}
    found = facts(
        symptom("pg.gil", Layer.APPLICATION, Role.CANDIDATE, **held),
        symptom("hang.silence", Layer.UNKNOWN, Role.CANDIDATE, 60, **silence),
        attempt=attempt(),
    )
    judgement = attribute(found, NOW)
    assert (judgement.layer, judgement.signature) == (Layer.APPLICATION, "pg.gil")
    assert [one.host for one in judgement.implicated if one.role == "culprit"] == ["n04"]


@pytest.mark.parametrize(("code", "words"), [(-9, "SIGKILL"), (-11, "SIGSEGV"), (-15, ""), (1, "")])
def test_the_launcher_knows_the_signal_that_ended_the_first_process(code: int, words: str) -> None:
    line = quote(f"  exitcode  : {code} (pid: 4242)", "n03", 5)
    report = symptom("elastic.block_exit", Layer.FRAMEWORK, Role.CONFIRM, nodes=("n03",), evidence=(line,))
    victim = symptom("net.brokenpipe", Layer.FRAMEWORK_COMM, Role.SECONDARY)
    judgement = attribute(facts(report, victim, attempt=attempt()), NOW)
    if words:
        assert judgement.sentence == f"Killed by {words}, cause unknown on n03"
        assert (judgement.layer, judgement.action) == (Layer.UNKNOWN, VerdictAction.RESTART)
    else:
        assert judgement.layer is Layer.FRAMEWORK_COMM
