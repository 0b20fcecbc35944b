"""How quickly is something found in a trail of ten million events?

`python -m lab.stores nice python -m benchmarks.trail_length [--events N] [--pool MIB]` on an empty MariaDB makes
the rows (`benchmarks.trail_rows`) and asks what the API, the console and the policy ask: the index, the rows read
by the database's own count, and the time through the ORM. `--ask` asks only, of rows that are there.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from statistics import median
from typing import Any

from benchmarks.fresh_site import prepare  # Django must be ready before anything that has models

# isort: split

from django.db import connection
from django.utils import timezone

from advisor_api.correcting import acted_on
from advisor_api.paging import Page, page_of, read_token
from advisor_api.trail_reading import PRODUCED, timeline_of
from advisor_api.trail_search import Filters, order_of, search
from audit.models import AuditEvent
from benchmarks.machine import machine_line
from benchmarks.trail_rows import LONG_JOB, fill
from console import job_rows
from console.asking import Asked, Scope, version_of
from console.changes import Watcher, catch_up
from console.contexts.site import newest_events
from workloads.models import Attempt, Cluster, Job

REPEAT = 7
PAGE = 100
GOAL_MS = 200.0

Ask = Callable[[], object]


def main() -> int:
    """Markdown; 1 when a query takes longer than the goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--pool", type=int, default=1024, help="MiB of the database's buffer pool")
    parser.add_argument("--ask", action="store_true", help="the rows are there")
    options = parser.parse_args()
    if connection.vendor != "mysql":
        print("Give it MariaDB: python -m lab.stores python -m benchmarks.trail_length", file=sys.stderr)
        return 2
    print(f"{machine_line()}\n")
    if not options.ask:
        prepare()
        _pool(2048)
        cluster = Cluster.objects.create(name="demo", environment="demo")
        print(f"{options.events} events made in {fill(cluster, options.events):.0f} s.")
    _pool(options.pool)
    _size(options.pool)
    late = [name for name, ask in _asked(Cluster.objects.get(name="demo")) if _measure(name, ask) > GOAL_MS]
    print(f"\nLonger than {GOAL_MS:.0f} ms: {', '.join(late) or 'none'}.")
    return 1 if late else 0


def _pool(mebibytes: int) -> None:
    """Dynamic, and done when the status says so."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET GLOBAL innodb_buffer_pool_size = {mebibytes * 1048576}")
        for _wait in range(300):
            cursor.execute("SHOW STATUS LIKE 'Innodb_buffer_pool_resize_status'")
            if "omplete" in cursor.fetchone()[1]:
                return
            time.sleep(0.2)


def _size(pool: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_rows, data_length / 1048576, index_length / 1048576 FROM information_schema.tables "
            "WHERE table_schema = DATABASE() AND table_name = 'audit_auditevent'"
        )
        events, rows, indexes = cursor.fetchone()
    print(f"Some {events} events, {rows:.0f} MiB of rows, {indexes:.0f} MiB of indexes, buffer pool {pool} MiB.\n")
    print("| asked | index | rows read | first ms | median ms | worst of 7 ms |\n|---|---|--:|--:|--:|--:|")


def _asked(cluster: Cluster) -> Iterator[tuple[str, Ask]]:
    yield from _searches()
    yield from _of_jobs(cluster)
    yield from _of_the_console(cluster)


def _searches() -> Iterator[tuple[str, Ask]]:
    """Pages of `GET /v1/trail`, newest first; the last page's token where it says so."""
    middle = timezone.now() - timedelta(days=180)
    hour: dict[str, Any] = {"since": middle - timedelta(hours=1), "until": middle}
    yield "newest", _page()
    yield "the next page, deep in the past", _page(deep=True, until=middle)
    yield "an hour, half a year ago", _page(**hour)
    single: dict[str, str] = {
        "type": "verdict",
        "level": "error",
        "node": "n17",
        "user": "user3",
        "actor": "rule7",
        "pattern": "pattern9",
        "action": "act9",
    }
    for name, value in single.items():
        one: dict[str, Any] = {name: value}
        yield name, _page(**one)
        yield f"{name}, an hour half a year ago", _page(**one, **hour)
        yield f"{name}, the next page deep in the past", _page(deep=True, **one, until=middle)
    yield "the type that most events have", _page(type="checkpoint_saved")
    for name in single:
        nothing: dict[str, Any] = {name: "none"}
        yield f"{name} that there is none of", _page(**nothing)
    yield "type and node", _page(type="verdict", node="n17")
    yield "level and pattern", _page(level="error", pattern="pattern20")
    yield "user and type", _page(user="user3", type="action")
    yield "actor kind and level", _page(actor_kind="detector", level="error")
    yield "user and level", _page(user="user3", level="error")


