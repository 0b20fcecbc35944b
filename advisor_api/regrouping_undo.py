"""How does a person take back a split or a merge? Later failures are grouped as before, what moved goes back."""

from django.db import IntegrityError, transaction
from django.db.models import Q

from advisor_api.incident_acts import checked, writing
from advisor_api.refusals import Stale
from advisor_api.regrouping import close, locked, put, settle, standing_in
from advisor_api.regrouping_told import Act, told
from audit.trail import record
from detectors.choice_models import ChosenPlace, Deed, IncidentChoice
from detectors.models import Incident, Verdict

BUSY = "Another incident is open for the same failures by now: join or split those instead. Nothing was changed."


def undo(choice: IncidentChoice, target_version: int, act: Act) -> IncidentChoice:
    """Take a choice back. Where its incident is over, only later failures change their place.

    `target_version`: that of the incident that the choice made or filled, as it was seen. Raises `Bad` without a
    reason, `Stale` when it was taken back or changed since, or a later choice rests on it.
    """
    why = checked(act.reason)
    with writing(), transaction.atomic():
        undone = {"undone_at": act.now, "undone_by": act.actor.name[:150], "undone_because": why}
        if not IncidentChoice.objects.filter(pk=choice.pk, undone_at=None).update(**undone):
            raise Stale("Somebody has taken it back already. Nothing was changed by you.")
        if later_than(choice) is not None:
            raise Stale("A later choice about these incidents rests on it: take that one back first.")
        rows = {one.pk: one for one in Incident.objects.filter(pk__in=(choice.source_id, choice.target_id))}
        source, target = rows[choice.source_id], rows[choice.target_id]
        moved: list[Verdict] = []
        if target.ended_at is None:
            target = locked((target.pk, target_version))[target.pk]
            moved = _back(choice, source, target, act)
        entries = told(choice, source, target, moved, act, undone=why)
        record(entries, act.now)
    choice.refresh_from_db()
    return choice


def later_than(choice: IncidentChoice) -> IncidentChoice | None:
    """A newer choice that holds and speaks of the same incidents."""
    both = (choice.source_id, choice.target_id)
    newer = IncidentChoice.objects.filter(Q(source__in=both) | Q(target__in=both), pk__gt=choice.pk, undone_at=None)
    return newer.order_by("pk").first()


def _back(choice: IncidentChoice, source: Incident, target: Incident, act: Act) -> list[Verdict]:
    """What the choice had moved is in its source again, which is open again if it was over."""
    held = standing_in(target).select_related("attempt__job__cluster").defer("body", "implicated")
    if choice.deed == Deed.MERGE.value:
        gone = ChosenPlace.objects.filter(choice=choice, moved=True, attempt__isnull=False).values("attempt")
        moved = list(held.filter(attempt__in=gone))
    else:
        moved = list(held)
    if moved:
        _reopen(choice, source)
        put(moved, source)
        settle(source)
    if choice.deed == Deed.SPLIT.value or not standing_in(target).exists():
        close(target, source, act.now)
    else:
        settle(target)
    return moved


def _reopen(choice: IncidentChoice, source: Incident) -> None:
    """The source as it was before, with its key. Raises `Stale` when another one is open under that key."""
    opened = {"ended_at": None, "merged_into": None, "open_key": choice.source_key, "version": source.version + 1}
    still = Incident.objects.filter(pk=source.pk, version=source.version)
    if source.ended_at is None:
        opened = {"version": source.version + 1}
    try:
        with transaction.atomic():
            if not still.update(**opened):
                raise Stale("Somebody changed the incident at this moment. Nothing was changed by you; look again.")
    except IntegrityError:
        raise Stale(BUSY) from None
