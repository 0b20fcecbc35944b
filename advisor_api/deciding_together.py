"""What does one answer to several advices do? It holds for exactly those that were shown, as they were shown."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime

from advisor_api.models import Advice
from advisor_api.refusals import Bad, Refusal
from audit.trail import Actor

MOST = 50  # advices in one answer: what a person can have read
Answer = Callable[[Advice, int, str, Actor, datetime], Advice]
"""`approve` or `reject`."""


@dataclass(frozen=True)
class Shown:
    """One advice by its key, in the generation that the person saw."""

    advice: int
    generation: int


@dataclass(frozen=True)
class Answered:
    """What became of one of them: an empty `refusal` when it moved, else why it did not."""

    label: str
    refusal: str = ""


def answer_all(
    shown: Collection[Shown], answer: Answer, *, reason: str, actor: Actor, now: datetime
) -> tuple[Answered, ...]:
    """Give each advice of a frozen set the same answer, one by one; what came later is never touched (trap 29).

    One that has moved, expired or recovered since is refused with its sentence, and the others go on. Raises `Bad`
    for an empty set, one that is too large, or one that names an advice twice or that does not exist; then nothing
    was changed.
    """
    if not shown:
        raise Bad("Choose at least one advice.")
    if len(shown) > MOST:
        raise Bad(f"At most {MOST} advices are answered together.")
    if len({one.advice for one in shown}) < len(shown):
        raise Bad("An advice stands there twice.")
    rows = Advice.objects.select_related("attempt__job__cluster", "verdict", "sequence").defer("trace")
    found = rows.in_bulk([one.advice for one in shown])
    if len(found) < len(shown):
        raise Bad("An advice of these does not exist.")
    return tuple(_one(found[one.advice], one.generation, answer, reason, actor, now) for one in shown)


def _one(  # noqa: PLR0917  # what `Answer` takes
    advice: Advice, generation: int, answer: Answer, reason: str, actor: Actor, now: datetime
) -> Answered:
    try:
        answer(advice, generation, reason, actor, now)
    except Bad:
        raise
    except Refusal as refusal:
        return Answered(advice.attempt.label, str(refusal))
    return Answered(advice.attempt.label)
