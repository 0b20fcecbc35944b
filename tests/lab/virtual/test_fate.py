"""Does a part of the product die where it was chosen to, and does nothing of it live on?"""

from collections.abc import Iterator

import pytest
from django.db import connection, transaction

from lab.virtual.clock import OtherClock, VirtualClock
from lab.virtual.fate import SITE, Doom, Fate, Killed
from lab.virtual.mortal import MortalDatabase
from workloads.models import Cluster

PART = f"{SITE}deciding"


@pytest.fixture
def fate() -> Iterator[Fate]:
    """Of whoever works on the database."""
    found = Fate()
    with MortalDatabase(found):
        yield found


def doom(fate: Fate, kind: str, left: int, when: str) -> None:
    fate.dooms[PART] = Doom(frozenset({kind}), left, when)


def store(name: str) -> None:
    Cluster.objects.create(name=name, environment=name)


@pytest.mark.parametrize(("when", "names"), [("before", ["a"]), ("after", ["a", "b"])])
@pytest.mark.django_db
def test_a_worker_dies_at_the_second_write(fate: Fate, when: str, names: list[str]) -> None:
    doom(fate, "write", 2, when)
    with pytest.raises(Killed), fate.acting(PART):
        for name in "abc":
            store(name)
    assert sorted(Cluster.objects.values_list("name", flat=True)) == names
    assert fate.deaths == {f"site {when} a write": 1}


@pytest.mark.django_db
def test_a_transaction_dies_with_its_worker(fate: Fate) -> None:
    doom(fate, "write", 2, "after")
    with pytest.raises(Killed), fate.acting(PART), transaction.atomic():
        for name in "abc":
            store(name)
    assert not Cluster.objects.exists()


@pytest.mark.django_db
def test_what_a_dying_worker_still_tries_is_refused(fate: Fate) -> None:
    doom(fate, "write", 1, "before")
    with pytest.raises(Killed), fate.acting(PART):
        try:
            store("a")
        finally:
            store("its last words")
    fate.revive(PART)
    with fate.acting(PART):
        store("the next one")
    assert list(Cluster.objects.values_list("name", flat=True)) == ["the next one"]


@pytest.mark.parametrize(("when", "stored"), [("before", False), ("after", True)])
@pytest.mark.django_db(transaction=True)
def test_a_worker_dies_before_or_after_its_commit(fate: Fate, when: str, stored: bool) -> None:
    called: list[str] = []
    doom(fate, "commit", 1, when)
    with pytest.raises(Killed), fate.acting(PART), transaction.atomic():
        store("a")
        transaction.on_commit(lambda: called.append("a"))
    MortalDatabase(fate).revive(PART)
    assert Cluster.objects.exists() is stored
    assert not connection.in_atomic_block
    with transaction.atomic():
        store("b")
    assert called == []


@pytest.mark.django_db
def test_others_live(fate: Fate) -> None:
    doom(fate, "write", 1, "before")
    with fate.acting(f"{SITE}reading"):
        store("a")
    store("b")
    assert Cluster.objects.count() == 2


def test_half_a_line_is_left() -> None:
    fate, left = Fate(), []
    fate.dooms["controller c"] = Doom(frozenset({"line"}), 1, "torn")
    with pytest.raises(Killed), fate.acting("controller c"), fate.step("line", lambda: left.append("half")):
        left.append("whole")
    assert left == ["half"]


def test_clocks_are_wrong_and_time_goes_on() -> None:
    first = VirtualClock(1_777_622_400.0)
    other = OtherClock(first)
    first.ahead, other.ahead = -7200.0, 30.0
    first.seconds += 1
    assert (other.now() - first.now()).total_seconds() == 7230
    assert other.monotonic() == first.monotonic() == 1_777_622_401.0


@pytest.mark.django_db(transaction=True)
def test_a_worker_dies_right_after_its_transaction_began(fate: Fate) -> None:
    doom(fate, "statement", 1, "after")
    with pytest.raises(Killed), fate.acting(PART), transaction.atomic():
        store("a")
    MortalDatabase(fate).revive(PART)
    with transaction.atomic():
        store("b")
    assert list(Cluster.objects.values_list("name", flat=True)) == ["b"]
