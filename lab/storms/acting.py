"""How does an event of a run come about? Deaths, clocks, lost answers and people's; the rest is done outside."""

from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from advisor_api.approving import approve
from advisor_api.models import Advice
from advisor_api.policy.advice_state import AdviceState
from advisor_api.refusals import Refusal
from audit.actor_kind import ActorKind
from audit.trail import Actor
from lab.simulate.jobs import SUSPENDED
from lab.simulate.model import Cluster
from lab.simulate.outside import act
from lab.storms.checking import Checker
from lab.storms.drawing import Plan
from lab.storms.hazards import Event
from lab.storms.holding import Holds
from lab.storms.hushing import Hush
from lab.virtual.fate import CONTROLLER, WATCHDOG, Doom
from lab.virtual.hands import Hands

PERSON = Actor(ActorKind.PERSON, "storm")
TOUCHING = frozenset({"node_down", "suspend", "requeue", "foreign_requeue", "cancel"})
HUSHING = {"logs_stop": Hush.begin, "logs_start": Hush.end}
HOLDING = frozenset({"hold", "user_hold", "release", "foreign_requeue"})


class Struck(Protocol):
    """A run (`running.Run`) as its events see it."""

    plan: Plan
    cluster: Cluster
    numbers: list[int]
    touched: set[tuple[int, int]]
    checker: Checker
    holds: Holds

    @property
    def hands(self) -> Hands:
        """Controller and watchdog."""

    @property
    def forget_dues(self) -> Callable[[], None]:
        """What was due by the clock is asked for anew."""

    def doom(self, part: str, doom: Doom, down: float) -> None:
        """Somebody of this cluster will die, and stay away for `down` seconds."""


def happen(run: Struck, event: Event) -> None:
    """Let it come about. Raises `NotDone` for what cannot be done now."""
    if own := OWN.get(event.do):
        own(run, event)
        return
    before = set(run.cluster.nodes[event.words[0]].jobs) if event.do.startswith("node_") else set()
    deed = act(run.cluster, event.do, event.words, run.numbers)
    if event.do in HUSHING:
        HUSHING[event.do](run.checker.hush, run.checker.clock.seconds)
    for number in before | set(deed.jobs):
        job = run.cluster.jobs.get(number)
        if job is None:  # forgotten since
            continue
        if event.do in TOUCHING:
            run.touched |= {(number, job.restarts), (number, job.restarts - 1)}
        if event.do in HOLDING:
            run.holds.forget(number)
        if event.do == "suspend" and job.state == SUSPENDED:
            run.touched.add((number, job.restarts))


def _doom_of(event: Event) -> Doom:
    kind, count, when, *_ = event.words
    return Doom(frozenset({kind}), int(count), when)


def _kill_controller(run: Struck, event: Event) -> None:
    run.doom(CONTROLLER, _doom_of(event), float(event.words[3]))


def _kill_watchdog(run: Struck, event: Event) -> None:
    run.doom(WATCHDOG, _doom_of(event), float(event.words[3]))


def _lose_answer(run: Struck, event: Event) -> None:
    run.checker.lose = True


def _clock_scheduler(run: Struck, event: Event) -> None:
    run.holds.start_again()  # what was expected until now still counts
    run.cluster.set_clock(float(event.words[0]))


def _clock_controller(run: Struck, event: Event) -> None:
    run.hands.clock.ahead = float(event.words[0])


def _approve(run: Struck, event: Event) -> None:
    """Somebody says yes to everything that waits for him."""
    waiting = Advice.objects.filter(
        attempt__job__cluster__name=run.plan.name, state=AdviceState.AWAITING_APPROVAL.value
    )
    for advice in waiting.select_related("attempt__job__cluster", "verdict").order_by("pk"):
        with suppress(Refusal):
            approve(advice, advice.generation, "a storm", PERSON, run.checker.clock.now())
            run.checker.approved.add(advice.pk)
    run.forget_dues()


OWN: dict[str, Callable[[Struck, Event], None]] = {
    "kill_controller": _kill_controller,
    "kill_watchdog": _kill_watchdog,
    "lose_answer": _lose_answer,
    "clock_scheduler": _clock_scheduler,
    "clock_controller": _clock_controller,
    "approve": _approve,
}
