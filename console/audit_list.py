"""Which events of the trail are listed, by which filters of the address?

Each cluster's events are one range of an index; of several clusters the newest of each are merged. The next page
begins below the last event that was shown: what comes in between moves nothing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import quote, urlencode

from django.db.models import Count, Max, Min, Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from advisor_api.trail_search import Filters, order_of, search
from audit.actor_kind import ActorKind
from audit.archive_file import ENDING
from audit.event_type import EventType
from audit.level import Level
from audit.models import AuditArchive, AuditChain, AuditEvent
from console.topics import PROGRESS
from workloads.models import Cluster

PAGE = 50
SITE = "(site)"  # in addresses: what speaks of no cluster
CLUSTERS_AT_MOST = 40  # merged when none is chosen
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LIMITS = {"cluster": 64, "node": 255, "user": 64, "pattern": 128, "action": 64, "actor": 128}
VOCABULARY = {"actor_kind": ActorKind, "type": EventType, "level": Level}
_NAMES = {"actor_kind": gettext_lazy("actor kind"), "type": gettext_lazy("type"), "level": gettext_lazy("level")}
_LABEL = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,9}))?")
_SPAN = re.compile(r"([0-9]{1,5})([mhd])")
_BEFORE = re.compile(r"([0-9]{1,17})\.([0-9]{1,18})")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


@dataclass(frozen=True)
class TrailWanted:
    """What the address asks for. `job`: `4711` or `4711-0`. Whatever is not understood is left out: `mistake`.

    `progress`: progress lines too (checkpoints), which come by the hundred; else only where `type` asks for them.
    """

    cluster: str = ""
    job: str = ""
    node: str = ""
    user: str = ""
    pattern: str = ""
    action: str = ""
    actor: str = ""
    actor_kind: str = ""
    type: str = ""
    level: str = ""
    since: str = ""
    until: str = ""
    progress: str = ""
    before: str = ""
    mistake: str = ""

    @property
    def left_out(self) -> bool:
        """Whether progress lines are left out of the list."""
        return not self.progress and not self.type

    def address(self, **changes: object) -> str:
        """The query part of an address that asks for this with `changes`; other filters begin at the newest."""
        changed = replace(self, mistake="", **{"before": "", **changes})  # type: ignore[arg-type]
        pairs = {one.name: getattr(changed, one.name) for one in fields(changed) if one.name != "mistake"}
        kept = {name: value for name, value in pairs.items() if value}
        return f"?{urlencode(kept)}" if kept else ""

    def filters(self, now: datetime) -> Filters:
        """The same in the words of the search."""
        label = _LABEL.fullmatch(self.job)
        words = {name: getattr(self, name) for name in (*LIMITS, *VOCABULARY) if name != "cluster"}
        return Filters(
            job_number=int(label[1]) if label else None,
            attempt_index=int(label[2]) if label and label[2] else None,
            since=moment_of(self.since, now),
            until=moment_of(self.until, now),
            **words,
        )

    def exported(self, now: datetime) -> list[tuple[str, str]]:
        """The same as fields of `GET /v1/trail:export`."""
        asked = self.filters(now)
        named = {
            "cluster": self.cluster,
            "jobId": asked.job_number,
            "attemptIndex": asked.attempt_index,
            "node": asked.node,
            "user": asked.user,
            "pattern": asked.pattern,
            "action": asked.action,
            "actor": asked.actor,
            "actorKind": asked.actor_kind,
            "eventType": asked.type,
            "eventLevel": asked.level,
            "since": asked.since.isoformat() if asked.since else None,
            "until": asked.until.isoformat() if asked.until else None,
        }
        return [(name, str(value)) for name, value in named.items() if value not in {None, ""}]


@dataclass(frozen=True)
class Archived:
    """The part of a cluster's trail that has left for files: from when, up to when, in how many of which names."""

    cluster: str
    begun: datetime
    until: datetime
    files: int
    asked_for: bool

    @property
    def names(self) -> str:
        """Of its files, as a shell knows them."""
        return f"trail-{quote(self.cluster, safe='')}-*{ENDING}"


@dataclass(frozen=True)
class TrailPage:
    """One page of the trail, newest first. `older`: where the next one begins, empty at the end.

    `archived`: what of these clusters has left for the archive. `cut`: not all clusters are looked at.
    """

    events: Sequence[AuditEvent]
    older: str
    archived: Sequence[Archived] = ()
    cut: bool = False


