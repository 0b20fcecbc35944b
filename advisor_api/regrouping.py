"""How does a person join two incidents, or split one, so that it stays so?

What is chosen is written as places (`detectors.chosen`) that the grouping asks first. It changes which failures the
policy counts together from the next decision on; what was decided stands, with the facts that it was decided by.
"""

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import Max, Min, QuerySet

from advisor_api.incident_acts import checked, writing
from advisor_api.refusals import Bad, Stale
from advisor_api.regrouping_told import Act, told
from audit.trail import record
from detectors.choice_models import ChosenPlace, Deed, IncidentChoice
from detectors.chosen import of_attempt, of_fingerprint, of_job, of_key
from detectors.incident_counts import COUNTED
from detectors.models import Incident, IncidentNode, Verdict

MOST = 5000  # attempts of an incident that is split or joined: each is an event of the trail
CHANGED = "Somebody changed {} after you opened the page. Nothing was changed by you; look again."


def standing_in(incident: Incident) -> QuerySet[Verdict]:
    """The newest verdicts of its attempts."""
    return Verdict.objects.filter(incident=incident, newer=None).order_by("pk")


def merge(source: tuple[int, int], target: tuple[int, int], act: Act) -> IncidentChoice:
    """Join an incident into another one; each by key and the version that was seen.

    What stood in the first stands in the second, and what would come to the first goes there. Raises `Bad` when
    they are one, of two clusters or too large, `Stale` when one was changed or ended since.
    """
    why = checked(act.reason)
    if source[0] == target[0]:
        raise Bad("That is the incident itself: choose another one.")
    with writing(), transaction.atomic():
        rows = locked(source, target)
        left, into = rows[source[0]], rows[target[0]]
        if left.cluster_id != into.cluster_id:
            raise Bad(
                f"They are of two clusters, {left.cluster.name} and {into.cluster.name}: nothing joins those."
            )
        moved, stay = _members(left), _members(into)
        choice = chosen(Deed.MERGE, left, into, act, why)
        written = {of_attempt(one.attempt_id) for one in (*moved, *stay)}
        keys = {of_key(choice.source_key), *_leading_to(choice.source_key, left.cluster_id)} - written
        write_places(choice, {value: choice.target_key for value in sorted(keys)})
        write_attempts(choice, choice.target_key, moved, moved=True)
        write_attempts(choice, choice.target_key, stay, moved=False)
        put(moved, into)
        close(left, into, act.now)
        settle(into)
        record(told(choice, left, into, moved, act), act.now)
    return choice


def split(
    incident: tuple[int, int], verdicts: Collection[int], fingerprints: Collection[str], act: Act
) -> IncidentChoice:
    """Move chosen failures, by verdict or by fingerprint, into a new incident.

    Later failures follow: of a fingerprint that is now in the new one alone, of the moved jobs otherwise. Raises
    `Bad` when nothing would move or nothing would stay, `Stale` when the incident was changed or ended, or a
    verdict left it since.
    """
    why = checked(act.reason)
    with writing(), transaction.atomic():
        left = locked(incident)[incident[0]]
        members = _members(left)
        wanted = set(verdicts)
        if not wanted <= {one.pk for one in members}:
            raise Stale("A newer verdict on one of these attempts came after you opened the page. Look again.")
        moved = [one for one in members if one.pk in wanted or one.fingerprint in fingerprints]
        going = {one.pk for one in moved}
        stay = [one for one in members if one.pk not in going]
        if not moved or not stay:
            raise Bad("Choose some of the attempts: at least one must go, and one must stay.")
        into = _new_one(left, moved)
        choice = chosen(Deed.SPLIT, left, into, act, why)
        write_places(choice, {value: choice.target_key for value in _follows(moved, stay)})
        write_attempts(choice, choice.target_key, moved, moved=True)
        write_attempts(choice, choice.source_key, stay, moved=False)
        put(moved, into)
        settle(left)
        settle(into)
        record(told(choice, left, into, moved, act), act.now)
    return choice


def locked(*seen: tuple[int, int]) -> dict[int, Incident]:
    """Open incidents, ours until the transaction ends, each moved to its next version. Raises `Stale`."""
    versions = dict(seen)
    rows = Incident.objects.select_for_update().filter(pk__in=versions).order_by("pk")
    found = {row.pk: row for row in rows}
    clusters = {row.pk: row for row in Incident.objects.select_related("cluster").filter(pk__in=versions)}
    for pk, version in versions.items():
        row = found.get(pk)
        if row is None or row.ended_at is not None:
            raise Stale("The incident is over. Nothing was changed by you.")
        still = Incident.objects.filter(pk=pk, version=version, ended_at=None)
        if not still.update(version=version + 1):
            raise Stale(CHANGED.format("the incident"))
        row.cluster = clusters[pk].cluster
    return found


