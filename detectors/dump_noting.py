"""Which dumps of Flight Recorders bear on an attempt that is judged? They become observations and one symptom.

Files are read outside any transaction. What they tell is stored in a short one, under the lock of the attempt's
row, and only while its judgement is still due as it was. The same dumps twice, or read by two, change nothing.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from audit.trail import record
from detectors.attribution.recorded import OLDER_BY_SECONDS
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.records import Finding
from detectors.dump_files import Asked, Look, Seen, Spending, look, shown
from detectors.dumps.picture import KEY, finding_of, keep_newer, rows_of
from detectors.dumps.recording import Recording
from detectors.found import store_told, take_back
from detectors.models import Anomaly, Observation
from detectors.sources.opening import real_roots
from detectors.storing import ALL
from detectors.turned import NO_VERDICT, READ_ON
from schedulers.states import FINAL, JobState
from workloads.attempt_logs import dump_patterns_of
from workloads.models import Attempt

MEMORY = "dumps"  # topic: what was read of which file, and what each rank's newest dump tells
RECORDED, MEMBERS, UNREAD = "recorded", "members", "unread_dumps"  # topics: what a verdict takes
TOPICS = (RECORDED, MEMBERS, UNREAD)
ROWS_KEPT = 20_000  # of all ranks' groups; one row for each, about 250 bytes in a verdict
NUMBERS_KEPT = 200_000  # ranks in all groups together
TOLD = 5  # files that are named in missing evidence
AGAIN = timedelta(seconds=15)  # between two looks for dumps, while late ones are waited for
ON = timedelta(seconds=5)  # between two looks while there is more than one of them reads


@dataclass
class Memory:
    """What is stored of an attempt's dumps. `too_much`: they tell more than is kept, so nothing of it counts."""

    seen: dict[str, Seen] = field(default_factory=dict)
    by_rank: dict[int, tuple[str, Recording]] = field(default_factory=dict)
    too_much: bool = False

    def take(self, told: Look) -> None:
        """What a look gave."""
        self.seen = told.seen
        for name, one in told.told:
            keep_newer(self.by_rank, name, one)
        rows = sum(len(one.rows) for _name, one in self.by_rank.values())
        numbers = sum(len(ranks) for _name, ranks in _groups(self.by_rank.values()))
        if rows > ROWS_KEPT or numbers > NUMBERS_KEPT:
            self.by_rank, self.too_much = {}, True

    def written(self) -> dict[str, Any]:
        """As JSON; a group that several ranks tell alike stands in it once."""
        groups = _groups(self.by_rank.values())
        places = {group: place for place, group in enumerate(groups)}
        ranks = {
            str(rank): [name, one.at, one.summary, one.rows, [places[_group(row)] for row in one.groups]]
            for rank, (name, one) in sorted(self.by_rank.items())
        }
        files = {path: [one.written, one.size, one.why] for path, one in sorted(self.seen.items())}
        return {"files": files, "groups": groups, "ranks": ranks, "too_much": self.too_much}


def read_memory(stored: Mapping[str, Any]) -> Memory:
    """What `Memory.written` wrote; an empty one where nothing is stored."""
    groups = [{"group": name, "ranks": ranks} for name, ranks in stored.get("groups", ())]
    by_rank = {
        int(rank): (name, Recording(int(rank), tuple(rows), tuple(groups[place] for place in own), at, summary))
        for rank, (name, at, summary, rows, own) in stored.get("ranks", {}).items()
    }
    seen = {path: Seen(*values) for path, values in stored.get("files", {}).items()}
    return Memory(seen, by_rank, bool(stored.get("too_much")))


def note_dumps(attempt: Attempt, now: datetime, spending: Spending) -> datetime | None:
    """Read and store what is new of an attempt's dumps; when to look again, `None`: nothing is waited for.

    With job and cluster. Nothing is opened unless the cluster says where dumps lie and there is a hang or an end.
    """
    patterns = dump_patterns_of(attempt) if attempt.job.cluster.dump_patterns else ()
    if not patterns or attempt.started_at is None:
        return None
    if not _is_wanted(attempt):
        _forget(attempt, now)
        return None
    until = _until(attempt, now)
    roots = real_roots(attempt.job.cluster.log_roots)
    asked = Asked(patterns, roots, attempt.job.user_id, attempt.nodes, attempt.started_at, until)
    memory = read_memory(_stored(attempt, [MEMORY]).get(MEMORY, {}))
    told = look(asked, memory.seen, spending)
    memory.take(told)
    _store(attempt, memory, told, now)
    if told.waiting:
        since = attempt.ended_at or _hung_at(attempt) or now
        return now + ON if now < since + READ_ON else None
    return now + AGAIN


def _is_wanted(attempt: Attempt) -> bool:
    state = JobState(attempt.state)
    if state in FINAL:
        return state not in NO_VERDICT
    return _hung_at(attempt) is not None