def read_trail_wanted(query: Mapping[str, str], now: datetime) -> TrailWanted:
    """What a query string asks for, bounded."""
    words = {name: query.get(name, "")[:limit].strip().replace("\0", "") for name, limit in LIMITS.items()}
    mistakes = []
    for name, vocabulary in VOCABULARY.items():
        words[name] = query.get(name, "")
        if words[name] and words[name] not in set(vocabulary):
            asked = {"value": repr(words[name][:40]), "name": _NAMES[name]}
            mistakes.append(_("No event has %(value)s as its %(name)s.") % asked)
            words[name] = ""
    words["job"] = query.get("job", "")[:40].strip()
    if words["job"] and not _LABEL.fullmatch(words["job"]):
        mistakes.append(_("Write a job as its number, 4711, or an attempt as 4711-0."))
        words["job"] = ""
    for name in ("since", "until"):
        words[name] = query.get(name, "")[:40].strip()
        if words[name] and moment_of(words[name], now) is None:
            mistakes.append(
                _("Since is a moment in UTC, 2026-11-30 16:00, or a span back: 30m, 8h, 7d.")
                if name == "since"
                else _("Until is a moment in UTC, 2026-11-30 16:00, or a span back: 30m, 8h, 7d.")
            )
            words[name] = ""
    before = query.get("before", "")[:40]
    if before and _place(before) is None:
        mistakes.append(_("The place to go on from is none of ours; this is the first page."))
        before = ""
    progress = "1" if query.get("progress", "") else ""
    return TrailWanted(**words, progress=progress, before=before, mistake=" ".join(mistakes))


def moment_of(text: str, now: datetime) -> datetime | None:
    """`8h` is eight hours before `now`; else a moment, UTC where no zone is said. `None`: neither."""
    if span := _SPAN.fullmatch(text):
        return now - timedelta(**{_UNITS[span[2]]: int(span[1])})
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def trail_page(wanted: TrailWanted, now: datetime) -> TrailPage:
    """The newest events that fit: numbers first, one query for each cluster that is looked at, then the rows."""
    place, filters = _place(wanted.before), wanted.filters(now)
    by_number = order_of(filters) == ("pk",)
    found: list[tuple[datetime, int]] = []
    names = _clusters(wanted)
    for name in names[: CLUSTERS_AT_MOST + 1]:
        rows = search(name, filters)
        if wanted.left_out:
            rows = rows.exclude(type__in=PROGRESS)
        rows = rows.order_by(*(f"-{key}" for key in order_of(filters)))
        if place is not None:
            at, key = place
            rows = (
                rows.filter(pk__lt=key) if by_number else rows.filter(Q(at__lte=at), Q(at__lt=at) | Q(pk__lt=key))
            )
        found += rows.values_list("at", "pk")[: PAGE + 1]
    found.sort(key=lambda pair: pair[1] if by_number else pair, reverse=True)
    keys = [key for _, key in found[:PAGE]]
    events = AuditEvent.objects.defer("payload").in_bulk(keys)
    told = [events[key] for key in keys if key in events]
    shown = sorted(told, key=lambda event: (event.at, event.pk), reverse=True)  # a job is paged by number
    older = _before(*found[PAGE - 1]) if len(found) > PAGE else ""
    archived = _archived(names[: CLUSTERS_AT_MOST + 1], filters, place[0] if place else None)
    return TrailPage(shown, older, archived, len(names) > CLUSTERS_AT_MOST + 1)


def trail_names() -> list[str]:
    """What may be chosen as a cluster: those that are set up, and those that the trail still speaks of."""
    clusters = set(Cluster.objects.values_list("name", flat=True))
    return sorted(clusters | set(AuditChain.objects.exclude(cluster="").values_list("cluster", flat=True)))


def _clusters(wanted: TrailWanted) -> Sequence[str]:
    if wanted.cluster:
        return ("" if wanted.cluster == SITE else wanted.cluster,)
    return ("", *trail_names())


def _archived(names: Sequence[str], filters: Filters, place: datetime | None) -> tuple[Archived, ...]:
    """What has left, with whether the moments that are asked for reach into it. One query."""
    asked = [at for at in (filters.since, filters.until, place) if at is not None]
    rows = AuditArchive.objects.filter(cluster__in=names).order_by("cluster").values("cluster")
    parts = rows.annotate(begun=Min("first_at"), until=Max("last_at"), files=Count("pk"))
    return tuple(Archived(**part, asked_for=any(at <= part["until"] for at in asked)) for part in parts)


def _before(at: datetime, key: int) -> str:
    span = at - EPOCH
    return f"{(span.days * 86400 + span.seconds) * 1_000_000 + span.microseconds}.{key}"


def _place(text: str) -> tuple[datetime, int] | None:
    found = _BEFORE.fullmatch(text)
    return (EPOCH + timedelta(microseconds=int(found[1])), int(found[2])) if found else None
