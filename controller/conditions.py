"""When does a row of the table apply? Each condition is a question about one view; some are built from others."""

from collections.abc import Callable
from datetime import timedelta

from controller.entries import Action
from controller.mark import MOST_FOREIGN
from controller.view import View
from schedulers.holds import BY_ADMINISTRATOR, persons_hold, schedulers_hold
from schedulers.states import FINAL, LIVE, JobState

Test = Callable[[View], bool]

A_SECOND = timedelta(seconds=1)
WORTH_SHORTENING = timedelta(seconds=5)  # of a wait; we could make it three
CONSIDERED = timedelta(seconds=15)  # after its time to begin; Slurm's two schedulers look every few seconds


def always(view: View) -> bool:
    """The last row of an operation."""
    return True


def same(*tests: Test) -> Test:
    """The attempt of the advice: nothing was restarted yet."""
    return lambda view: view.ahead == 0 and all(test(view) for test in tests)


def following(*tests: Test) -> Test:
    """The attempt after it: restarted exactly once."""
    return lambda view: view.ahead == 1 and all(test(view) for test in tests)


def later(*tests: Test) -> Test:
    """Restarted twice or more: somebody else restarted it too."""
    return lambda view: view.ahead > 1 and all(test(view) for test in tests)


def since(*tests: Test) -> Test:
    """Restarted at all."""
    return lambda view: view.ahead > 0 and all(test(view) for test in tests)


def within(*states: JobState) -> Test:
    """In one of these states."""
    return lambda view: view.state in states


def no(test: Test) -> Test:
    """The opposite."""
    return lambda view: not test(view)


def unsettled(action: Action) -> Test:
    """A command may still take effect."""
    return lambda view: view.unsettled(action)


def spent(action: Action) -> Test:
    """A command was refused, or tried often enough."""
    return lambda view: view.spent(action)


def asked(action: Action) -> Test:
    """A command may have reached the scheduler."""
    return lambda view: view.doing(action).asked


def seen(action: Action) -> Test:
    """An earlier look proved it."""
    return lambda view: view.doing(action).seen_at is not None


def held(view: View) -> bool:
    """It waits with priority 0, whoever holds it."""
    return view.state is JobState.HELD


def waiting(view: View) -> bool:
    """It waits, and nobody holds it."""
    return view.state is JobState.PENDING


def running(view: View) -> bool:
    """It runs."""
    return view.state is JobState.RUNNING


def ending(view: View) -> bool:
    """It is completing; after a requeue that is still the last attempt."""
    return view.state is JobState.COMPLETING


def marked(view: View) -> bool:
    """It carries our mark for this restart count."""
    return view.marked


def by_journal(view: View) -> bool:
    """Our journal says that this hold is ours."""
    return view.held_by_journal


def unmarkable(view: View) -> bool:
    """We hold it by our journal alone: our mark was refused, or never appeared."""
    return held(view) and view.held_by_journal and not view.marked and view.spent(Action.MARK)


def let_go(view: View) -> bool:
    """Our release took effect once."""
    return view.let_go


def kept(view: View) -> bool:
    """An operator keeps it."""
    return view.kept


def still_marked(view: View) -> bool:
    """Some mark of ours is on it."""
    return view.comment.mark is not None


def on_hold_while_live(view: View) -> bool:
    """Somebody held it while it ran: its next requeue comes out held for him. Seen on a real Slurm: the priority
    stays 0 when such a job has failed, and is never 0 otherwise."""
    return view.row.priority == 0


def no_room_for_mark(view: View) -> bool:
    """Its AdminComment is so long that our mark has no place in front of it."""
    return len(view.comment.foreign.encode("utf-8", "replace")) > MOST_FOREIGN


def held_by_person(view: View) -> bool:
    """A person's hold, whatever our mark says: somebody let the job go, and holds it since."""
    return persons_hold(view.row)


def held_by_administrator(view: View) -> bool:
    """An administrator's hold, which the job's user could not undo."""
    return held_by_person(view) and view.row.reason == BY_ADMINISTRATOR


