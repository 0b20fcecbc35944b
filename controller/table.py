"""Which step follows from what is seen? The state machine: the first row that applies wins, the last always does.

Level-triggered: what the scheduler shows now decides, and the journal only says which of it is our own doing.
"""

from controller import conditions as on
from controller import rows as do
from controller.advice import Operation, Reason
from controller.conditions import following, held, later, no, same, seen, since, spent, unsettled, waiting, within
from controller.entries import Action
from controller.rows import Row
from controller.view import Missing
from schedulers.states import FAILURES, FINAL, JobState

RESTART = frozenset({Operation.RESTART})
TERMINATE = frozenset({Operation.TERMINATE})
RELEASE = frozenset({Operation.RELEASE})
ANY = RESTART | TERMINATE | RELEASE

NO_FAILURE = (JobState.TIMEOUT, JobState.DEADLINE, JobState.PREEMPTED)
RUNS = (JobState.RUNNING, JobState.CONFIGURING, JobState.SUSPENDED)
HOLD, MARK, EXCLUSIONS = Action.REQUEUE_HOLD, Action.MARK, Action.EXCLUSIONS
LET_GO, UNMARK, CANCEL = Action.RELEASE, Action.UNMARK, Action.CANCEL
START, RELAX = Action.START, Action.RELAX
REFUSED, CLOSED, EXPIRED = Reason.REFUSED_BY_SCHEDULER, Reason.GATE_CLOSED, Reason.ADVICE_EXPIRED
CANCELLED, SUPERSEDED, GONE = Reason.CANCELLED_BY_USER, Reason.SUPERSEDED, Reason.JOB_GONE

# fmt: off
SIGHT = (
    Row(ANY, "the scheduler cannot be seen", lambda v: v.shown is Missing.UNKNOWN,
        do.wait("the scheduler cannot be seen")),
    Row(TERMINATE, "cancelled by us, and gone", lambda v: v.shown is Missing.GONE and on.asked(CANCEL)(v),
        do.converged(CANCEL, "it is cancelled and purged")),
    Row(ANY, "gone", lambda v: v.shown is Missing.GONE,
        do.abandon(GONE, "the scheduler does not know the job any more")),
    Row(ANY, "the number belongs to another job", lambda v: v.another_job,
        do.abandon(GONE, "the number belongs to another submission now")),
    Row(ANY, "a state nobody understands", within(JobState.UNKNOWN),
        do.wait("its state is {word}, which is not understood")),
)

NOT_YET_RESTARTED = (
    Row(RESTART, "not a job that is restarted", same(on.unrestartable), do.unrestartable_report),
    Row(RESTART, "completed", same(within(JobState.COMPLETED)),
        do.abandon(Reason.ALREADY_SATISFIED, "it has completed, and nothing is left to restart")),
    Row(RESTART, "cancelled", same(within(JobState.CANCELLED)), do.abandon(CANCELLED, "it was cancelled")),
    Row(RESTART, "ended, but not by a failure", same(within(*NO_FAILURE)),
        do.abandon(CLOSED, "it ended with {word}, which is no failure to repair")),
    Row(RESTART, "its own node list demands an excluded node", same(on.demands_excluded),
        do.abandon(REFUSED, "its own node list demands a node that should be excluded")),
    Row(RESTART, "no room for our mark", same(on.no_room_for_mark),
        do.abandon(REFUSED, "its AdminComment is too long to put our mark in front, and nothing is held unmarked")),
    Row(RESTART, "the hold may still take effect", same(unsettled(HOLD)), do.settling(HOLD)),
    Row(RESTART, "the hold is refused", same(spent(HOLD)), do.not_done(HOLD)),
    Row(RESTART, "expired before anything was held", same(on.expired),
        do.abandon(EXPIRED, "the advice expired before anything was held")),
    Row(RESTART, "a person's hold on it", same(within(*FAILURES, JobState.RUNNING), on.on_hold_while_live),
        do.abandon(CLOSED, "somebody put a hold on it while it ran, which is not ours to release")),
    Row(RESTART, "failed", same(within(*FAILURES)), do.requeue(running=False)),
    Row(RESTART, "still ending", same(on.ending), do.wait("it is still ending")),
    Row(RESTART, "running, marked", same(on.running, lambda v: v.marked_ahead), do.requeue(running=True)),
    Row(RESTART, "running, a person took the mark off", same(on.running, seen(MARK)),
        do.abandon(CLOSED, "somebody took our mark off")),
    Row(RESTART, "running, the mark may still appear", same(on.running, unsettled(MARK)), do.settling(MARK)),
    Row(RESTART, "running, the mark is refused", same(on.running, spent(MARK)), do.not_done(MARK)),
    Row(RESTART, "running, not yet marked", same(on.running), do.mark_ahead),
    Row(RESTART, "neither running nor failed", same(),
        do.wait("it is {word}; nothing is done before it runs or has failed")),
)

