"""Has what an open form speaks of changed since it was opened, how, and by whose word?

One function for each kind of thing, with its key in text and its mark: how it stood when the form was made, in the
words that the form sends back to be compared. None: it stands as it was seen.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from advisor_api.activating import find_version, standing
from advisor_api.models import Advice, Exclusion, Pause, PolicyActivation
from advisor_api.policies import place_of
from advisor_api.policy.advice_state import AdviceState
from advisor_api.refusals import NotFound
from advisor_api.silence_models import Silence
from audit.event_type import EventType
from audit.models import AuditEvent
from console.models import SavedView
from console.saved_views import views_seen_by
from detectors.choice_models import IncidentChoice
from detectors.models import Incident
from workloads.models import Cluster

SEARCHED = 50  # newest events on incidents of a cluster, among which the one on this incident is looked for
_KEY = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class Changed:
    """What has happened (`The mode of demo was switched`), by whom, when where that is known, what follows."""

    what: str
    by: str = ""
    at: datetime | None = None
    then: str = ""  # what follows; empty: what is sent would be refused
    since: bool = True  # certainly after the form was made; what the clock ends may have been over before

    @property
    def refused(self) -> bool:
        """Whether the form is of no use any more."""
        return not self.then


def mode(of: str, mark: str, now: datetime) -> Changed | None:
    """`of`: the name of a cluster; `mark`: the version of its mode."""
    version = Cluster.objects.filter(name=of).values_list("mode_version", flat=True).first()
    if version is None:
        return Changed(_("%(cluster)s is no longer there") % {"cluster": of[:64]})
    what = _("The mode of %(cluster)s was switched") % {"cluster": of}
    return None if str(version) == mark else told_by(what, of, EventType.MODE_CHANGED)


def pauses(of: str, mark: str, now: datetime) -> Changed | None:
    """`of`: the name of a cluster; `mark`: the keys of its pauses, with commas."""
    seen, names = _keys(mark), {"cluster": of[:64]}
    rows = list(Pause.objects.filter(cluster__name=of, until__gt=now).order_by("-since"))
    new = next((row for row in rows if row.pk not in seen), None)
    if new is not None:
        return Changed(_("%(cluster)s has another pause") % names, new.owner, new.since)
    gone = seen - {row.pk for row in rows}
    if not gone:
        return None
    ended = Pause.objects.select_related("cluster").filter(pk__in=gone).order_by("-until").first()
    return _end_of(ended) if ended else Changed(_("The pauses of %(cluster)s have changed") % names)


def one_pause(of: str, mark: str, now: datetime) -> Changed | None:
    """`of`: the key of a pause. It holds, or it does not."""
    row = Pause.objects.select_related("cluster").filter(pk=_key(of)).first()
    if row is None:
        return Changed(_("The pause is no longer there"))
    return _end_of(row) if row.until <= now else None


def exclusions(of: str, mark: str, now: datetime) -> Changed | None:
    """`of`: `CLUSTER/NODE`; `mark`: the keys of what keeps the node out, with commas."""
    cluster, _slash, node = of.partition("/")
    seen = _keys(mark)
    of_node = Exclusion.objects.filter(cluster__name=cluster, node=node)
    holding = {row.pk: row for row in of_node.filter(until__gt=now, lifted_at=None)}
    new = max((row for key, row in holding.items() if key not in seen), key=lambda row: row.since, default=None)
    if new is not None:
        return Changed(_("%(node)s was left out") % {"node": node}, new.owner, new.since)
    gone = seen - set(holding)
    if not gone:
        return None
    row = of_node.filter(pk__in=gone).order_by("-lifted_at", "-until").first()
    if row is not None and row.lifted_at is not None:
        return Changed(_("%(node)s was given back") % {"node": node}, row.lifted_by, row.lifted_at)
    return Changed(_("What kept %(node)s out ran out") % {"node": node}, at=row.until if row else None)


def advice(of: str, mark: str, now: datetime) -> Changed | None:
    """`of`: the key of an advice; `mark`: `GENERATION:STATE`."""
    row = Advice.objects.select_related("attempt__job__cluster").filter(pk=_key(of)).first()
    if row is None:
        return Changed(_("The advice is no longer there"))
    label = row.attempt.label
    if f"{row.generation}:{row.state}" != mark:
        job = row.attempt.job
        about: dict[str, Any] = {
            "job_number": job.number,
            "job_epoch": job.epoch,
            "attempt_index": row.attempt.index,
        }
        state = AdviceState(row.state).label.lower()
        what = _('The advice on %(attempt)s was moved to "%(state)s"') % {"attempt": label, "state": state}
        return told_by(what, job.cluster.name, EventType.ADVICE_STATE, **about)
    newer = Advice.objects.filter(attempt=row.attempt_id, generation__gt=row.generation).order_by("-generation")
    if (newest := newer.first()) is not None:
        return Changed(_("Newer advice was given on %(attempt)s") % {"attempt": label}, at=newest.created_at)
    over = _("The advice on %(attempt)s expired") % {"attempt": label}
    return Changed(over, at=row.expires_at, since=False) if row.expires_at <= now else None


def advices(of: str, mark: str, now: datetime) -> Changed | None:
    """`mark`: `KEY:GENERATION` of what waits for an answer, with commas. Others that come change nothing."""
    pairs = (part.partition(":") for part in mark.split(","))
    seen = {int(key): generation for key, _colon, generation in pairs if _KEY.fullmatch(key)}
    waiting = Advice.objects.filter(pk__in=list(seen), state=AdviceState.AWAITING_APPROVAL, expires_at__gt=now)
    still = {pk for pk, generation in waiting.values_list("pk", "generation") if seen[pk] == str(generation)}
    moved = sorted(set(seen) - still)
    if not moved:
        return None
    rows = Advice.objects.filter(pk__in=moved[:5]).select_related("attempt__job")
    named = ", ".join(sorted(row.attempt.label for row in rows))
    more = _(" and %(number)s more") % {"number": len(moved) - 5} if len(moved) > 5 else ""
    return Changed(
        _("The advice on %(attempts)s no longer waits for an answer") % {"attempts": f"{named}{more}"},
        then=_("Your answer is taken for the others that are ticked, and refused for what has moved."),
    )


def incident(of: str, mark: str, now: datetime) -> Changed | None:
    """`of`: the UUID of an incident; `mark`: its version."""
    row = Incident.objects.select_related("cluster").filter(uuid=_uuid(of)).first()
    if row is None:
        return Changed(_("The incident is no longer there"))
    if str(row.version) == mark:
        return None if row.ended_at is None else Changed(_("The incident was over"), at=row.ended_at, since=False)
    return _last_on(row)


def remarked(of: str, mark: str, now: datetime) -> Changed | None:
    """The same of a form that is taken whatever has changed."""
    row = Incident.objects.select_related("cluster").filter(uuid=_uuid(of)).first()
    if row is None:
        return Changed(_("The incident is no longer there"))
    return (
        None
        if str(row.version) == mark
        else replace(_last_on(row), then=_("Your remark can be added all the same."))
    )


def choice(of: str, mark: str, now: datetime) -> Changed | None:
    """`of`: the UUID of a split or a merge that may be taken back; `mark`: the version of its target."""
    row = IncidentChoice.objects.select_related("target__cluster").filter(uuid=_uuid(of)).first()
    if row is None:
        return Changed(_("The choice is no longer there"))
    if row.undone_at is not None:
        return Changed(_("This was taken back"), row.undone_by, row.undone_at)
    moved = row.target.ended_at is None and str(row.target.version) != mark
    return _last_on(row.target) if moved else None


def silence(of: str, mark: str, now: datetime) -> Changed | None:
    """`of`: the UUID of a silence. It holds, or it does not."""
    row = Silence.objects.filter(uuid=_uuid(of)).first()
    if row is None:
        return Changed(_("The silence is no longer there"))
    if row.ended_at is not None:
        return Changed(_("The silence was ended"), row.ended_by, row.ended_at)
    return Changed(_("The silence ran out"), at=row.until, since=False) if row.until <= now else None


def view(of: str, mark: str, now: datetime) -> Changed | None:
    """`of`: the key of a saved view; `mark`: its revision."""
    revision = SavedView.objects.filter(pk=_key(of)).values_list("revision", flat=True).first()
    if revision is None:
        return Changed(_("The view was deleted"))
    return None if str(revision) == mark else Changed(_("The view was changed"))


def view_is_seen(of: str, person: User) -> bool:
    """Whether a saved view is one that a person sees."""
    return views_seen_by(person).filter(pk=_key(of)).exists()


def policy(of: str, mark: str, now: datetime) -> Changed | None:
    """`of`: the key of a policy version; `mark`: the number of the activation that holds at its place."""
    try:
        place = place_of(find_version(_key(of)))
    except NotFound:
        return Changed(_("The policy is no longer there"))
    number, _version = standing(place)
    if str(number) == mark:
        return None
    last = PolicyActivation.objects.filter(place=place.key, number=number).first()
    what = _("Which policy holds for %(place)s was changed") % {"place": place}
    return Changed(what) if last is None else Changed(what, last.activated_by, last.activated_at)


def _last_on(row: Incident) -> Changed:
    events = AuditEvent.objects.filter(cluster=row.cluster.name, type=EventType.INCIDENT)
    mine = (one for one in events.order_by("-at", "-id")[:SEARCHED] if str(row.uuid) in one.payload.values())
    last = next(mine, None)
    return Changed(_("The incident was changed"), last.actor if last else "", last.at if last else None)


def _end_of(row: Pause) -> Changed:
    """A pause that a person ends gets that moment for its end, and the event of it the same."""
    of = {"cluster": row.cluster.name, "type": EventType.PAUSE, "action": "resume", "at": row.until}
    by = AuditEvent.objects.filter(**of).values_list("actor", flat=True).first()
    what = _("The pause of %(what)s was ended") % {"what": f"{row.scope} {row.value}".strip()}
    return Changed(what, by, row.until) if by else Changed(_("A pause ran out"), at=row.until)


def told_by(what: str, cluster: str, kind: EventType, *, then: str = "", **about: Any) -> Changed:
    """What has happened, by and at what the newest event of that kind says. `about`: more columns of it."""
    last = AuditEvent.objects.filter(cluster=cluster, type=kind, **about).order_by("-at", "-id").first()
    return Changed(what, then=then) if last is None else Changed(what, last.actor, last.at, then)


def _keys(mark: str) -> set[int]:
    return set(_numbers(mark.split(",")))


def _numbers(parts: Iterable[str]) -> Iterable[int]:
    return (int(part) for part in parts if _KEY.fullmatch(part))


def _uuid(text: str) -> UUID:
    """A UUID; one that no row has when the text is none."""
    try:
        return UUID(text)
    except ValueError:
        return UUID(int=0)


def _key(text: str) -> int:
    """A key; one that no row has when the text is none."""
    return int(text) if _KEY.fullmatch(text) else 0