def held_by_scheduler(view: View) -> bool:
    """The scheduler's own hold, whatever our mark says: its reservation ended, or a launch failed."""
    return schedulers_hold(view.row)


def only_marked(view: View) -> bool:
    """Our journal says that we marked it ahead and never asked for the hold: whoever requeued it, it was not we."""
    return view.entry is not None and view.entry.only_marked


def not_our_hold(view: View) -> bool:
    """Held by somebody else, in spite of our mark."""
    return held_by_person(view) or held_by_scheduler(view) or only_marked(view)


def taken_off(view: View) -> bool:
    """Somebody took nodes of ours off its list after they had stood there."""
    return view.taken_off


def exclusions_stand(view: View) -> bool:
    """Its exclusions are as they should be."""
    return view.exclusions_stand


def waits_for_nothing(view: View) -> bool:
    """The scheduler lets it wait as it lets every requeued job wait, for longer than there is a reason to.

    Somebody who gave it another time to begin meant that time.
    """
    begins, requeued, wait = view.row.eligible_at, view.row.submitted_at, view.requeue_wait
    if begins is None or requeued is None or wait is None:
        return False
    own = -WORTH_SHORTENING <= begins - (requeued + wait) <= A_SECOND
    return own and begins - view.now > WORTH_SHORTENING


def ours_excluded(view: View) -> bool:
    """Nodes that we put on its list stand there."""
    return view.entry is not None and bool({*view.entry.ours} & view.excluded)


def given_up_by_scheduler(view: View) -> bool:
    """The scheduler finds that no nodes can ever satisfy it; on Slurm its priority is 0 until its list changes."""
    return view.row.reason == "BadConstraints"


def not_yet_considered(view: View) -> bool:
    """It waits for its time to begin, or that has just come: nobody knows yet whether its nodes suffice."""
    begins = view.row.eligible_at
    undecided = view.row.reason in {"", "None", "BeginTime"}
    return undecided and begins is not None and view.now < begins + CONSIDERED


def expired(view: View) -> bool:
    """Too late to begin."""
    return view.now >= view.advice.expires_at


def begun(view: View) -> bool:
    """Some command of ours may have reached the scheduler."""
    return view.entry is not None and view.entry.begun


def mark_vanished(view: View) -> bool:
    """We saw our mark on this job, and it is not there any more."""
    return not view.marked and view.doing(Action.MARK).seen_at is not None


def lost_with_exclusions(view: View) -> bool:
    """Mark and exclusions vanished together: a crash of the scheduler loses both, a person takes the mark off."""
    stood = view.doing(Action.EXCLUSIONS).seen_at is not None and view.entry is not None and view.entry.ours
    return mark_vanished(view) and bool(stood) and view.excluded.isdisjoint(view.entry.ours if view.entry else ())


def whole_array(view: View) -> bool:
    """The number stands for many tasks (traps 17)."""
    return view.whole_array


def heterogeneous(view: View) -> bool:
    """One of several jobs that only live together."""
    return view.row.het_leader is not None


def unrestartable(view: View) -> bool:
    """A job that is never requeued."""
    return heterogeneous(view) or view.whole_array or not view.row.batch or not view.row.requeue_allowed


def demands_excluded(view: View) -> bool:
    """It asks for a node that should be excluded: it would never start again (slurm: --nodelist)."""
    return not {*view.row.required_nodes}.isdisjoint(view.advice.excluded_nodes)


def runs_on_excluded(view: View) -> bool:
    """It runs or ran on a node that should be excluded, and the exclusion does not stand."""
    missing = {*view.advice.excluded_nodes} - view.excluded
    return view.state in LIVE | FINAL and not missing.isdisjoint(view.row.nodes)


def successor(view: View) -> bool:
    """It asked to be let go after its predecessor."""
    return view.singleton_successor


def restarted_by_us_first(view: View) -> bool:
    """Our restart was the first one after the attempt, and it was let go."""
    first = view.doing(Action.REQUEUE_HOLD).seen_restarts
    return view.let_go and first == view.advice.attempt + 1