def chosen(deed: Deed, source: Incident, target: Incident, act: Act, why: str) -> IncidentChoice:
    """The choice, stored with the keys under which both are open."""
    return IncidentChoice.objects.create(
        cluster_id=source.cluster_id,
        deed=deed.value,
        source=source,
        target=target,
        source_key=source.open_key or "",
        target_key=target.open_key or "",
        reason=why,
        made_by=act.actor.name[:150],
        made_at=act.now,
    )


def write_places(choice: IncidentChoice, keys: dict[str, str]) -> None:
    """Where later failures go that are not there yet."""
    rows = [ChosenPlace(choice=choice, cluster_id=choice.cluster_id, value=v, key=k) for v, k in keys.items()]
    ChosenPlace.objects.bulk_create(rows, batch_size=500)


def write_attempts(choice: IncidentChoice, key: str, verdicts: Iterable[Verdict], *, moved: bool) -> None:
    """Where the attempts of these verdicts stay, whatever later verdicts on them say."""
    rows = [
        ChosenPlace(
            choice=choice,
            cluster_id=choice.cluster_id,
            value=of_attempt(one.attempt_id),
            key=key,
            attempt_id=one.attempt_id,
            moved=moved,
        )
        for one in verdicts
    ]
    ChosenPlace.objects.bulk_create(rows, batch_size=500)


def put(verdicts: Collection[Verdict], into: Incident) -> None:
    """Have these verdicts belong to `into`."""
    keys = [one.pk for one in verdicts]
    for start in range(0, len(keys), 500):
        Verdict.objects.filter(pk__in=keys[start : start + 500]).update(incident=into)


def close(incident: Incident, into: Incident, now: datetime) -> None:
    """It is over, for all that stood in it was `put` into another one. It is ours (`locked`)."""
    over = {"ended_at": now, "open_key": None, "merged_into": into}
    Incident.objects.filter(pk=incident.pk).update(**over, **dict.fromkeys(COUNTED, 0))


def settle(incident: Incident) -> None:
    """Span, counts and nodes of an incident, read anew from the verdicts that stand in it."""
    standing = standing_in(incident)
    span = {"first_seen_at": Min("happened_at"), "last_seen_at": Max("happened_at")}
    read = standing.order_by().aggregate(**span, **COUNTED)
    Incident.objects.filter(pk=incident.pk).update(**{name: one for name, one in read.items() if one is not None})
    roles = {"culprit", "suspect", "victim"} if incident.shared else {"culprit", "suspect"}
    named = {
        str(one["host"])
        for implicated in standing.values_list("implicated", flat=True).iterator(500)
        for one in implicated
        if one.get("role") in roles
    }
    known = set(IncidentNode.objects.filter(incident=incident).values_list("node", flat=True))
    gone = sorted(known - named)
    for start in range(0, len(gone), 500):
        IncidentNode.objects.filter(incident=incident, node__in=gone[start : start + 500]).delete()
    rows = [IncidentNode(incident=incident, node=node) for node in sorted(named - known)]
    IncidentNode.objects.bulk_create(rows, batch_size=500)


def _members(incident: Incident) -> list[Verdict]:
    """What stands in it, with attempt, job and cluster. Raises `Bad` when it is too much."""
    rows = standing_in(incident).select_related("attempt__job__cluster").defer("body", "implicated")[: MOST + 1]
    found = list(rows)
    if len(found) > MOST:
        raise Bad(f"More than {MOST} attempts belong to it: that many are not moved at once.")
    return found


def _leading_to(key: str, cluster_id: int) -> list[str]:
    """What earlier choices lead to a key: of two that speak of the same the newer one says where."""
    holding = ChosenPlace.objects.filter(cluster_id=cluster_id, choice__undone_at=None)
    may = holding.filter(key=key).values("value")
    newest = dict(holding.filter(value__in=may).order_by("choice_id").values_list("value", "key"))
    return [value for value, leads in newest.items() if leads == key]


def _follows(moved: Collection[Verdict], stay: Collection[Verdict]) -> list[str]:
    """What later failures follow those that moved: whole fingerprints, or where some of it stays, their jobs."""
    kept = {one.fingerprint for one in stay}
    jobs = {of_job(one.attempt.job_id, one.fingerprint) for one in moved}
    apart = {of_fingerprint(one.fingerprint) for one in moved if one.fingerprint and one.fingerprint not in kept}
    return sorted(jobs | apart)


def _new_one(left: Incident, moved: Collection[Verdict]) -> Incident:
    """The incident of those that moved, named as the newest of them is."""
    newest = max(moved, key=lambda one: (one.happened_at, one.pk))
    made = Incident(
        cluster=left.cluster,
        fingerprint=newest.fingerprint,
        layer=newest.layer,
        sentence=newest.sentence[:300],
        shared=any(one.shared for one in moved),
        first_seen_at=min(one.happened_at for one in moved),
        last_seen_at=newest.happened_at,
    )
    made.open_key = f"split:{made.uuid}"
    made.save()
    return made
