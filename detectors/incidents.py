"""Which failures belong together? A verdict joins an incident in the transaction that stores it.

One is open for each key of a cluster. Whoever comes second finds it by the unique key, and changes it only while it
is still open under that key. What a person chose (`detectors.chosen`) comes before the key that a judgement has.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.db.models.functions import Greatest, Least

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.trail import Actor, Entry, Subject, record
from detectors.attribution.action import VerdictAction
from detectors.attribution.classes import kin_of
from detectors.attribution.evidence_status import EvidenceStatus
from detectors.attribution.judgement import Judgement
from detectors.attribution.sharing import CASCADE
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.chosen import chosen_place, follow, is_chosen
from detectors.incident_counts import count_anew
from detectors.models import Incident, IncidentNode, Verdict
from workloads.models import Attempt
from workloads.subjects import subject_of

ACTOR = Actor(ActorKind.RULE, "incidents")
OVER_AFTER = timedelta(hours=6)  # without a new failure
KINDS = frozenset(
    {AnomalyKind.CRASH, AnomalyKind.HANG, AnomalyKind.STRAGGLER, AnomalyKind.NAN, AnomalyKind.NO_CHECKPOINT}
)
AT_ONCE = 100  # that one sweep ends
TRIES = 3
_TOGETHER = {
    "shared.storage": ("storage", Layer.SYSTEM_FILESYSTEM, "Shared storage is in trouble"),
    "shared.storage_of_hosts": ("storage", Layer.SYSTEM_FILESYSTEM, "Shared storage is in trouble"),
    "shared.network": ("network", Layer.HARDWARE_NETWORK, "The network between nodes is in trouble"),
    "shared.fabric": ("network", Layer.HARDWARE_NETWORK, "The network between nodes is in trouble"),
    "shared.at_once": ("at once", Layer.UNKNOWN, "Several jobs failed within a minute, cause unknown"),
}
"""Shared causes that print different texts: what joins them, their layer and what is said."""


@dataclass(frozen=True)
class Wanted:
    """The incident that a judgement belongs to."""

    key: str
    fingerprint: str
    layer: Layer
    sentence: str
    shared: bool


def join(
    attempt: Attempt, judgement: Judgement, latest: Verdict | None, now: datetime
) -> tuple[Incident | None, list[Entry]]:
    """The incident for a judgement that is about to be stored, and the events to record; `None`: it is no failure.

    Call it inside that transaction. `latest` is the attempt's verdict so far. Reads `attempt.job.cluster`.
    """
    if judgement.kind not in KINDS or judgement.action is VerdictAction.NONE:
        return None, []
    natural = _wanted(attempt, judgement)
    before = _open_incident_of(latest)
    name = before.open_key if before else None
    for _try in range(TRIES):  # a person may join two meanwhile, or another worker open one
        chosen = chosen_place(attempt, judgement.fingerprint, natural.key)
        wanted = replace(natural, key=chosen.key) if chosen else natural
        known = _by_key(attempt, wanted.key)
        if known is None and chosen is None:
            known = _taken_over(attempt, judgement, wanted, before)
        incident = known or _opened(attempt, judgement, wanted)
        if incident is None or (known is not None and not _moved(known, judgement)):
            continue
        follow(attempt, chosen)
        _name_nodes(incident, judgement)
        if known is None:
            return incident, [_event(attempt, incident, "opens the incident", "opened")]
        if before != incident:
            return incident, [_event(attempt, incident, "joins the incident", "joined")]
        renamed = chosen is None and name != wanted.key
        return incident, [_event(attempt, incident, "renames its incident", "renamed")] if renamed else []
    raise IntegrityError(f"incident {natural.key} is opened and ended again and again")


def leave(latest: Verdict | None, now: datetime) -> list[Entry]:
    """End the incident that an attempt has left for another one, if it was the last; call it after the verdict."""
    incident = _open_incident_of(latest)
    if incident is None or Verdict.objects.filter(incident=incident, newer=None).exists():
        return []
    return _ended([incident], "its failures belong elsewhere", now)


def jobs_struck(verdict: Verdict, reach: timedelta) -> int:
    """How many jobs the shared cause of a verdict struck within `reach` of it; 0: the cause is no shared one."""
    if not verdict.shared or verdict.incident_id is None:
        return 0
    near = (verdict.happened_at - reach, verdict.happened_at + reach)
    standing = Verdict.objects.filter(incident_id=verdict.incident_id, newer=None, happened_at__range=near)
    return max(1, standing.order_by().values("attempt__job").distinct().count())


def look_again(attempt: Attempt, judgement: Judgement, now: datetime) -> None:
    """Have the other attempts of a shared cause judged again, whose verdicts do not know of it yet.

    Their slow verdicts supersede; what was done on the fast ones is not undone.
    """
    others = judgement.shared.by if judgement.shared else ()
    if not others:
        return
    jobs = {one.label: one.job for one in others}
    unaware = Verdict.objects.filter(
        newer=None,
        shared=False,
        attempt__job__cluster_id=attempt.job.cluster_id,
        fingerprint__in={one.fingerprint for one in others},
        happened_at__range=(min(one.happened_at for one in others), max(one.happened_at for one in others)),
    ).select_related("attempt__job")
    due = [
        row.attempt_id
        for row in unaware
        if jobs.get(row.attempt.label) == f"{row.attempt.job.number}/{row.attempt.job.epoch}"
    ]
    later = Q(judge_due_at=None) | Q(judge_due_at__gt=now)
    Attempt.objects.filter(later, pk__in=due).update(judge_due_at=now)


def end_quiet(now: datetime) -> int:
    """End the incidents to which nothing has been added for `OVER_AFTER`; returns how many."""
    quiet = Incident.objects.filter(ended_at=None, last_seen_at__lt=now - OVER_AFTER).select_related("cluster")
    rows = list(quiet.order_by("last_seen_at")[:AT_ONCE])
    with transaction.atomic():
        entries = _ended(rows, f"no new failure for {OVER_AFTER // timedelta(hours=1)} hours", now)
        if entries:
            record(entries, now)
    return len(entries)


def _wanted(attempt: Attempt, judgement: Judgement) -> Wanted:
    shared = judgement.shared
    if shared is not None and shared.rule in _TOGETHER:
        what, layer, sentence = _TOGETHER[shared.rule]
        if layer is Layer.SYSTEM_FILESYSTEM:  # a full one and one that does not answer are two
            what = f"{what}:{kin_of(judgement.signature)}"
        return Wanted(f"shared:{what}", judgement.fingerprint, layer, sentence, shared=True)
    # What nobody can explain is the same again in one job only: its fingerprint says no more than how it ended.
    if shared is not None:
        key = f"shared:{judgement.fingerprint}"
    elif judgement.evidence_status is EvidenceStatus.UNKNOWN:
        key = f"job:{attempt.job_id}:{judgement.fingerprint}"
    else:
        key = judgement.fingerprint
    return Wanted(key, judgement.fingerprint, judgement.layer, judgement.headline[:300], shared is not None)


def _open_incident_of(verdict: Verdict | None) -> Incident | None:
    """The incident that an earlier verdict points to, read anew, while it is open."""
    if verdict is None or verdict.incident_id is None:
        return None
    return Incident.objects.select_related("cluster").filter(pk=verdict.incident_id, ended_at=None).first()


def _by_key(attempt: Attempt, key: str) -> Incident | None:
    known = Incident.objects.filter(cluster_id=attempt.job.cluster_id, open_key=key)
    return known.select_related("cluster").first()


def _taken_over(attempt: Attempt, judgement: Judgement, wanted: Wanted, before: Incident | None) -> Incident | None:
    """The attempt's own incident, renamed when it is alone in it; or that of the same job before its restart."""
    if before is not None:
        others = Verdict.objects.filter(incident=before, newer=None).exclude(attempt=attempt)
        alone = not others.exists() and not is_chosen(before.cluster_id, before.open_key or "")
        if alone and _renamed(before, wanted):
            return before
    if wanted.shared:
        return None
    restarted = Verdict.objects.filter(
        attempt__job_id=attempt.job_id, attempt__index__lt=attempt.index, newer=None, incident__ended_at=None
    ).select_related("incident__cluster")
    last = restarted.exclude(incident=None).order_by("-attempt__index").first()
    if last is None or last.incident is None:
        return None
    cascade = judgement.happened_at - last.incident.last_seen_at <= CASCADE
    unknown = judgement.evidence_status is EvidenceStatus.UNKNOWN
    return last.incident if cascade or unknown else None


