"""What is the one next step for an advice, and what of the things we began does a look prove?

Nothing here acts, reads a clock or asks anybody.
"""

from dataclasses import replace

from controller.advice import Disposition, Operation, Reason
from controller.entries import Action
from controller.rows import Step, unmark
from controller.table import RUNS, TABLE
from controller.view import Missing, View
from schedulers.holds import persons_hold
from schedulers.states import JobState


def next_step(view: View) -> Step:
    """The step of the first row that applies; the last row of each operation always does."""
    row = next(row for row in TABLE if view.advice.operation in row.operations and row.applies(view))
    step = replace(row.step(view), row=row.name)
    return _tidy(view, step) if step.disposition else step


def proofs(view: View) -> tuple[Action, ...]:
    """Actions of the journal that this look proves, and that no earlier look has proved."""
    if isinstance(view.shown, Missing) or view.another_job:
        return ()
    restarted = view.ahead > 0
    free = view.state not in {JobState.HELD, JobState.COMPLETING}
    let_go = restarted and (free or persons_hold(view.row))  # a hold on top of ours shows ours
    shown = {
        Action.REQUEUE_HOLD: restarted,
        Action.MARK: view.marked if restarted else view.marked_ahead,
        Action.EXCLUSIONS: restarted and view.exclusions_stand,
        Action.RELEASE: let_go or (free and view.advice.operation is Operation.RELEASE),
        Action.RELAX: restarted and not {*(view.entry.ours if view.entry else ())} & view.excluded,
        Action.CANCEL: view.state is JobState.CANCELLED,
    }
    return tuple(a for a, proved in shown.items() if proved and view.doing(a).asked and not view.doing(a).seen_at)


def withdrawn(view: View) -> Step:
    """What to do with an advice that the Advisor lists no more and that has not begun to hold anything."""
    sentence = "the Advisor has withdrawn the advice"
    report = Step(sentence, disposition=Disposition.ABANDONED, reason=Reason.SUPERSEDED, row="withdrawn")
    return _tidy(view, report)


def _tidy(view: View, report: Step) -> Step:
    """Before a report our mark comes off a job that we do not hold, where the scheduler lets us."""
    if isinstance(view.shown, Missing) or view.another_job or view.comment.mark is None:
        return report
    changeable = view.state in {*RUNS, JobState.PENDING}
    if not changeable or view.spent(Action.UNMARK):
        return report
    return replace(unmark(view), row=f"{report.row}; our mark off first", instead=report)