def _of_jobs(cluster: Cluster) -> Iterator[tuple[str, Ask]]:
    attempt = Attempt.objects.select_related("job__cluster").order_by("job__number")[0]
    long = Attempt.objects.select_related("job__cluster").get(job__number=LONG_JOB)
    yield "job", _page(job_number=attempt.job.number)
    yield "job of 0.1 % of all events", _page(job_number=LONG_JOB)
    yield "attempt", _page(heimdall_job_id=attempt.heimdall_id)
    yield "attempt of 0.1 % of all events", _page(heimdall_job_id=long.heimdall_id)
    yield "timeline of an attempt (API)", lambda: list(timeline_of(attempt).order_by(PRODUCED, "pk")[:PAGE])
    yield "what was acted on", lambda: acted_on(attempt)
    for name, job in (("a job", attempt.job), ("the long job", long.job)):
        yield f"timeline of {name} (console)", _call(job_rows.events_of, job, cluster)
        yield f"left alone, {name}", _call(job_rows.left_alone, job, cluster)
        yield f"corrections, {name}", _call(job_rows.corrections_of, job, cluster)
        yield f"checkpoints, {name}", _call(job_rows.checkpoints_saved, job, cluster)
        yield f"marks of the picture, {name}", _call(job_rows.marked_of, job, cluster)
        yield f"where its list begins, {name}", _call(job_rows.first_listed, job, cluster)


def _of_the_console(cluster: Cluster) -> Iterator[tuple[str, Ask]]:
    asked = Asked(now=timezone.now(), cluster=cluster, job=Job.objects.get(number=LONG_JOB))
    for scope in Scope:
        yield f"version of a panel: {scope.label.lower()}", _call(version_of, scope, asked)
    yield "newest events (overview)", _call(newest_events, asked)
    watcher = Watcher()
    last = AuditEvent.objects.order_by("-id").values_list("id", flat=True)[0]
    yield "tail of the live feed", lambda: watcher.look(frozenset(), timezone.now())
    yield "catching up after 200 events", lambda: catch_up(frozenset({"overview"}), last - 200, timezone.now())


def _call(ask: Callable[..., object], *words: object) -> Ask:
    return lambda: ask(*words)


def _page(deep: bool = False, **filters: Any) -> Ask:
    """A page as the API makes it; with `deep` the one that the first one's token leads to."""
    wanted = Filters(**filters)
    rows = search("demo", wanted)

    def ask(token: str = "") -> Page[AuditEvent]:
        return page_of(
            rows,
            read_token(token, ""),
            PAGE,
            bound_to="",
            keys=order_of(wanted),
            descending=True,
            numbers_first=True,
        )

    token = ask().next_token if deep else ""
    return lambda: ask(token)


def _measure(name: str, ask: Ask) -> float:
    """The worst of all but the first, which finds nothing of its own in the buffer pool; prints a line."""
    times, seen = [], _Seen()
    for _try in range(REPEAT + 1):
        with seen:
            began = time.perf_counter()
            ask()
            times.append((time.perf_counter() - began) * 1000)
    first, *others = times
    print(
        f"| {name} | {seen.indexes} | {seen.rows} | {first:.1f} | {median(others):.1f} | {max(others):.1f} |",
        flush=True,
    )
    return max(others)


class _Seen:
    """What the database read, by its own counters of this connection, and by which indexes."""

    def __init__(self) -> None:
        self.rows, self.indexes = 0, ""
        self._queries: list[tuple[str, Sequence[Any]]] = []

    def __enter__(self) -> None:
        self._before = _read_rows()
        self._queries.clear()
        self._wrapped = connection.execute_wrapper(self._note)
        self._wrapped.__enter__()

    def __exit__(self, *_error: object) -> None:
        self._wrapped.__exit__(None, None, None)
        self.rows = _read_rows() - self._before
        if not self.indexes:
            self.indexes = (
                " + ".join(dict.fromkeys(key for query in self._queries for key in _keys(*query))) or "none"
            )

    def _note(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "audit_auditevent" in sql:
            self._queries.append((sql, params))
        return execute(sql, params, many, context)


def _read_rows() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SHOW SESSION STATUS LIKE 'Handler_read%'")
        return sum(int(value) for _name, value in cursor.fetchall())


def _keys(sql: str, values: Sequence[Any]) -> Iterator[str]:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sql}", list(values))
        names = [column[0] for column in cursor.description]
        for row in cursor.fetchall():
            yield str(dict(zip(names, row, strict=True))["key"])


if __name__ == "__main__":
    sys.exit(main())