HELD = (
    Row(RESTART, "an operator keeps it", since(held, on.kept), do.abandon(CLOSED, "an operator keeps it held")),
    Row(RESTART, "special exit", since(held, lambda v: v.row.word == "SPECIAL_EXIT"),
        do.abandon(CLOSED, "it asked for a special exit and waits for a person")),
    Row(RESTART, "held by somebody else, our mark still on",
        since(held, on.not_our_hold, on.still_marked, no(spent(UNMARK))), do.unmark),
    Row(RESTART, "marked by us, requeued and held by a person", since(held, on.only_marked),
        do.abandon(CLOSED, "somebody requeued and held it before we did, so it stays held ({why})")),
    Row(RESTART, "let go by somebody, then held by a person",
        since(on.held_by_person, no(on.let_go), on.asked(HOLD)),
        do.abandon(CLOSED, "somebody let it go and holds it since, so it stays held ({why})")),
    Row(RESTART, "held by the scheduler since we held it",
        since(on.held_by_scheduler, no(on.let_go), on.asked(HOLD)),
        do.abandon(CLOSED, "the scheduler itself holds it since, so it stays held ({why})")),
    Row(RESTART, "a crash of the scheduler brought hold and mark back",
        since(held, on.marked, on.let_go, on.asked(UNMARK), no(spent(LET_GO))), do.release),
    Row(RESTART, "let go, then held by a person, our mark still on",
        since(held, on.let_go, on.still_marked, no(spent(UNMARK))), do.unmark),
    Row(RESTART, "let go, then held by a person", following(held, on.let_go),
        do.converged(HOLD, "it was restarted, and somebody holds it now ({why})")),
    Row(RESTART, "mark and exclusions lost in a crash of the scheduler",
        following(held, on.lost_with_exclusions, no(unsettled(MARK)), no(spent(MARK))), do.mark),
    Row(RESTART, "a person took the mark off", following(held, on.mark_vanished),
        do.abandon(CLOSED, "somebody took our mark off, so it stays held; `scontrol release` lets it go")),
    Row(RESTART, "ours, the mark may still appear", since(held, no(on.marked), on.by_journal, unsettled(MARK)),
        do.settling(MARK)),
    Row(RESTART, "ours, not yet marked", since(held, no(on.marked), on.by_journal, no(spent(MARK))), do.mark),
    Row(RESTART, "ours, not to be marked, the exclusions may still appear",
        following(on.unmarkable, no(on.exclusions_stand), unsettled(EXCLUSIONS)), do.settling(EXCLUSIONS)),
    Row(RESTART, "ours, not to be marked, exclusions to be set",
        following(on.unmarkable, no(on.exclusions_stand), no(spent(EXCLUSIONS))), do.exclude),
    Row(RESTART, "ours, not to be marked, the release may still take effect",
        since(on.unmarkable, unsettled(LET_GO)), do.settling(LET_GO)),
    Row(RESTART, "ours, not to be marked, the release is refused", since(on.unmarkable, spent(LET_GO)),
        do.wait("our mark and the release are refused; the watchdog tries again when the hold ends")),
    Row(RESTART, "ours, not to be marked", since(on.unmarkable), do.release_unmarked),
    Row(RESTART, "somebody else's hold", following(held, no(on.marked)),
        do.abandon(CLOSED, "it is held, and not by us ({why})")),
    Row(RESTART, "ours, the exclusions may still appear",
        following(held, no(on.exclusions_stand), unsettled(EXCLUSIONS)), do.settling(EXCLUSIONS)),
    Row(RESTART, "ours, exclusions to be set", following(held, no(on.exclusions_stand), no(spent(EXCLUSIONS))),
        do.exclude),
    Row(RESTART, "ours, not yet to be released", following(held, lambda v: v.now < v.let_go_at), do.until_release),
    Row(RESTART, "ours, the release may still take effect", since(held, on.marked, unsettled(LET_GO)),
        do.settling(LET_GO)),
    Row(RESTART, "ours, the release is refused", since(held, on.marked, spent(LET_GO)),
        do.wait("the release is refused; the watchdog tries again when the hold ends")),
    Row(RESTART, "ours, ready", following(held), do.release),
    Row(RESTART, "collision, held by us", later(held, on.marked, on.by_journal), do.release),
)

AFTER_RELEASE = (
    Row(RESTART, "too few nodes without ours, that was refused", following(on.given_up_by_scheduler, spent(RELAX)),
        do.not_done(RELAX)),
    Row(RESTART, "too few nodes without ours, that may still take effect",
        following(on.given_up_by_scheduler, unsettled(RELAX)), do.settling(RELAX)),
    Row(RESTART, "too few nodes without ours", following(on.given_up_by_scheduler, on.ours_excluded), do.relax),
    Row(RESTART, "restarted without exclusions", following(on.asked(RELAX)),
        do.abandon(REFUSED, "it is restarted, without exclusions: too few nodes were left ({word})")),
    Row(RESTART, "waits for nothing",
        following(waiting, on.let_go, on.asked(HOLD), on.waits_for_nothing, no(on.asked(START)), no(spent(START))),
        do.start_soon),
    Row(RESTART, "whether its nodes suffice is not yet known",
        following(waiting, on.ours_excluded, on.exclusions_stand, on.not_yet_considered), do.until_considered),
)

