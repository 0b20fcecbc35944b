"""Is what our own command brings about ever evidence against the job? (design 5.9)"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from detectors.attribution.action import VerdictAction
from detectors.attribution.attributing import attribute
from detectors.attribution.facts import AttemptFacts, Facts, NodeFacts, Symptom
from detectors.attribution.judgement import Judgement
from detectors.attribution.replaying import judged_again, read_facts
from detectors.attribution.witnesses import Edge, Wait, Witnesses
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from schedulers.states import JobState
from tests.detectors.attribution.building import FOUR, NOW, at, attempt, facts, quote, symptom

ASKED = at(20)  # our intent: 20 s before the end that it brings about


def hangs(**changes: Any) -> AttemptFacts:
    """It stood still for 15 s, which is long for it; then we announced a command."""
    values: dict[str, Any] = {"last_step_at": at(35), "command_at": ASKED, "reason": "", "exit_code": 0}
    return attempt(**{**values, **changes})


def ending(**changes: Any) -> AttemptFacts:
    return hangs(state=JobState.COMPLETING, scheduler_word="COMPLETING", ended_at=None, exit_code=None, **changes)


SILENCE = symptom(
    "hang.silence",
    Layer.UNKNOWN,
    Role.CANDIDATE,
    before_end=35,
    kind=AnomalyKind.HANG,
    basis="step",
    confidence=0.8,
    fingerprint="silent",
)
REQUEUE = symptom("slurm.requeue", Layer.SCHEDULER, before_end=18, confidence=0.98, basis="file")
SIGNALLED = symptom("slurm.signal", Layer.SCHEDULER, Role.SECONDARY, before_end=18)
KILLED = symptom("slurm.task_signal", Layer.FRAMEWORK, Role.CANDIDATE, before_end=12, nodes=("n03",), ranks=(2,))
ERROR = symptom("py.runtime", Layer.APPLICATION, before_end=15, nodes=("n03",), action="restart_then_stop")
BROKEN = symptom("nccl.remote", Layer.HARDWARE_NETWORK, Role.CANDIDATE, before_end=11, nodes=("n02",))
LOST_STEP = symptom("slurm.io_err", Layer.HARDWARE_HOST, before_end=10, confidence=0.85)
ABORTED = symptom("slurm.step_aborted", Layer.SCHEDULER, Role.SECONDARY, before_end=17)


def culprits(found: Judgement) -> list[str]:
    return [one.host for one in found.implicated if one.role != "victim"]


def judged(*symptoms: Symptom, of: AttemptFacts, **changes: Any) -> Judgement:
    return attribute(facts(SILENCE, *symptoms, attempt=of, **changes), NOW)


FOLLOWS: list[tuple[str, tuple[Symptom, ...], AttemptFacts]] = [
    ("nothing has followed yet", (), ending()),
    ("the requeue stands in the log", (REQUEUE, ABORTED), ending()),
    ("the scheduler's clock is behind ours", (replace(REQUEUE, happened_at=at(24)),), ending()),
    ("its processes are ended by a signal", (SIGNALLED, KILLED), ending()),
    ("the program raises an error as it is ended", (ERROR,), ending()),
    ("connections break as processes end", (BROKEN,), ending()),
    ("the step is lost as it is taken down", (LOST_STEP,), ending()),
    ("it was cancelled by us", (SIGNALLED,), hangs(state=JobState.CANCELLED, exit_signal=15)),
    ("it answered the signal with an exit code", (ERROR,), hangs(exit_code=1)),
    ("it answered with the code that asks for no restart", (), hangs(exit_code=93)),
    ("it had to be killed", (KILLED,), hangs(exit_code=0, exit_signal=9)),
    ("it is requeued", (REQUEUE,), hangs(state=JobState.REQUEUED)),
]


@pytest.mark.parametrize(("symptoms", "of"), [case[1:] for case in FOLLOWS], ids=[case[0] for case in FOLLOWS])
def test_what_follows_our_command_is_no_cause(symptoms: tuple[Symptom, ...], of: AttemptFacts) -> None:
    found = judged(*symptoms, of=of)
    assert (found.kind, found.signature, found.layer) == (AnomalyKind.HANG, "hang.silence", Layer.UNKNOWN)
    assert (found.confidence, found.fingerprint, culprits(found)) == (0.8, "silent", [])


DECEIVED = (1, 2, 4, 5, 6, 8, 9, 10)
"""Those that would be taken for a cause, or for a witness, if somebody else had brought them about."""


@pytest.mark.parametrize(
    ("symptoms", "of"), [FOLLOWS[n][1:] for n in DECEIVED], ids=[FOLLOWS[n][0] for n in DECEIVED]
)
def test_without_a_command_of_ours_it_would_deceive(symptoms: tuple[Symptom, ...], of: AttemptFacts) -> None:
    found = judged(*symptoms, of=replace(of, command_at=None))
    assert (found.signature, found.confidence, found.fingerprint) != ("hang.silence", 0.8, "silent")


def test_the_verdict_says_that_it_looked_away() -> None:
    rules = {rule.id: rule for rule in judged(REQUEUE, KILLED, of=ending()).rules}
    assert rules["own.command"].fired
    assert rules["own.command"].because == "it follows from our own command: slurm.requeue, slurm.task_signal"


STILL_COUNTS: list[tuple[str, tuple[Symptom, ...], dict[str, Any], str]] = [
    ("what came before", (symptom("py.runtime", Layer.APPLICATION, before_end=45),), {}, "py.runtime"),
    (
        "a line that came a moment before the command",
        (symptom("py.runtime", Layer.APPLICATION, before_end=21),),
        {},
        "py.runtime",
    ),
    (
        "a fault of hardware: no command breaks it",
        (symptom("cuda.ecc", Layer.HARDWARE_GPU, before_end=10, nodes=("n03",), confidence=0.97),),
        {},
        "cuda.ecc",
    ),
    (
        "a node that the scheduler loses",
        (),
        {
            "attempt": hangs(state=JobState.NODE_FAIL),
            "nodes": tuple(NodeFacts(name, ("down",) if name == "n02" else ("idle",)) for name in FOUR),
        },
        "slurm.state.node_fail",
    ),
]


@pytest.mark.parametrize(
    ("symptoms", "changes", "signature"), [case[1:] for case in STILL_COUNTS], ids=[c[0] for c in STILL_COUNTS]
)
def test_what_no_command_brings_about_still_counts(
    symptoms: tuple[Symptom, ...], changes: dict[str, Any], signature: str
) -> None:
    assert attribute(facts(SILENCE, *symptoms, **{"attempt": hangs(), **changes}), NOW).signature == signature


def test_a_command_on_an_attempt_that_had_ended_changes_nothing() -> None:
    """A requeue of a finished job ends nothing: its own death stays what it was."""
    own = symptom("slurm.task_signal", Layer.FRAMEWORK, Role.CANDIDATE, before_end=2, nodes=("n03",))
    late = attempt(command_at=at(-10), exit_code=0, exit_signal=9)
    found = attribute(facts(own, attempt=late), NOW)
    assert found.signature == "slurm.task_signal"


def test_a_cancel_by_somebody_else_is_still_nobodys_to_repair() -> None:
    assert judged(of=hangs(state=JobState.CANCELLED)).action is VerdictAction.NONE


def waits(of: AttemptFacts, *, of_seconds: float, seconds: float = 0) -> Facts:
    """Seven of eight ranks say that their limit has passed, within `seconds`, `of_seconds` before the end."""
    ranks = tuple((rank, FOUR[rank // 2]) for rank in range(8))
    first = at(of_seconds).timestamp()
    rows = tuple(
        Wait(
            "", rank, FOUR[rank // 2], first + rank * seconds / 7, own=True, seq=78, enq=79, done=77, op="ALLREDUCE"
        )
        for rank in range(7)
    )
    told = symptom(
        "pg.watchdog_timeout", Layer.FRAMEWORK_COMM, Role.SECONDARY, of_seconds, kind=AnomalyKind.HANG, count=7
    )
    return facts(told, SILENCE, ABORTED, attempt=of, ranks=ranks, witnesses=Witnesses(waits=rows), nodes=())


def test_a_rank_that_we_silenced_before_its_time_is_not_blamed_for_its_silence() -> None:
    assert culprits(attribute(waits(hangs(), of_seconds=30), NOW)) == []
    alone = attribute(waits(attempt(last_step_at=at(140)), of_seconds=30), NOW)
    assert culprits(alone) == ["n04"]


def test_a_rank_that_had_its_time_to_speak_is() -> None:
    assert culprits(attribute(waits(hangs(), of_seconds=120), NOW)) == ["n04"]


def test_connections_that_break_as_we_end_it_are_no_votes() -> None:
    edges = tuple(Edge(host, "n04", "10.0.0.4", "mlx5_0", at(12).timestamp()) for host in FOUR[:3])
    broken = symptom("nccl.ib.completion", Layer.HARDWARE_NETWORK, Role.CANDIDATE, before_end=12, nodes=FOUR[:3])
    ours = judged(broken, of=hangs(), witnesses=Witnesses(edges=edges))
    theirs = judged(broken, of=hangs(command_at=None), witnesses=Witnesses(edges=edges))
    assert (culprits(ours), culprits(theirs)) == ([], ["n04"])


def test_a_launchers_report_of_our_signal_names_nobody() -> None:
    line = quote("  exitcode  : -9 (pid: 4242)", "n03", 5)
    report = symptom("elastic.block_exit", Layer.FRAMEWORK, Role.CONFIRM, 10, nodes=("n03",), evidence=(line,))
    found = attribute(facts(report, attempt=hangs(exit_code=1)), NOW)
    assert (found.sentence, culprits(found)) == ("Ended by our own command, cause unknown", [])


def test_such_a_verdict_is_computed_again_to_the_byte() -> None:
    found = judged(REQUEUE, KILLED, of=ending())
    again = judged_again(found.body, NOW)
    assert (again.body, again.input_hash) == (found.body, found.input_hash)
    assert read_facts(found.body["inputs"]).attempt.command_at == ASKED


def test_facts_without_a_command_are_hashed_as_ever() -> None:
    plain = facts(SILENCE, attempt=hangs(command_at=None))
    assert "command_at" not in plain.canonical()["attempt"]
    assert read_facts(plain.canonical()) == plain.in_order()


def test_the_clocks_may_differ_by_five_seconds() -> None:
    """An end that the scheduler dates shortly before our command may still be its doing; a long one is not."""
    near, far = hangs(ended_at=ASKED - timedelta(seconds=4)), hangs(ended_at=ASKED - timedelta(seconds=6))
    kept = {of.ended_at: "Ended by our own" in attribute(facts(attempt=of), NOW).sentence for of in (near, far)}
    assert kept == {near.ended_at: True, far.ended_at: False}
