"""Does every situation lead to the one right step? A table of cases; each row of the state machine is met."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from controller.advice import Operation, Reason, read_advice
from controller.entries import Action, Doing, Entry, Outcome
from controller.rows import Step
from controller.steps import next_step, proofs, withdrawn
from controller.table import TABLE
from controller.view import Missing, View
from schedulers.port import JobDetail, JobRow
from schedulers.states import JobState
from tests.controller.advisor import advice
from tests.controller.scripted import START, row

NOW = START + timedelta(minutes=1)
LONG_AGO = NOW - timedelta(seconds=30)
MARK = "rekindle/1 g=1 r={} until=1795953900"
S = JobState
SENT = Doing(tries=1, outcome=Outcome.ACCEPTED, at=LONG_AGO, done_at=LONG_AGO)
JUST_SENT = replace(SENT, at=NOW)
NO_ANSWER = Doing(tries=1, at=LONG_AGO)
PROVED = replace(SENT, seen_at=LONG_AGO, seen_restarts=1)
REFUSED = replace(SENT, outcome=Outcome.REFUSED, sentence="Job is pending execution")
THRICE = replace(SENT, tries=3)
UNSENT = Doing(tries=0, outcome=Outcome.UNSENT, at=LONG_AGO)
SINGLETON = {
    "dependency": "singleton(unfulfilled)",
    "comment": '{"APS": {"auto_resume_mode": "singleton_dependency"}}',
}


@dataclass(frozen=True)
class Case:
    """A situation in words, what it is made of, and the step: an action, a reason, or "wait", and its row."""

    name: str
    then: Action | Reason | str
    row: str
    job: JobRow | Missing
    operation: Operation = Operation.RESTART
    excluded: tuple[str, ...] = ()
    journal: dict[Action, Doing] | None = None
    nodes: tuple[str, ...] = ("n03",)
    late: bool = False
    not_before: datetime = START
    added: tuple[str, ...] = ()


def held(restarts: int = 1, mark: int | str | None = None, **more: Any) -> JobRow:
    comment = "" if mark is None else mark if isinstance(mark, str) else MARK.format(mark)
    return row(state=S.HELD, restarts=restarts, admin_comment=comment, **more)


def job(state: JobState, restarts: int = 0, mark: int | None = None, **more: Any) -> JobRow:
    return row(state=state, restarts=restarts, admin_comment="" if mark is None else MARK.format(mark), **more)


def released(begins_in: float, **more: Any) -> JobRow:
    """Requeued a moment ago, released, and to begin in so many seconds."""
    begins = NOW + timedelta(seconds=begins_in)
    return job(S.PENDING, 1, **{"reason": "BeginTime", "submitted_at": NOW, "eligible_at": begins, **more})


A, STOP, GO = Action, Operation.TERMINATE, Operation.RELEASE
HELD_BY_US = {A.REQUEUE_HOLD: PROVED}
UNMARKABLE = {**HELD_BY_US, A.MARK: REFUSED}
MARKED_BY_US = {A.REQUEUE_HOLD: PROVED, A.MARK: PROVED}
READY = {**MARKED_BY_US, A.EXCLUSIONS: PROVED}
LET_GO = {**READY, A.RELEASE: PROVED}
OUT = ("n03",)
REFUSAL, CLOSED, EXPIRED = Reason.REFUSED_BY_SCHEDULER, Reason.GATE_CLOSED, Reason.ADVICE_EXPIRED
WAIT = "wait"

# fmt: off
CASES = (
    # What can be seen at all.
    Case("no answer", WAIT, "the scheduler cannot be seen", Missing.UNKNOWN),
    Case("no answer while we hold it", WAIT, "the scheduler cannot be seen", Missing.UNKNOWN, journal=READY),
    Case("gone", Reason.JOB_GONE, "gone", Missing.GONE),
    Case("gone after our hold", Reason.JOB_GONE, "gone", Missing.GONE, journal=READY),
    Case("cancelled by us and purged", Reason.DESIRED_STATE_OBSERVED, "cancelled by us, and gone",
         Missing.GONE, STOP,
         journal={A.CANCEL: SENT}),
    Case("gone before it was stopped", Reason.JOB_GONE, "gone", Missing.GONE, STOP),
    Case("another user's job", Reason.JOB_GONE, "the number belongs to another job", job(S.FAILED, user="other")),
    Case("fewer restarts", Reason.JOB_GONE, "the number belongs to another job", job(S.FAILED, restarts=-1)),
    Case("submitted anew", Reason.JOB_GONE, "the number belongs to another job", job(S.FAILED, submitted_at=START)),
    Case("a new state word", WAIT, "a state nobody understands", job(S.UNKNOWN, word="TELEPORTING")),

    # Nothing happened yet.
    Case("failed", A.REQUEUE_HOLD, "failed", job(S.FAILED)),
    Case("node lost", A.REQUEUE_HOLD, "failed", job(S.NODE_FAIL)),
    Case("out of memory", A.REQUEUE_HOLD, "failed", job(S.OUT_OF_MEMORY)),
    Case("did not boot", A.REQUEUE_HOLD, "failed", job(S.BOOT_FAIL)),
    Case("an array task by its own number", A.REQUEUE_HOLD, "failed", job(S.FAILED, array_job=10, array_task=2)),
    Case("failed, the hold was never sent", A.REQUEUE_HOLD, "failed", job(S.FAILED),
         journal={A.REQUEUE_HOLD: UNSENT}),
    Case("failed, killed before the hold", A.REQUEUE_HOLD, "failed", job(S.FAILED),
         journal={A.REQUEUE_HOLD: NO_ANSWER}),
    Case("failed, the hold had no effect", A.REQUEUE_HOLD, "failed", job(S.FAILED), journal={A.REQUEUE_HOLD: SENT}),
    Case("failed, hold sent just now", WAIT, "the hold may still take effect", job(S.FAILED),
         journal={A.REQUEUE_HOLD: JUST_SENT}),
    Case("failed, hold refused", REFUSAL, "the hold is refused", job(S.FAILED), journal={A.REQUEUE_HOLD: REFUSED}),
    Case("failed, asked three times", REFUSAL, "the hold is refused", job(S.FAILED),
         journal={A.REQUEUE_HOLD: THRICE}),
    Case("failed, too late", EXPIRED, "expired before anything was held", job(S.FAILED), late=True),
    Case("failed, held by a person while it ran", CLOSED, "a person's hold on it", job(S.FAILED, priority=0)),
    Case("failed, with --nodelist=n03", REFUSAL, "its own node list demands an excluded node",
         job(S.FAILED, required_nodes=("n03",))),
    Case("a heterogeneous job", REFUSAL, "not a job that is restarted", job(S.FAILED, het_leader=12)),
    Case("a whole array", REFUSAL, "not a job that is restarted", job(S.PENDING, array_job=12)),
    Case("srun without a batch script", REFUSAL, "not a job that is restarted", job(S.FAILED, batch=False)),
    Case("--no-requeue", REFUSAL, "not a job that is restarted", job(S.FAILED, requeue_allowed=False)),
    Case("completed", Reason.ALREADY_SATISFIED, "completed", job(S.COMPLETED)),
    Case("cancelled by its user", Reason.CANCELLED_BY_USER, "cancelled", job(S.CANCELLED)),
    Case("time limit", CLOSED, "ended, but not by a failure", job(S.TIMEOUT)),
    Case("preempted", CLOSED, "ended, but not by a failure", job(S.PREEMPTED)),
    Case("deadline", CLOSED, "ended, but not by a failure", job(S.DEADLINE)),
    Case("completing", WAIT, "still ending", job(S.COMPLETING)),
    Case("pending", WAIT, "neither running nor failed", job(S.PENDING)),
    Case("held before it ever ran", WAIT, "neither running nor failed", held(restarts=0)),
    Case("special exit before it ever ran", WAIT, "neither running nor failed", held(0, word="SPECIAL_EXIT")),
    Case("starting", WAIT, "neither running nor failed", job(S.CONFIGURING)),
    Case("suspended by somebody", WAIT, "neither running nor failed", job(S.SUSPENDED)),
    Case("hung", A.MARK, "running, not yet marked", job(S.RUNNING)),
    Case("hung, killed before the mark", A.MARK, "running, not yet marked", job(S.RUNNING),
         journal={A.MARK: NO_ANSWER}),
    Case("hung, mark sent just now", WAIT, "running, the mark may still appear", job(S.RUNNING),
         journal={A.MARK: JUST_SENT}),
    Case("hung, mark refused", REFUSAL, "running, the mark is refused", job(S.RUNNING), journal={A.MARK: REFUSED}),
    Case("hung and marked", A.REQUEUE_HOLD, "running, marked", job(S.RUNNING, mark=1), journal={A.MARK: PROVED}),
    Case("hung, an old mark of ours on it", A.MARK, "running, not yet marked", job(S.RUNNING, mark=0)),
    Case("hung, a person took the mark off", CLOSED, "running, a person took the mark off", job(S.RUNNING),
         journal={A.MARK: PROVED}),
    Case("hung, and a person's hold on it", CLOSED, "a person's hold on it", job(S.RUNNING,
         priority=0)),
    Case("hung, marked, too late", A.UNMARK, "expired before anything was held; our mark off first",
         job(S.RUNNING, mark=1), journal={A.MARK: PROVED}, late=True),
    Case("no room for our mark", REFUSAL, "no room for our mark", row(admin_comment="x" * 8001)),
    Case("room enough for our mark", A.REQUEUE_HOLD, "failed", row(admin_comment="x" * 8000)),
    Case("hung, marked, then completed", Reason.ALREADY_SATISFIED, "completed", job(S.COMPLETED, mark=1),
         journal={A.MARK: PROVED}),

    # Held.
    Case("held by us", A.MARK, "ours, not yet marked", held(), journal=HELD_BY_US),
    Case("held by us, killed before the answer", A.MARK, "ours, not yet marked", held(),
         journal={A.REQUEUE_HOLD: NO_ANSWER}),
    Case("held by us, mark sent just now", WAIT, "ours, the mark may still appear", held(),
         journal={**HELD_BY_US, A.MARK: JUST_SENT}),
    Case("held by us, mark refused", A.EXCLUSIONS, "ours, not to be marked, exclusions to be set", held(),
         journal=UNMARKABLE),
    Case("held by us, mark three times without effect", A.EXCLUSIONS,
         "ours, not to be marked, exclusions to be set", held(), journal={**HELD_BY_US, A.MARK: THRICE}),
    Case("held by us, mark refused, exclusions sent just now", WAIT,
         "ours, not to be marked, the exclusions may still appear", held(),
         journal={**UNMARKABLE, A.EXCLUSIONS: JUST_SENT}),
    Case("held by us, mark and exclusions refused", A.RELEASE, "ours, not to be marked", held(),
         journal={**UNMARKABLE, A.EXCLUSIONS: REFUSED}),
    Case("held by us, mark refused, for later", A.RELEASE, "ours, not to be marked", held(), excluded=OUT,
         journal={**UNMARKABLE, A.EXCLUSIONS: PROVED}, not_before=NOW + timedelta(seconds=9)),
    Case("held by us, mark refused, release sent just now", WAIT,
         "ours, not to be marked, the release may still take effect", held(), excluded=OUT,
         journal={**UNMARKABLE, A.RELEASE: JUST_SENT}),
    Case("held by us, mark and release refused", WAIT, "ours, not to be marked, the release is refused", held(),
         excluded=OUT, journal={**UNMARKABLE, A.RELEASE: REFUSED}),
    Case("held by others, mark refused", CLOSED, "somebody else's hold", held(),
         journal={A.REQUEUE_HOLD: REFUSED, A.MARK: REFUSED}),
    Case("mark refused, let go, held by a person", Reason.DESIRED_STATE_OBSERVED, "let go, then held by a person",
         held(), excluded=OUT, journal={**UNMARKABLE, A.RELEASE: PROVED}),
    Case("mark refused, and let go", Reason.DESIRED_STATE_OBSERVED, "restarted", job(S.PENDING, 1), excluded=OUT,
         journal={**UNMARKABLE, A.RELEASE: PROVED}),
    Case("mark and exclusions refused, and let go", REFUSAL, "waiting, the exclusions are refused",
         job(S.PENDING, 1), journal={**UNMARKABLE, A.EXCLUSIONS: REFUSED, A.RELEASE: PROVED}),
    Case("held by us, a mark of another attempt", A.MARK, "ours, not yet marked", held(mark=0), journal=HELD_BY_US),
    Case("held by us and marked", A.EXCLUSIONS, "ours, exclusions to be set", held(mark=1), journal=MARKED_BY_US),
    Case("marked by a controller that died", A.EXCLUSIONS, "ours, exclusions to be set", held(mark=1)),
    Case("marked, exclusions sent just now", WAIT, "ours, the exclusions may still appear", held(mark=1),
         journal={**MARKED_BY_US, A.EXCLUSIONS: JUST_SENT}),
    Case("marked, exclusions refused", A.RELEASE, "ours, ready", held(mark=1),
         journal={**MARKED_BY_US, A.EXCLUSIONS: REFUSED}),
    Case("marked, no exclusions wanted", A.RELEASE, "ours, ready", held(mark=1), journal=MARKED_BY_US, nodes=()),
    Case("marked, too late is no matter", A.RELEASE, "ours, ready", held(mark=1), excluded=OUT,
         journal=READY, late=True),
    Case("ready", A.RELEASE, "ours, ready", held(mark=1), excluded=OUT, journal=READY),
    Case("ready, for later", WAIT, "ours, not yet to be released", held(mark=1), excluded=OUT, journal=READY,
         not_before=NOW + timedelta(seconds=9)),
    Case("release sent just now", WAIT, "ours, the release may still take effect", held(mark=1), excluded=OUT,
         journal={**READY, A.RELEASE: JUST_SENT}),
    Case("release without effect", A.RELEASE, "ours, ready", held(mark=1), excluded=OUT,
         journal={**READY, A.RELEASE: SENT}),
    Case("release refused", WAIT, "ours, the release is refused", held(mark=1), excluded=OUT,
         journal={**READY, A.RELEASE: REFUSED}),
    Case("kept by an operator", CLOSED, "an operator keeps it", held(mark="rekindle/1 kept r=1"), journal=READY),
    Case("kept by an operator before our mark", CLOSED, "an operator keeps it", held(mark="rekindle/1 kept r=1 x"),
         journal=HELD_BY_US),
    Case("a wish to keep another attempt", CLOSED, "somebody else's hold", held(mark="rekindle/1 kept r=0")),
    Case("a person took the mark off", CLOSED, "a person took the mark off", held(), excluded=OUT, journal=READY),
    Case("a person took the mark off early", CLOSED, "a person took the mark off", held(), journal=MARKED_BY_US),
    Case("lost in a crash of the scheduler", A.MARK, "mark and exclusions lost in a crash of the scheduler", held(),
         journal=READY),
    Case("held by its user", CLOSED, "somebody else's hold", held(reason="JobHeldUser")),
    Case("held by an administrator", CLOSED, "somebody else's hold", held(reason="JobHeldAdmin")),
    Case("launch failed", CLOSED, "somebody else's hold", held(reason="launch failed requeued held")),
    Case("requeued held by another after our refusal", CLOSED, "somebody else's hold", held(),
         journal={A.REQUEUE_HOLD: REFUSED}),
    Case("special exit", CLOSED, "special exit", held(word="SPECIAL_EXIT")),
    Case("held again by a person, mark on", A.UNMARK, "let go, then held by a person, our mark still on",
         held(mark=1),
         excluded=OUT, journal=LET_GO),
    Case("held again by a person", Reason.DESIRED_STATE_OBSERVED, "let go, then held by a person", held(),
         excluded=OUT,
         journal=LET_GO),
    Case("let go by a person and held by him, mark on", A.UNMARK, "held by somebody else, our mark still on",
         held(mark=1, reason="JobHeldAdmin"), excluded=OUT, journal=READY),
    Case("the same, our release sent just now", A.UNMARK, "held by somebody else, our mark still on",
         held(mark=1, reason="JobHeldUser"), excluded=OUT, journal={**READY, A.RELEASE: JUST_SENT}),
    Case("the same, our mark cannot be taken off", CLOSED, "let go by somebody, then held by a person",
         held(mark=1, reason="JobHeldUser"), excluded=OUT, journal={**READY, A.UNMARK: REFUSED}),
    Case("the same, our mark off", CLOSED, "let go by somebody, then held by a person",
         held(reason="JobHeldAdmin"), excluded=OUT, journal=READY),
    Case("let go by a person and held by him before our mark", CLOSED, "let go by somebody, then held by a person",
         held(reason="JobHeldAdmin"), journal=HELD_BY_US),
    Case("let go by us, held by a person, as a taker sees it", A.UNMARK, "held by somebody else, our mark still on",
         held(mark=1, reason="JobHeldAdmin")),
    Case("a crash brought the mark back on a person's hold", A.UNMARK, "held by somebody else, our mark still on",
         held(mark=1, reason="JobHeldAdmin"), excluded=OUT, journal={**LET_GO, A.UNMARK: SENT}),
    Case("a person's hold two restarts later", A.UNMARK, "held by somebody else, our mark still on",
         held(2, mark=2, reason="JobHeldAdmin"), journal={A.REQUEUE_HOLD: replace(PROVED, seen_restarts=2)}),
    Case("marked ahead, requeued and held by a person", A.UNMARK, "held by somebody else, our mark still on",
         held(mark=1), journal={A.MARK: PROVED}),
    Case("the same, our hold was not sent", A.UNMARK, "held by somebody else, our mark still on",
         held(mark=1), journal={A.MARK: PROVED, A.REQUEUE_HOLD: UNSENT}),
    Case("the same, our mark is off", CLOSED, "marked by us, requeued and held by a person", held(),
         journal={A.MARK: PROVED, A.UNMARK: SENT}),
    Case("marked ahead, held without an answer", A.EXCLUSIONS, "ours, exclusions to be set", held(mark=1),
         journal={A.MARK: PROVED, A.REQUEUE_HOLD: NO_ANSWER}),
    Case("its reservation ended while we held it", A.UNMARK, "held by somebody else, our mark still on",
         held(mark=1, word="RESV_DEL_HOLD", reason="Reservation r was deleted"), excluded=OUT, journal=READY),
    Case("its reservation ended, our mark is off", CLOSED, "held by the scheduler since we held it",
         held(word="RESV_DEL_HOLD", reason="Reservation r was deleted"), excluded=OUT, journal=READY),
    Case("somebody took our nodes off while we held it", A.RELEASE, "ours, ready", held(mark=1), journal=READY),
    Case("the same, a moment after they stood", A.EXCLUSIONS, "ours, exclusions to be set", held(mark=1),
         journal={**READY, A.EXCLUSIONS: replace(PROVED, seen_at=NOW - timedelta(seconds=5))}),
    Case("the same, with our mark, which stands again", A.EXCLUSIONS, "ours, exclusions to be set", held(mark=1),
         journal={**READY, A.MARK: replace(PROVED, at=NOW - timedelta(seconds=6))}),
    Case("somebody put a node of his own beside ours", A.RELEASE, "ours, ready", held(mark=1),
         excluded=("n03", "n06"), journal=READY),
    Case("hold and mark are back after a crash", A.RELEASE, "a crash of the scheduler brought hold and mark back",
         held(mark=1), excluded=OUT, journal={**LET_GO, A.UNMARK: SENT}),

    # Restarted, not held.
    Case("ending after our requeue", WAIT, "restarted, still ending", job(S.COMPLETING, 1, mark=1),
         journal={A.REQUEUE_HOLD: PROVED, A.MARK: PROVED}),
    Case("released, mark still on", A.UNMARK, "restarted; our mark off first", job(S.PENDING, 1, mark=1),
         excluded=OUT,
         journal=LET_GO),
    Case("released, mark cannot be taken off", Reason.DESIRED_STATE_OBSERVED, "restarted", job(S.PENDING, 1,
         mark=1),
         excluded=OUT, journal={**LET_GO, A.UNMARK: REFUSED}),
    Case("released", Reason.DESIRED_STATE_OBSERVED, "restarted", job(S.PENDING, 1), excluded=OUT, journal=LET_GO),
    Case("released and running", Reason.DESIRED_STATE_OBSERVED, "restarted", job(S.RUNNING, 1), excluded=OUT,
         journal=LET_GO),
    Case("released, run and failed again", Reason.DESIRED_STATE_OBSERVED, "restarted", job(S.FAILED, 1, mark=1),
         excluded=OUT, journal=LET_GO),
    Case("released, then cancelled", Reason.DESIRED_STATE_OBSERVED, "restarted", job(S.CANCELLED, 1), excluded=OUT,
         journal=LET_GO),
    Case("cancelled while we held it", Reason.CANCELLED_BY_USER, "cancelled before it ran again",
         job(S.CANCELLED, 1),
         excluded=OUT, journal=READY),
    Case("released by somebody else", A.UNMARK, "restarted; our mark off first", job(S.PENDING, 1, mark=1),
         excluded=OUT, journal=READY),
    Case("requeued by Slurm", A.EXCLUSIONS, "waiting, exclusions to be set", job(S.PENDING, 1)),
    Case("requeued by Slurm, nothing to exclude", Reason.ALREADY_SATISFIED, "restarted", job(S.PENDING, 1),
         nodes=()),
    Case("requeued by Slurm, exclusions stand", Reason.ALREADY_SATISFIED, "restarted", job(S.PENDING, 1),
         excluded=OUT,
         journal={A.EXCLUSIONS: PROVED}),
    Case("requeued by Slurm, exclusions sent", WAIT, "waiting, the exclusions may still appear", job(S.PENDING, 1),
         journal={A.EXCLUSIONS: JUST_SENT}),
    Case("requeued by Slurm, exclusions refused", REFUSAL, "waiting, the exclusions are refused", job(S.PENDING, 1),
         journal={A.EXCLUSIONS: REFUSED}),
    Case("requeued by Slurm, too late", EXPIRED, "waiting, but expired", job(S.PENDING, 1), late=True),
    Case("requeued by Slurm, with --nodelist=n03", REFUSAL, "waiting, its own node list demands an excluded node",
         job(S.PENDING, 1, required_nodes=("n03",))),
    Case("requeued by Slurm, running elsewhere", Reason.ALREADY_SATISFIED, "restarted",
         job(S.RUNNING, 1, nodes=("n01", "n02"))),
    Case("requeued by Slurm, running on n03", REFUSAL, "restarted on an excluded node", job(S.RUNNING, 1)),
    Case("exclusions lost after the release", A.EXCLUSIONS, "waiting, exclusions to be set", job(S.PENDING, 1),
         journal={**LET_GO, A.EXCLUSIONS: replace(PROVED, seen_at=NOW - timedelta(seconds=5))}),
    Case("somebody took our nodes off after the release", CLOSED, "restarted, and somebody took our exclusions off",
         job(S.PENDING, 1), journal=LET_GO),
    Case("somebody took our nodes off, it runs on one", CLOSED, "restarted, and somebody took our exclusions off",
         job(S.RUNNING, 1), journal=LET_GO),

    # Released: when does it begin, and are there nodes enough?
    Case("released, would wait as every requeued job", A.START, "waits for nothing", released(121), excluded=OUT,
         journal=LET_GO),
    Case("released, somebody gave it a later time", WAIT, "whether its nodes suffice is not yet known",
         released(600), excluded=OUT, journal=LET_GO),
    Case("released, somebody gave it an earlier time", WAIT, "whether its nodes suffice is not yet known",
         released(60), excluded=OUT, journal=LET_GO),
    Case("released, its wait is over soon", WAIT, "whether its nodes suffice is not yet known", released(4),
         excluded=OUT, journal=LET_GO),
    Case("released, asked to begin, without a word", WAIT, "whether its nodes suffice is not yet known",
         released(121), excluded=OUT, journal={**LET_GO, A.START: NO_ANSWER}),
    Case("released, an earlier begin refused", WAIT, "whether its nodes suffice is not yet known", released(121),
         excluded=OUT, journal={**LET_GO, A.START: REFUSED}),
    Case("released, nothing excluded, asked to begin", Reason.DESIRED_STATE_OBSERVED, "restarted", released(3),
         journal={**LET_GO, A.START: SENT}, nodes=()),
    Case("released, waits for resources", Reason.DESIRED_STATE_OBSERVED, "restarted",
         released(-2, reason="Resources"), excluded=OUT, journal={**LET_GO, A.START: SENT}),
    Case("released, never considered", Reason.DESIRED_STATE_OBSERVED, "restarted", released(-20), excluded=OUT,
         journal={**LET_GO, A.START: SENT}),
    Case("requeued by Slurm, waits as every requeued job", Reason.ALREADY_SATISFIED, "restarted", released(121),
         nodes=()),
    Case("too few nodes", A.RELAX, "too few nodes without ours", held(1, reason="BadConstraints"), excluded=OUT,
         journal=LET_GO),
    Case("too few nodes, ours taken back just now", WAIT,
         "too few nodes without ours, that may still take effect", held(1, reason="BadConstraints"), excluded=OUT,
         journal={**LET_GO, A.RELAX: JUST_SENT}),
    Case("too few nodes, and ours cannot be taken back", REFUSAL, "too few nodes without ours, that was refused",
         held(1, reason="BadConstraints"), excluded=OUT, journal={**LET_GO, A.RELAX: REFUSED}),
    Case("too few nodes, but not by us", Reason.DESIRED_STATE_OBSERVED, "let go, then held by a person",
         held(1, reason="BadConstraints"), excluded=("n07",), journal=LET_GO),
    Case("ours taken back, waits", REFUSAL, "restarted without exclusions", released(-3),
         journal={**LET_GO, A.RELAX: SENT}),
    Case("ours taken back, runs", REFUSAL, "restarted without exclusions", job(S.RUNNING, 1),
         journal={**LET_GO, A.RELAX: SENT}),

    # Two restarts later.
    Case("collision, held by us", A.MARK, "ours, not yet marked", held(2),
         journal={A.REQUEUE_HOLD: replace(PROVED, seen_restarts=2)}),
    Case("collision, held by us, marked ahead", A.MARK, "ours, not yet marked", held(2, mark=1),
         journal={A.REQUEUE_HOLD: replace(PROVED, seen_restarts=2), A.MARK: PROVED}),
    Case("collision, held and marked", A.RELEASE, "collision, held by us", held(2, mark=2),
         journal={A.REQUEUE_HOLD: replace(PROVED, seen_restarts=2), A.MARK: PROVED}),
    Case("collision, held by us, mark refused", A.RELEASE, "ours, not to be marked", held(2),
         journal={A.REQUEUE_HOLD: replace(PROVED, seen_restarts=2), A.MARK: REFUSED}),
    Case("collision, ending", WAIT, "collision, still ending", job(S.COMPLETING, 2),
         journal={A.REQUEUE_HOLD: SENT}),
    Case("collision, let go", Reason.SUPERSEDED, "collision", job(S.PENDING, 2),
         journal={A.REQUEUE_HOLD: replace(PROVED, seen_restarts=2), A.RELEASE: PROVED}),
    Case("held by others two restarts later", Reason.SUPERSEDED, "collision", held(2)),
    Case("held by a newer recovery of ours", Reason.SUPERSEDED, "collision", held(2, mark=2)),
    Case("restarted by us, then by others", Reason.DESIRED_STATE_OBSERVED, "restarted by us, and by others since",
         job(S.RUNNING, 2), journal=LET_GO),
    Case("moved on by itself", Reason.SUPERSEDED, "collision", job(S.RUNNING, 5)),

    # To be stopped.
    Case("stop: runs", A.CANCEL, "runs", job(S.RUNNING), STOP),
    Case("stop: starting", A.CANCEL, "runs", job(S.CONFIGURING), STOP),
    Case("stop: suspended by somebody", WAIT, "does not run", job(S.SUSPENDED), STOP),
    Case("stop: killed before the cancel", A.CANCEL, "runs", job(S.RUNNING), STOP, journal={A.CANCEL: NO_ANSWER}),
    Case("stop: cancel sent", WAIT, "the cancel may still take effect", job(S.RUNNING), STOP,
         journal={A.CANCEL: JUST_SENT}),
    Case("stop: cancel refused", REFUSAL, "the cancel is refused", job(S.RUNNING), STOP,
         journal={A.CANCEL: REFUSED}),
    Case("stop: too late", EXPIRED, "expired", job(S.RUNNING), STOP, late=True),
    Case("stop: ending", WAIT, "still ending", job(S.COMPLETING), STOP),
    Case("stop: has failed", Reason.ALREADY_SATISFIED, "stopped", job(S.FAILED), STOP),
    Case("stop: cancelled by us", Reason.DESIRED_STATE_OBSERVED, "stopped", job(S.CANCELLED), STOP,
         journal={A.CANCEL: SENT}),
    Case("stop: waits", WAIT, "does not run", job(S.PENDING), STOP),
    Case("stop: held by its user", WAIT, "does not run", held(0), STOP),
    Case("stop: restarted", Reason.SUPERSEDED, "restarted since", job(S.RUNNING, 1), STOP),
    Case("stop: a whole array", REFUSAL, "more than one job", job(S.RUNNING, array_job=12), STOP),

    # A successor to be let go.
    Case("release: held for its predecessor", A.RELEASE, "held", held(0, **SINGLETON), GO),
    Case("release: held, asks for nothing", CLOSED, "kept, or no successor", held(0), GO),
    Case("release: comment without dependency", CLOSED, "kept, or no successor", held(0,
         comment=SINGLETON["comment"]), GO),
    Case("release: comment is no JSON", CLOSED, "kept, or no successor", held(0, **{**SINGLETON,
         "comment": "{APS}"}), GO),
    Case("release: kept", CLOSED, "kept, or no successor", held(0, mark="rekindle/1 kept r=0", **SINGLETON), GO),
    Case("release: not held", Reason.ALREADY_SATISFIED, "not held", job(S.PENDING), GO),
    Case("release: done by us", Reason.DESIRED_STATE_OBSERVED, "not held", job(S.RUNNING), GO,
         journal={A.RELEASE: SENT}),
    Case("release: held again", Reason.DESIRED_STATE_OBSERVED, "let go, then held by a person", held(0,
         **SINGLETON), GO,
         journal={A.RELEASE: PROVED}),
    Case("release: an administrator holds it", CLOSED, "held by an administrator",
         held(0, reason="JobHeldAdmin", **SINGLETON), GO),
    Case("release: held by its user", A.RELEASE, "held", held(0, reason="JobHeldUser", **SINGLETON), GO),
    Case("release: sent just now", WAIT, "the release may still take effect", held(0, **SINGLETON), GO,
         journal={A.RELEASE: JUST_SENT}),
    Case("release: refused", REFUSAL, "the release is refused", held(0, **SINGLETON), GO,
         journal={A.RELEASE: REFUSED}),
    Case("release: too late", EXPIRED, "expired", held(0, **SINGLETON), GO, late=True),
    Case("release: for later", WAIT, "not yet", held(0, **SINGLETON), GO, not_before=NOW + timedelta(seconds=9)),
    Case("release: cancelled", Reason.CANCELLED_BY_USER, "cancelled", job(S.CANCELLED), GO),
    Case("release: restarted", Reason.SUPERSEDED, "restarted since", job(S.PENDING, 1), GO),
)
# fmt: on


def view_of(case: Case) -> View:
    given = replace(
        read_advice(advice()),
        operation=case.operation,
        excluded_nodes=case.nodes,
        not_before=case.not_before,
        expires_at=NOW if case.late else NOW + timedelta(minutes=10),
    )
    entry = None if case.journal is None else Entry(given, announced=True, ours=case.nodes, doings=case.journal)
    shown = case.job if isinstance(case.job, Missing) else JobDetail(case.job, case.excluded)
    return View(given, shown, entry, NOW, case.added, timedelta(seconds=121))


def outcome(step: Step) -> Action | Reason | str:
    return step.action or step.reason or "wait"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_step_that_follows(case: Case) -> None:
    step = next_step(view_of(case))
    assert (outcome(step), step.row) == (case.then, case.row)
    assert step.sentence and "{" not in step.sentence.replace("{APS}", "")


def test_every_row_of_the_table_is_met() -> None:
    met = {(case.operation, case.row.partition("; our mark off")[0]) for case in CASES}
    rows = {(operation, row.name) for row in TABLE for operation in row.operations}
    never = {(operation, name) for operation, name in rows if (operation, name) not in met}
    general = {row.name for row in TABLE if len(row.operations) > 1}
    assert {name for _, name in never} - general == set()


def test_the_names_of_the_cases_are_different() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("operation", list(Operation))
@pytest.mark.parametrize("state", list(JobState))
@pytest.mark.parametrize("restarts", [0, 1, 2])
@pytest.mark.parametrize("journal", [None, HELD_BY_US, READY, LET_GO, {A.CANCEL: SENT}], ids=str)
def test_some_row_always_applies(
    operation: Operation, state: JobState, restarts: int, journal: dict[Action, Doing] | None
) -> None:
    case = Case("any", "wait", "", job(state, restarts), operation, journal=journal)
    step = next_step(view_of(case))
    if state in {S.COMPLETED, S.CANCELLED, S.TIMEOUT, S.PREEMPTED, S.DEADLINE}:
        assert step.action is None, "nothing is done to a job that ended without a failure"


def test_only_commands_that_carry_on_need_no_advisor() -> None:
    carrying = {case.name for case in CASES if (step := next_step(view_of(case))).action and not step.begins}
    assert not {name for name in carrying if name.startswith(("hung", "failed", "stop", "requeued"))} - {
        "hung, marked, too late"
    }
    assert not any(name.startswith("release:") for name in carrying)


@pytest.mark.parametrize(
    ("excluded", "added", "wanted", "ours"),
    [
        ((), (), ("n03",), ("n03",)),
        (("n07",), (), ("n03", "n07"), ("n03",)),
        (("n03",), (), ("n03",), ()),
        (("n05", "n07"), ("n05",), ("n03", "n07"), ("n03",)),
        (("n03", "n07"), ("n03",), ("n03", "n07"), ("n03",)),
    ],
    ids=[
        "empty list",
        "the user's own stays",
        "the user's own is not ours",
        "ours of last time goes",
        "ours stays ours",
    ],
)
def test_the_users_exclusions_are_merged_with_ours(
    excluded: tuple[str, ...], added: tuple[str, ...], wanted: tuple[str, ...], ours: tuple[str, ...]
) -> None:
    view = view_of(Case("", "", "", held(mark=1), excluded=excluded, added=added))
    assert (view.wanted, view.ours) == (wanted, ours)


@pytest.mark.parametrize(
    ("shown", "journal", "proved"),
    [
        (job(S.FAILED), {A.REQUEUE_HOLD: SENT}, ()),
        (held(), {A.REQUEUE_HOLD: NO_ANSWER}, (A.REQUEUE_HOLD,)),
        (held(), {A.REQUEUE_HOLD: REFUSED}, ()),
        (held(), {A.REQUEUE_HOLD: PROVED}, ()),
        (job(S.RUNNING, mark=1), {A.MARK: SENT}, (A.MARK,)),
        (job(S.RUNNING, mark=0), {A.MARK: SENT}, ()),
        (held(mark=1), {**HELD_BY_US, A.MARK: SENT}, (A.MARK,)),
        (held(mark=1), {**MARKED_BY_US, A.RELEASE: SENT}, ()),
        (job(S.COMPLETING, 1), {**MARKED_BY_US, A.RELEASE: SENT}, ()),
        (job(S.PENDING, 1), {**MARKED_BY_US, A.RELEASE: SENT}, (A.RELEASE,)),
        (job(S.FAILED, 0), {A.RELEASE: SENT}, ()),
        (job(S.PENDING, 1, user="other"), {**MARKED_BY_US, A.RELEASE: SENT}, ()),
        (Missing.UNKNOWN, {**MARKED_BY_US, A.RELEASE: SENT}, ()),
    ],
)
def test_what_a_look_proves(
    shown: JobRow | Missing, journal: dict[Action, Doing], proved: tuple[Action, ...]
) -> None:
    assert proofs(view_of(Case("", "", "", shown, journal=journal))) == proved


def test_exclusions_are_proved_by_the_list_alone() -> None:
    journal = {**MARKED_BY_US, A.EXCLUSIONS: NO_ANSWER}
    assert proofs(view_of(Case("", "", "", held(mark=1), journal=journal))) == ()
    assert proofs(view_of(Case("", "", "", held(mark=1), excluded=OUT, journal=journal))) == (A.EXCLUSIONS,)


@pytest.mark.parametrize(
    ("attempt", "moved_seconds", "another"),
    [(0, 0, False), (0, 60, True), (0, -60, True), (1, 0, False), (1, 60, False), (1, -60, True)],
    ids=["same", "later", "earlier", "requeued, same", "requeued, moved once more", "requeued, earlier"],
)
def test_whose_number_it_is_by_its_submit_time(attempt: int, moved_seconds: int, another: bool) -> None:
    submitted = START - timedelta(hours=1)
    view = view_of(
        Case("", "", "", job(S.FAILED, attempt, submitted_at=submitted + timedelta(seconds=moved_seconds)))
    )
    view = replace(view, advice=replace(view.advice, attempt=attempt, submitted_at=submitted))
    assert view.another_job is another


def test_withdrawn_advice_is_abandoned_once_the_mark_is_off() -> None:
    step = withdrawn(view_of(Case("", "", "", job(S.RUNNING, mark=1), journal={A.MARK: PROVED})))
    assert step.action is Action.UNMARK and step.instead is not None and step.instead.reason is Reason.SUPERSEDED
    assert withdrawn(view_of(Case("", "", "", job(S.RUNNING)))).reason is Reason.SUPERSEDED
