"""What does the trail say when a person joins or splits incidents, or takes it back?"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from advisor_api.incident_acts import entry_on
from audit.event_type import EventType
from audit.trail import Actor, Entry
from detectors.choice_models import Deed, IncidentChoice
from detectors.models import Incident, Verdict
from workloads.subjects import subject_of


@dataclass(frozen=True)
class Act:
    """Who chooses, why and when."""

    actor: Actor
    reason: str
    now: datetime


def told(  # noqa: PLR0917  # the two incidents, what moved between them, and who says so
    choice: IncidentChoice,
    source: Incident,
    target: Incident,
    moved: Collection[Verdict],
    act: Act,
    undone: str = "",
) -> list[Entry]:
    """The events of a choice: one on the whole, one on each attempt that moved."""
    deed = Deed(choice.deed)
    action = f"{'un' if undone else ''}{'merged' if deed is Deed.MERGE else 'split'}"
    why = undone or choice.reason
    number = "one attempt is one" if len(moved) == 1 else f"{len(moved)} attempts are one"
    what = {
        "merged": f"joins the incident ({source.sentence}) into another one: {target.sentence} ({why})",
        "split": f"splits the incident ({source.sentence}): {number} of its own ({why})",
        "unmerged": f"takes back that two incidents are one: {source.sentence}; {target.sentence} ({why})",
        "unsplit": f"takes back that attempts are an incident of their own: {source.sentence} ({why})",
    }[action]
    more = {"choice": str(choice.uuid), "source": str(source.uuid), "reason": why, "attempts": len(moved)}
    goal = source if undone else target
    whole = entry_on(target, act.actor, action, what, **more)
    return [
        whole,
        *(
            Entry(
                type=EventType.INCIDENT,
                subject=subject_of(one.attempt),
                actor=act.actor,
                sentence=f"{act.actor.name} puts {one.attempt.label} into the incident {goal.sentence} ({why})",
                action="moved",
                payload={"incident": str(goal.uuid), "choice": str(choice.uuid)},
            )
            for one in moved
        ),
    ]
