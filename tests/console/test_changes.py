"""Does the tail find every change, also those that are committed out of order?"""

from datetime import datetime, timedelta

import pytest

from audit.event_type import EventType
from audit.models import AuditEvent
from console.changes import DOUBT, WINDOW_IDS, Watcher, catch_up
from console.topics import SITE, is_topic, job_topic, topics_of_event
from tests.console.sample import Sample
from workloads.models import Attempt, Cluster

JOB = job_topic("demo", 4711, 0)
WANTED = frozenset({"overview", "cluster:demo", JOB})


def put(pk: int, at: datetime, kind: EventType = EventType.ADVICE, **more: object) -> None:
    """One event with a chosen id, as if its transaction had just committed."""
    about = {"cluster": "demo", "job_number": 4711, "job_epoch": 0} | more
    AuditEvent.objects.create(pk=pk, at=at, actor_kind="rule", actor="x", type=kind, sentence="x", **about)


@pytest.fixture
def watcher(rows: Sample, now: datetime) -> Watcher:
    made = Watcher()
    assert made.look(WANTED, now).topics == frozenset(), "what was there before is known"
    return made


@pytest.mark.parametrize(
    ("kind", "job", "topics"),
    [
        (EventType.VERDICT, True, {"overview", "cluster:demo", JOB}),
        (EventType.CHECKPOINT_SAVED, True, {JOB}),
        (EventType.CANNOT_SEE, False, {"overview", "cluster:demo"}),
        (EventType.MODE_CHANGED, False, {"overview", "cluster:demo", "gates:demo"}),
    ],
)
def test_topics_of_an_event(kind: EventType, job: bool, topics: set[str]) -> None:
    assert topics_of_event("demo", 4711 if job else None, 0 if job else None, kind.value) == topics


def test_an_event_of_the_site_touches_the_overview_only() -> None:
    assert topics_of_event("", None, None, EventType.SIGN_IN.value) == {"overview", SITE}


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("overview", True),
        ("cluster:demo-2.x_y", True),
        ("gates:demo", True),
        (JOB, True),
        ("", False),
        ("wake", False),
        (SITE, False),
        ("cluster:", False),
        ("cluster:../x", False),
        ("job:demo/4711", False),
        ("job:demo/x/0", False),
        ("overview\n", False),
        (f"job:demo/{'9' * 18}/{'9' * 10}", True),
        (f"job:demo/{'9' * 19}/0", False),
        ("job:demo/٤٧١١/0", False),
    ],
)
def test_what_may_be_subscribed_to(text: str, good: bool) -> None:
    assert is_topic(text) is good


@pytest.mark.parametrize("text", [f"job:demo/{'9' * 18}/{'9' * 10}", "job:demo/0/0"])
def test_no_topic_of_one_page_keeps_others_from_hearing(text: str, watcher: Watcher, now: datetime) -> None:
    assert is_topic(text)
    assert watcher.look(frozenset({text}), now).topics == frozenset()
    assert catch_up(frozenset({text}), watcher.last_id, now).topics == frozenset()


def test_a_new_event_is_found_once(watcher: Watcher, now: datetime) -> None:
    put(watcher.last_id + 1, now)
    assert watcher.look(WANTED, now).topics == WANTED
    assert watcher.look(WANTED, now).topics == frozenset()


def test_an_event_committed_below_the_newest_is_found(watcher: Watcher, now: datetime) -> None:
    first = watcher.last_id + 1
    put(first + 1, now)
    assert watcher.look(WANTED, now).topics
    put(first, now - timedelta(minutes=10), EventType.CHECKPOINT_SAVED)
    assert watcher.look(WANTED, now).topics == {JOB}, "however old its time is"
    assert watcher.look(WANTED, now).topics == frozenset()


def test_one_committed_late_before_the_tail_began_is_found(rows: Sample, now: datetime) -> None:
    gap = AuditEvent.objects.order_by("-id").first().pk + 1
    put(gap + 1, now)
    watcher = Watcher()
    watcher.look(WANTED, now)
    put(gap, now)
    assert JOB in watcher.look(WANTED, now).topics


def test_ids_that_were_rolled_back_are_forgotten_in_the_end(watcher: Watcher, now: datetime) -> None:
    put(watcher.last_id + 500, now)
    watcher.look(WANTED, now)
    assert 0 < len(watcher.missing) <= WINDOW_IDS
    put(watcher.last_id + 10 * WINDOW_IDS, now)
    watcher.look(WANTED, now)
    assert len(watcher.missing) <= WINDOW_IDS


def test_progress_is_found_for_jobs_that_somebody_looks_at(watcher: Watcher, now: datetime) -> None:
    later = now + timedelta(seconds=7)
    Attempt.objects.filter(job__number=4711, index=1).update(changed_at=later, last_step=900)
    assert watcher.look(frozenset({"overview"}), later).topics == frozenset()
    assert watcher.look(WANTED, later).topics == {JOB}
    assert watcher.look(WANTED, later).topics == frozenset()


def test_progress_whose_commit_took_a_while_is_found(watcher: Watcher, now: datetime) -> None:
    later = now + timedelta(seconds=20)
    watcher.look(WANTED, later)
    Attempt.objects.filter(job__number=4711, index=1).update(changed_at=later - timedelta(seconds=3))
    assert watcher.look(WANTED, later).topics == {JOB}


def test_a_change_of_a_cluster_is_found(watcher: Watcher, now: datetime) -> None:
    Cluster.objects.filter(name="demo").update(changed_at=now)
    assert watcher.look(WANTED, now).topics == {"overview", "cluster:demo"}


def test_a_job_of_the_same_number_elsewhere_is_another_topic(watcher: Watcher, now: datetime) -> None:
    put(watcher.last_id + 1, now, EventType.CHECKPOINT_SAVED, job_epoch=1)
    assert JOB not in watcher.look(WANTED, now).topics


def test_catching_up_gives_what_was_missed_and_nothing_else(rows: Sample, now: datetime) -> None:
    last = AuditEvent.objects.order_by("-id").first().pk
    later = now + 2 * DOUBT
    assert catch_up(WANTED, last, later).topics == frozenset()
    put(last + 1, now, EventType.CHECKPOINT_SAVED)
    look = catch_up(WANTED, last, later)
    assert (look.topics, look.last_id) == ({JOB}, last + 1)
    assert catch_up(frozenset({"cluster:far-away"}), last, later).topics == frozenset()


def test_catching_up_doubts_what_was_committed_while_the_page_was_made(rows: Sample, now: datetime) -> None:
    last = AuditEvent.objects.order_by("-id").first().pk
    put(last + 2, now)
    put(last + 1, now)
    assert JOB in catch_up(WANTED, last + 2, now).topics


def test_who_was_away_for_long_is_told_everything(
    rows: Sample, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.changes.EVENTS_AT_MOST", 5)
    assert catch_up(WANTED, 0, now + timedelta(hours=1)).topics == WANTED | {SITE}


def test_progress_while_the_page_was_made_is_told(rows: Sample, now: datetime) -> None:
    last = AuditEvent.objects.order_by("-id").first().pk
    Attempt.objects.filter(job__number=4711, index=1).update(changed_at=now)
    assert catch_up(frozenset({JOB}), last, now + timedelta(seconds=8)).topics == {JOB}