def _renamed(incident: Incident, wanted: Wanted) -> bool:
    """Move an incident to another key; `False` when somebody has opened that one or ended this one meanwhile."""
    try:
        with transaction.atomic():
            moved = Incident.objects.filter(pk=incident.pk, open_key=incident.open_key, ended_at=None).update(
                open_key=wanted.key,
                fingerprint=wanted.fingerprint,
                layer=wanted.layer.value,
                sentence=wanted.sentence,
                shared=wanted.shared,
            )
    except IntegrityError:
        return False
    if moved:
        incident.open_key, incident.sentence = wanted.key, wanted.sentence
    return bool(moved)


def _moved(incident: Incident, judgement: Judgement) -> bool:
    """Widen an incident in time. `False` when it has ended meanwhile."""
    still = Incident.objects.filter(pk=incident.pk, open_key=incident.open_key, ended_at=None)
    at = judgement.happened_at
    return bool(
        still.update(first_seen_at=Least(F("first_seen_at"), at), last_seen_at=Greatest(F("last_seen_at"), at))
    )


def _opened(attempt: Attempt, judgement: Judgement, wanted: Wanted) -> Incident | None:
    """A new one under its key; `None` when somebody has opened that meanwhile."""
    try:
        with transaction.atomic():
            return Incident.objects.create(
                cluster=attempt.job.cluster,
                open_key=wanted.key,
                fingerprint=wanted.fingerprint,
                layer=wanted.layer.value,
                sentence=wanted.sentence,
                shared=wanted.shared,
                first_seen_at=judgement.happened_at,
                last_seen_at=judgement.happened_at,
            )
    except IntegrityError:
        return None


