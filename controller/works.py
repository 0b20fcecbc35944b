"""What is there to look after? What was begun in the journal, and what else the Advisor lists."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from controller.advice import Advice
from controller.entries import Entry

Key = tuple[str, int]


@dataclass(frozen=True)
class Work:
    """One advice to look after: listed by the Advisor, begun in the journal, or both."""

    advice: Advice
    entry: Entry | None
    listed: bool


def works_of(listed: Iterable[Advice], entries: Mapping[Key, Entry], looked_at: Mapping[Key, float]) -> list[Work]:
    """What was begun, then what else is listed; in both first what was not looked at for longest."""
    said = {advice.key: advice for advice in listed}
    begun = [Work(_as_begun(entry.advice, said.get(key)), entry, key in said) for key, entry in entries.items()]
    fresh = [Work(advice, None, True) for key, advice in said.items() if key not in entries]
    return sorted(begun + fresh, key=lambda work: (work.entry is None, looked_at.get(work.advice.key, 0.0)))


def _as_begun(begun: Advice, listed: Advice | None) -> Advice:
    """The advice as it was begun: one of a generation never changes, so it never comes to speak of another job.

    Only whether it may be acted on is what the Advisor says now.
    """
    if listed is None:
        return begun
    return replace(
        begun,
        may_be_acted_on=listed.may_be_acted_on,
        why_not=listed.why_not,
        mode_at_decision=listed.mode_at_decision,
    )