RESTARTED = (
    Row(RESTART, "restarted, still ending", following(on.ending, no(on.let_go)),
        do.wait("its last attempt is still ending")),
    Row(RESTART, "cancelled before it ran again",
        following(within(JobState.CANCELLED), no(on.asked(LET_GO))),
        do.abandon(CANCELLED, "it was cancelled before it ran again")),
    Row(RESTART, "waiting, but expired", following(waiting, no(on.exclusions_stand), on.expired, no(on.begun)),
        do.abandon(EXPIRED, "the advice expired before its nodes were excluded")),
    Row(RESTART, "waiting, its own node list demands an excluded node",
        following(waiting, no(on.exclusions_stand), on.demands_excluded),
        do.abandon(REFUSED, "its own node list demands a node that should be excluded")),
    Row(RESTART, "waiting, the exclusions may still appear",
        following(waiting, no(on.exclusions_stand), unsettled(EXCLUSIONS)), do.settling(EXCLUSIONS)),
    Row(RESTART, "waiting, exclusions to be set",
        following(waiting, no(on.exclusions_stand), no(spent(EXCLUSIONS))), do.exclude),
    Row(RESTART, "waiting, the exclusions are refused", following(waiting, no(on.exclusions_stand)),
        do.not_done(EXCLUSIONS)),
    Row(RESTART, "restarted, and somebody took our exclusions off", following(on.taken_off),
        do.abandon(CLOSED, "it is restarted ({word}); somebody took our nodes off its list, where they stay off")),
    Row(RESTART, "restarted on an excluded node", following(on.runs_on_excluded),
        do.abandon(REFUSED, "it was restarted on a node that should be excluded")),
    Row(RESTART, "restarted", following(), do.converged(HOLD, "it is restarted, and not held by us ({word})")),
    Row(RESTART, "collision, still ending", later(on.ending, on.by_journal),
        do.wait("its last attempt is still ending")),
    Row(RESTART, "restarted by us, and by others since", later(on.restarted_by_us_first),
        do.converged(HOLD, "it was restarted, and others have restarted it since")),
    Row(RESTART, "collision", later(),
        do.abandon(SUPERSEDED, "somebody else restarted it too: it has {restarts} restarts")),
)

STOP = (
    Row(TERMINATE, "restarted since", since(),
        do.abandon(SUPERSEDED, "it was restarted since, and the advice is about the attempt before")),
    Row(TERMINATE, "stopped", within(*FINAL), do.converged(CANCEL, "it is stopped ({word})")),
    Row(TERMINATE, "more than one job", lambda v: on.whole_array(v) or on.heterogeneous(v),
        do.abandon(REFUSED, "arrays as a whole and heterogeneous jobs are not stopped")),
    Row(TERMINATE, "still ending", on.ending, do.wait("it is still ending")),
    Row(TERMINATE, "the cancel may still take effect", unsettled(CANCEL), do.settling(CANCEL)),
    Row(TERMINATE, "the cancel is refused", spent(CANCEL), do.not_done(CANCEL)),
    Row(TERMINATE, "expired", on.expired, do.abandon(EXPIRED, "the advice expired before the job was stopped")),
    Row(TERMINATE, "runs", within(JobState.RUNNING, JobState.CONFIGURING), do.cancel),
    Row(TERMINATE, "does not run", on.always, do.wait("it is {word} and does not run")),
)

LET_SUCCESSOR_GO = (
    Row(RELEASE, "restarted since", since(),
        do.abandon(SUPERSEDED, "it was restarted since, and the advice is about the attempt before")),
    Row(RELEASE, "cancelled", within(JobState.CANCELLED), do.abandon(CANCELLED, "it was cancelled")),
    Row(RELEASE, "not held", no(held), do.converged(LET_GO, "it is not held ({word})")),
    Row(RELEASE, "let go, then held by a person", on.let_go,
        do.converged(LET_GO, "it was released, and somebody holds it now ({why})")),
    Row(RELEASE, "kept, or no successor", lambda v: on.kept(v) or not on.successor(v),
        do.abandon(CLOSED, "it is held, and its comment does not let us release it ({why})")),
    Row(RELEASE, "held by an administrator", on.held_by_administrator,
        do.abandon(CLOSED, "an administrator holds it ({why}), and its comment speaks for its user alone")),
    Row(RELEASE, "the release may still take effect", unsettled(LET_GO), do.settling(LET_GO)),
    Row(RELEASE, "the release is refused", spent(LET_GO), do.not_done(LET_GO)),
    Row(RELEASE, "expired", on.expired, do.abandon(EXPIRED, "the advice expired before the job was released")),
    Row(RELEASE, "not yet", lambda v: v.now < v.advice.not_before, do.until_wanted),
    Row(RELEASE, "held", on.always, do.release_for_its_user),
)
# fmt: on

TABLE = SIGHT + NOT_YET_RESTARTED + AFTER_RELEASE + HELD + RESTARTED + STOP + LET_SUCCESSOR_GO
