"""How is a step done, and who is told? Journal, then the Advisor, then the one command; later the milestones."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from controller.advice import Advice, Disposition
from controller.client import AdvisorError, Rejected
from controller.conditions import held, not_our_hold
from controller.entries import Action, Entry, Outcome
from controller.gates import Gate
from controller.means import Means
from controller.rows import START_AFTER, Step
from controller.view import Missing, View
from schedulers.port import Garbled, Refused, Scheduler, SchedulerError, Unreachable

OVERDUE = timedelta(minutes=1)  # after the end of a hold; a watchdog needs half of it
OLDEST_LOOK = 1.0  # seconds between the last look and the command (decisions 14)
OLDEST_INTENT = 5.0  # the same, when writing it down took long: far below what must be left of the lease
FINAL_REFUSALS = frozenset({400, 404, 409})  # saying it again would be answered alike

MILESTONES = {
    Action.REQUEUE_HOLD: "SLURM_REQUEUE_HOLD",
    Action.EXCLUSIONS: "SLURM_UPDATE_CONSTRAINTS",
    Action.RELEASE: "SLURM_RELEASE",
    Action.CANCEL: "SLURM_CANCEL",
}


class Hands:
    """Carries out steps. Raises `BadJournal` where the journal cannot be written, and has then done nothing."""

    def __init__(self, means: Means) -> None:
        self._scheduler = means.scheduler
        self._advisor = means.advisor
        self._journal = means.journal
        self._clock = means.clock
        self._standing = means.standing
        self._voice = means.voice
        self._overdue: set[tuple[str, int]] = set()  # told since this process began; the trail keeps one of each

    def act(self, view: View, step: Step, looked_at: float) -> bool:
        """Send the step's command; returns whether it may have had an effect, so that a look is due."""
        advice = view.advice
        action = step.action
        if action is None:
            raise ValueError("a step without a command")
        entry = self._journal.open_entry(advice)
        if not entry.announced and not self._announce(advice, step) and step.begins:
            return False
        if self._clock.monotonic() - looked_at > OLDEST_LOOK:
            return True  # announcing took its time: look again before the command
        ours = view.ours if action is Action.EXCLUSIONS and not entry.ours else ()
        self._journal.intend(advice, action, self._standing.now(), ours)
        if self._clock.monotonic() - looked_at > OLDEST_INTENT:
            # A slow disk, or a process that was stopped for a while: the lease may be somebody else's by now.
            late = "not sent: writing down the intent took too long"
            self._journal.answered(advice, action, Outcome.UNSENT, self._standing.now(), late)
            return True
        outcome, sentence = self._command(view, action, step)
        if action is Action.EXCLUSIONS and outcome is Outcome.REFUSED:
            outcome = self._without_unknown(advice, step)
        self._journal.answered(advice, action, outcome, self._standing.now(), sentence)
        if outcome is not Outcome.ACCEPTED:
            self._voice.say(f"{advice}: {action} is {outcome}: {sentence}")
        return outcome is not Outcome.UNSENT

    def _without_unknown(self, advice: Advice, step: Step) -> Outcome:
        """One unknown name makes Slurm refuse the whole list: the known ones alone are asked for next, if any."""
        try:
            known = {node.name for node in self._scheduler.nodes()}
        except SchedulerError:
            return Outcome.REFUSED
        unknown = tuple(sorted({*step.nodes} & {*advice.excluded_nodes} - known))
        if not unknown or {*unknown} >= {*advice.excluded_nodes}:
            return Outcome.REFUSED
        self._journal.unknown(advice, unknown, self._standing.now())
        payload = {"sentence": f"the scheduler does not know {','.join(unknown)}; only the others are excluded"}
        self._record(advice, "exclusions_refused", payload)
        return Outcome.UNSENT  # of the next list nothing was sent yet

    def tell_milestones(self, entry: Entry | None) -> bool:
        """Tell the Advisor which actions are proved, in their order; returns whether it knows all of them."""
        if entry is None:
            return True
        advice = entry.advice
        for action, name in MILESTONES.items():
            doing = entry.doing(action)
            done_at = doing.done_at or doing.seen_at
            if doing.told or doing.seen_at is None or done_at is None:
                continue
            key = f"{advice.sequence_id}:{name}:{advice.generation}"
            if not self._told(advice, partial(self._advisor.milestone, advice, name, key=key, done_at=done_at)):
                return False
            self._journal.told(advice, action, self._standing.now())
        return True

    def tell_overdue(self, view: View, gate: Gate) -> None:
        """Put on the trail, once, that what we may not release stays held: no watchdog does its work."""
        advice, late = view.advice, view.now - view.advice.hold_until
        ours = view.entry is not None and view.entry.holding and not isinstance(view.shown, Missing)
        if not ours or late < OVERDUE or not held(view) or not_our_hold(view) or advice.key in self._overdue:
            return
        sentence = (
            f"its hold ended {late.total_seconds():.0f} s ago, and no watchdog has let it go; "
            f"we may not ({gate.sentence}). `scontrol release {advice.job}` does"
        )
        self._overdue.add(advice.key)
        self._voice.say(f"{advice}: {sentence}")
        self._record(advice, "overdue", {"sentence": sentence})

    def report(self, view: View, step: Step) -> bool:
        """Say what became of the advice and close its entry; returns whether the Advisor knows."""
        advice, disposition, reason = view.advice, step.disposition, step.reason
        if disposition is None or reason is None:
            raise ValueError("a step without a report")
        if disposition is Disposition.ABANDONED:
            self._explain(advice, step)
        if not self._told(advice, partial(self._advisor.reconcile, advice, disposition, reason)):
            return False
        if advice.key in self._journal.entries:
            self._journal.finished(advice, self._standing.now(), reason.value)
        return True

    def _told(self, advice: Advice, tell: Callable[[], None]) -> bool:
        """Whether the Advisor took it, or will never take it."""
        if self._standing.gone:
            return False
        try:
            tell()
        except Rejected as error:
            self._voice.once((*advice.key, "refused"), f"{advice}: the Advisor does not take it: {error}")
            return error.status in FINAL_REFUSALS
        except AdvisorError as error:
            self._voice.once((*advice.key, "unheard"), f"{advice}: the Advisor did not hear it: {error}")
            return False
        return True

    def _announce(self, advice: Advice, step: Step) -> bool:
        """Put on the trail what we are about to begin; nothing is begun before that is durable (decisions 22)."""
        if self._standing.gone:
            return False
        key = f"{advice.sequence_id}:intent:{advice.generation}"
        payload = {"action": str(step.action), "sentence": step.sentence, "traceparent": advice.traceparent}
        try:
            self._advisor.record(advice, ("intent", "info"), payload, key=key, at=self._standing.now())
        except AdvisorError as error:
            self._voice.once(
                (*advice.key, "intent"), f"{advice}: nothing is begun, the intent could not be stored: {error}"
            )
            return False
        self._journal.announced(advice, self._standing.now())
        return True

    def _explain(self, advice: Advice, step: Step) -> None:
        """Put the sentence on the trail that a bounded reason cannot hold; nice to have."""
        self._record(advice, "abandoned", {"row": step.row, "sentence": step.sentence})

    def _record(self, advice: Advice, kind: str, payload: dict[str, str]) -> None:
        key = f"{advice.sequence_id}:{kind}:{advice.generation}"
        try:
            self._advisor.record(advice, (kind, "warning"), payload, key=key, at=self._standing.now())
        except AdvisorError as error:
            self._voice.once((*advice.key, "reason"), f"{advice}: the reason could not be stored: {error}")

    def _command(self, view: View, action: Action, step: Step) -> tuple[Outcome, str]:
        """Run the one command; what it answers proves nothing, except that it was refused or never sent."""
        try:
            send(self._scheduler, view, action, step)
        except Refused as error:
            return Outcome.REFUSED, error.reason
        except (Unreachable, Garbled) as error:
            return Outcome.UNSENT, error.reason
        except SchedulerError as error:
            return Outcome.UNCLEAR, error.reason
        return Outcome.ACCEPTED, ""


def send(scheduler: Scheduler, view: View, action: Action, step: Step) -> None:
    """Send the one command of a step, in place of what the look showed. Raises `SchedulerError`."""
    job = view.advice.job
    if action is Action.REQUEUE_HOLD:
        scheduler.requeue_hold(job, running=step.running)
    elif action in {Action.MARK, Action.UNMARK}:
        scheduler.mark(job, step.text, instead_of=view.row.admin_comment)
    elif action in {Action.EXCLUSIONS, Action.RELAX}:
        scheduler.update_exclusions(job, step.nodes, instead_of=view.excluded)
    elif action is Action.START:
        scheduler.start_after(job, START_AFTER)
    elif action is Action.RELEASE:
        scheduler.release(job, ours=not step.begins)
    else:
        scheduler.cancel(job)
