"""How does an event get into the trail?"""

import pytest
from django.db import IntegrityError, transaction

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.models import AuditEvent
from audit.trail import Actor, Entry, Subject, record
from tests.workloads.scripted import START, after

ACTOR = Actor(ActorKind.RULE, "policy")


def an_entry(**facts: object) -> Entry:
    return Entry(EventType.ADVICE, Subject("demo", 12345, 0, 1), ACTOR, "Restart it.", **facts)  # type: ignore[arg-type]


@pytest.mark.django_db
def test_everything_of_an_entry_is_stored_in_order() -> None:
    record(
        [an_entry(level=Level.WARNING, action="restart", payload={"nodes": ["n03"]}, scheduler_at=START)], after(1)
    )
    record([an_entry(), an_entry(advice_generation=2)], after(2))
    first, second, third = AuditEvent.objects.all()
    assert (first.at, first.scheduler_at, first.level, first.action) == (after(1), START, "warning", "restart")
    assert (first.payload, first.attempt_label, first.actor) == ({"nodes": ["n03"]}, "12345-1", "policy")
    assert (second.at, third.advice_generation) == (after(2), 2)
    assert len({first.uuid, second.uuid, third.uuid}) == 3


@pytest.mark.django_db
def test_long_sentences_and_names_are_cut() -> None:
    entry = Entry(EventType.CLIENT, Subject("demo"), Actor(ActorKind.TOKEN, "a" * 500), "s" * 5000)
    [event] = record([entry], START)
    event.refresh_from_db()
    assert (len(event.sentence), len(event.actor), event.attempt_label) == (1000, 128, "")


@pytest.mark.django_db
def test_many_entries_are_few_statements(django_assert_max_num_queries: object) -> None:
    with django_assert_max_num_queries(30):  # type: ignore[operator]
        record([an_entry()] * 1000, START)
    assert AuditEvent.objects.count() == 1000


@pytest.mark.django_db(transaction=True)
def test_an_event_falls_with_the_change_it_speaks_of() -> None:
    with pytest.raises(RuntimeError), transaction.atomic():
        record([an_entry()], START)
        raise RuntimeError
    assert not AuditEvent.objects.exists()


@pytest.mark.django_db
def test_a_producer_s_key_is_stored_once() -> None:
    record([an_entry(producer_key="journal-1")], START)
    with pytest.raises(IntegrityError), transaction.atomic():
        record([an_entry(producer_key="journal-1")], START)
    assert AuditEvent.objects.count() == 1
