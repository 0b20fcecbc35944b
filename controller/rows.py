"""What can a next step be? The steps that the rows of `controller/table.py` give."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from controller.advice import Disposition, Operation, Reason
from controller.entries import Action
from controller.mark import with_mark
from controller.view import SETTLE, Missing, View


@dataclass(frozen=True)
class Step:
    """The one thing to do: a command (`action`), a report (`disposition`, `reason`), or, with neither, to wait.

    `begins`: it starts something new, so every gate must be open; other commands carry on what we hold already.
    `again_at`: a wait that ends at a known time. `instead`: the report to make when this command may not be given.
    """

    sentence: str
    action: Action | None = None
    text: str = ""
    nodes: tuple[str, ...] = ()
    running: bool = False
    begins: bool = False
    disposition: Disposition | None = None
    reason: Reason | None = None
    again_at: datetime | None = None
    instead: "Step | None" = None
    row: str = ""


START_AFTER = 3  # seconds by the scheduler's clock, which counts whole ones: never less than two (slurm: trap 2)
Test = Callable[[View], bool]
Make = Callable[[View], Step]


@dataclass(frozen=True)
class Row:
    """One row: for which operations, its name, when it applies, and the step it gives."""

    operations: frozenset[Operation]
    name: str
    applies: Test
    step: Make


def wait(sentence: str) -> Make:
    """Do nothing now. A sentence may hold {word}, {why} and {restarts} of what the scheduler shows."""
    return lambda view: Step(filled(sentence, view))


def settling(action: Action) -> Make:
    """Wait until a command that was sent has had its time."""

    def step(view: View) -> Step:
        at = view.doing(action).at
        return Step(f"{action} was sent a moment ago; looking what became of it", again_at=at and at + SETTLE)

    return step


def abandon(reason: Reason, sentence: str) -> Make:
    """Report that the desired state cannot be reached any more."""
    return lambda view: Step(filled(sentence, view), disposition=Disposition.ABANDONED, reason=reason)


def converged(action: Action, sentence: str) -> Make:
    """Report that it is reached: by us if `action` was asked for, else it was so already."""

    def step(view: View) -> Step:
        ours = view.doing(action).asked
        reason = Reason.DESIRED_STATE_OBSERVED if ours else Reason.ALREADY_SATISFIED
        return Step(filled(sentence, view), disposition=Disposition.CONVERGED, reason=reason)

    return step


def not_done(action: Action) -> Make:
    """Report that the scheduler refuses a command, or does not carry it out."""

    def step(view: View) -> Step:
        doing = view.doing(action)
        said = doing.sentence or f"{doing.tries} times asked, and nothing happened"
        sentence = f"the scheduler did not carry out {action}: {said}"
        return Step(sentence, disposition=Disposition.ABANDONED, reason=Reason.REFUSED_BY_SCHEDULER)

    return step


def unrestartable_report(view: View) -> Step:
    """Report why this job is never requeued."""
    row = view.row
    reasons = (
        (row.het_leader is not None, "heterogeneous jobs are not restarted"),
        (view.whole_array, "the number stands for a whole array, only its tasks are restarted"),
        (not row.batch, "only batch jobs can be requeued"),
        (True, "its user forbade requeueing (--no-requeue)"),
    )
    sentence = next(sentence for applies, sentence in reasons if applies)
    return Step(sentence, disposition=Disposition.ABANDONED, reason=Reason.REFUSED_BY_SCHEDULER)


def requeue(*, running: bool) -> Make:
    """Requeue in held state."""
    return lambda view: Step(
        f"requeue and hold: {view.advice.reason or 'as advised'}",
        action=Action.REQUEUE_HOLD,
        running=running,
        begins=True,
    )


def mark(view: View) -> Step:
    """Mark the hold that we have."""
    return _mark(view, view.row.restarts, "mark it")


def mark_ahead(view: View) -> Step:
    """Mark a running job for the restart count that our requeue will give it (decisions 11)."""
    why = view.advice.reason or "as advised"
    return replace(_mark(view, view.row.restarts + 1, f"mark it, then requeue and hold it: {why}"), begins=True)


def unmark(view: View) -> Step:
    """Take our part out of the AdminComment."""
    return Step("take our mark off", action=Action.UNMARK, text=view.comment.foreign)


def exclude(view: View) -> Step:
    """Set the job's exclusions; on a job that others restarted that is something new."""
    nodes = ",".join(view.wanted) or "none"
    begins = not (view.held_by_journal or view.marked or view.doing(Action.REQUEUE_HOLD).asked)
    return Step(f"exclude nodes: {nodes}", action=Action.EXCLUSIONS, nodes=view.wanted, begins=begins)


def release(view: View) -> Step:
    """Let go what we hold."""
    return Step("release it", action=Action.RELEASE)


def start_soon(view: View) -> Step:
    """Do not let a requeued job wait for nothing; where we may not, it waits and all else is done."""
    begins = view.row.eligible_at
    why = f"it would wait until {begins:%Y-%m-%dT%H:%M:%SZ}, as every requeued job does" if begins else "it waits"
    return Step(
        f"let it begin in {START_AFTER} s: {why}",
        action=Action.START,
        instead=converged(Action.REQUEUE_HOLD, f"it is restarted, and {why}")(view),
    )


def until_considered(view: View) -> Step:
    """Wait until the scheduler has looked for nodes."""
    begins = view.row.eligible_at
    sentence = "restarted; waiting to see that enough nodes are left"
    if begins is None or begins <= view.now:
        return Step(sentence)
    return Step(f"{sentence}; it may begin at {begins:%Y-%m-%dT%H:%M:%SZ}", again_at=begins)


def relax(view: View) -> Step:
    """Take our exclusions back: a job on too few nodes is worse off than one on a node that may be bad."""
    gone = ",".join(sorted(view.excluded - {*view.without_ours}))
    sentence = f"exclude {gone} no more: the scheduler finds too few nodes without them"
    return Step(sentence, action=Action.RELAX, nodes=view.without_ours)


def release_unmarked(view: View) -> Step:
    """Let go at once what only our journal knows to be ours: nobody else could tell, so nobody else would."""
    said = view.doing(Action.MARK).sentence or "the mark never appeared"
    return Step(f"release it at once, because it cannot be marked as ours ({said})", action=Action.RELEASE)


def release_for_its_user(view: View) -> Step:
    """Let go what its user holds until a predecessor is done (decisions 15)."""
    return Step("release it", action=Action.RELEASE, begins=True)


def cancel(view: View) -> Step:
    """Cancel the job."""
    return Step(f"cancel: {view.advice.reason or 'as advised'}", action=Action.CANCEL, begins=True)


def until_release(view: View) -> Step:
    """Wait for the moment of the release."""
    return Step(f"held by us until {view.let_go_at:%Y-%m-%dT%H:%M:%SZ}", again_at=view.let_go_at)


def until_wanted(view: View) -> Step:
    """Wait for the moment that the advice names."""
    return Step("the advice is for later", again_at=view.advice.not_before)


def filled(sentence: str, view: View) -> str:
    """The sentence with the scheduler's words in it."""
    if isinstance(view.shown, Missing):
        return sentence
    row = view.row
    return sentence.format(word=row.word, why=row.reason or "no reason given", restarts=row.restarts)


def _mark(view: View, restarts: int, sentence: str) -> Step:
    ours = view.mark_for(restarts)
    return Step(f"{sentence} ({ours})", action=Action.MARK, text=with_mark(ours, view.comment.foreign))