def _name_nodes(incident: Incident, judgement: Judgement) -> None:
    """Its row was written in this transaction: whoever wants to add to the same incident waits."""
    roles = ("culprit", "suspect", "victim") if judgement.shared else ("culprit", "suspect")
    named = {one.host for one in judgement.implicated if one.role in roles}
    known = set(IncidentNode.objects.filter(incident=incident, node__in=named).values_list("node", flat=True))
    IncidentNode.objects.bulk_create([IncidentNode(incident=incident, node=node) for node in sorted(named - known)])


def _ended(incidents: list[Incident], why: str, now: datetime) -> list[Entry]:
    """End each that is as it was read; whoever joins at this moment comes first or opens another one."""
    entries = []
    for incident in incidents:
        still = Incident.objects.filter(
            pk=incident.pk, open_key=incident.open_key, ended_at=None, last_seen_at=incident.last_seen_at
        )
        if still.update(ended_at=now, open_key=None):
            count_anew([incident.pk])  # the user of a job that a client reported may have become known since
            entries.append(
                Entry(
                    type=EventType.INCIDENT,
                    subject=Subject(cluster=incident.cluster.name),
                    actor=ACTOR,
                    sentence=f"The incident is over ({why}): {incident.sentence}",
                    pattern=incident.fingerprint[:16],
                    action="ended",
                    payload={"incident": str(incident.uuid)},
                )
            )
    return entries


def _event(attempt: Attempt, incident: Incident, verb: str, what: str) -> Entry:
    return Entry(
        type=EventType.INCIDENT,
        subject=subject_of(attempt),
        actor=ACTOR,
        sentence=f"{attempt.label} {verb}: {incident.sentence}",
        level=Level.WARNING if what == "opened" else Level.INFO,
        pattern=incident.fingerprint[:16],
        action=what,
        payload={"incident": str(incident.uuid), "shared": incident.shared},
    )