def _hung_at(attempt: Attempt) -> datetime | None:
    """Since when it is known to hang by something else than its dumps, which nothing later takes back."""
    hangs = Anomaly.objects.filter(attempt=attempt, kind=AnomalyKind.HANG.value, refuted_at=None)
    return hangs.exclude(key=KEY).order_by("detected_at").values_list("detected_at", flat=True).first()


def _until(attempt: Attempt, now: datetime) -> datetime:
    """The last moment at which a dump of the attempt was written: the next attempt may write to the same names."""
    later = Attempt.objects.filter(job_id=attempt.job_id, index__gt=attempt.index, started_at__isnull=False)
    next_at = later.order_by("started_at").values_list("started_at", flat=True).first()
    ended = attempt.ended_at + READ_ON if attempt.ended_at else None
    # A file server's clock may be ahead of ours.
    return min(filter(None, (next_at, ended)), default=now + READ_ON)


def _store(attempt: Attempt, memory: Memory, told: Look, now: datetime) -> None:
    whole = not memory.too_much and not told.waiting
    rows, members = rows_of(memory.by_rank) if whole else ([], [])
    values: dict[str, Any] = {
        MEMORY: memory.written(),
        RECORDED: rows,
        MEMBERS: members,
        UNREAD: [{"why": why} for why in _sentences(memory, told)],
    }
    finding = _finding(attempt, memory, now) if whole else None
    _change(attempt, values, finding, now, over=whole and finding is None)


def _forget(attempt: Attempt, now: datetime) -> None:
    """The hang that they spoke of is over; that each file was read is kept, and nothing that it told."""
    stored = _stored(attempt, [MEMORY, *TOPICS])
    if not stored.keys() & set(TOPICS):
        return
    memory = replace(read_memory(stored.get(MEMORY, {})), by_rank={})
    values: dict[str, Any] = {MEMORY: memory.written(), RECORDED: [], MEMBERS: [], UNREAD: []}
    _change(attempt, values, None, now, over=True)


def _change(
    attempt: Attempt, values: Mapping[str, Any], finding: Finding | None, now: datetime, *, over: bool
) -> None:
    """Store what differs, and the symptom; `over`: it is taken back where it was stored."""
    wanted = {topic: value for topic, value in json.loads(json.dumps(values)).items() if value}
    with transaction.atomic():
        # Takes the row's lock: whoever else judges it at this moment waits, and then sees what is stored here.
        mine = Attempt.objects.filter(pk=attempt.pk, judge_due_at=attempt.judge_due_at, state=attempt.state)
        if not mine.update(judge_due_at=attempt.judge_due_at):
            return
        stored = _stored(attempt, values)
        for topic, value in wanted.items():
            if stored.get(topic) != value:
                new = {"value": value, "at": now}
                Observation.objects.update_or_create(attempt=attempt, topic=topic, key=ALL, defaults=new)
        Observation.objects.filter(attempt=attempt, topic__in=stored.keys() - wanted.keys()).delete()
        entries = store_told(attempt, finding, now) if finding is not None else []
        gone = Anomaly.objects.filter(attempt=attempt, key=KEY, refuted_at=None) if over else ()
        for row in gone:
            entries += take_back(row, f"The dumps of attempt {attempt.label} tell of nobody who waits now.", now)
        if entries:
            record(entries, now)


def _stored(attempt: Attempt, topics: Iterable[str]) -> dict[str, Any]:
    rows = Observation.objects.filter(attempt=attempt, topic__in=list(topics))
    return dict(rows.values_list("topic", "value"))


def _finding(attempt: Attempt, memory: Memory, now: datetime) -> Finding | None:
    found, last = finding_of(memory.by_rank), attempt.last_step_at
    if found is None or attempt.started_at is None:
        return None
    newest = max(one.at for _name, one in memory.by_rank.values())
    if last is not None and newest < last.timestamp() - OLDER_BY_SECONDS:
        return None  # somebody waited once, and the attempt went on
    # What a job writes may tell any moment; what happened to it happened while it was there.
    latest = min(now, attempt.ended_at or now)
    return replace(found, happened_at=max(attempt.started_at, min(found.happened_at, latest)))


def _sentences(memory: Memory, told: Look) -> list[str]:
    broken = [(path, one.why) for path, one in sorted(told.seen.items()) if one.why]
    said = [f"the dump {shown(path)} was not read: {why}" for path, why in broken[:TOLD]]
    if len(broken) > TOLD:
        said.append(f"{len(broken) - TOLD} more dumps could not be read")
    if memory.too_much:
        said.append(f"the dumps tell more than {ROWS_KEPT} places of ranks in groups: they were left out")
    if told.waiting:
        said.append(f"{told.waiting} dumps were not read yet: until then none counts")
    return [*told.troubles[:TOLD], *said]


def _groups(dumps: Iterable[tuple[str, Recording]]) -> list[tuple[str, tuple[int, ...]]]:
    """Every group that they tell, each once, in order."""
    return sorted({_group(row) for _name, one in dumps for row in one.groups})


def _group(row: Mapping[str, Any]) -> tuple[str, tuple[int, ...]]:
    return row["group"], tuple(row["ranks"])
