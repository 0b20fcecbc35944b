"""Whose turn is it to be observed?"""

from datetime import timedelta

import pytest

from tests.workloads.scripted import after, overtaken
from workloads.models import Cluster
from workloads.turns import Turn, claim_due, end_turn, hasten

COMMAND = timedelta(seconds=35)


def due_at(cluster: Cluster) -> object:
    return Cluster.objects.values_list("observe_due_at", flat=True).get(pk=cluster.pk)


def test_a_new_cluster_is_due_and_claimed_once(cluster: Cluster) -> None:
    assert claim_due(after(0), COMMAND) == [Turn(cluster.pk, after(35))]
    assert claim_due(after(0), COMMAND) == []
    assert claim_due(after(34.9), COMMAND) == []


def test_of_two_workers_that_found_it_due_one_claims_it(cluster: Cluster) -> None:
    first: list[Turn] = []
    with overtaken("workloads_cluster", lambda: first.extend(claim_due(after(0), COMMAND))):
        second = claim_due(after(1), COMMAND)
    assert (first, second) == ([Turn(cluster.pk, after(35))], [])


def test_a_worker_that_dies_leaves_a_cluster_that_is_due_again(cluster: Cluster) -> None:
    claim_due(after(0), COMMAND)
    assert claim_due(after(35), COMMAND) == [Turn(cluster.pk, after(70))]


def test_a_claim_lasts_longer_than_a_poll_when_that_is_longer(cluster: Cluster) -> None:
    Cluster.objects.update(poll_seconds=60)
    assert claim_due(after(0), COMMAND) == [Turn(cluster.pk, after(90))]


def test_the_next_turn_is_a_jittered_poll_after_the_last_began(cluster: Cluster) -> None:
    for chance, expected in ((0.0, 12.0), (0.5, 15.0), (1.0, 18.0)):
        Cluster.objects.update(observe_due_at=None)
        [turn] = claim_due(after(0), COMMAND)
        end_turn(turn, after(0), after(1), lambda chance=chance: chance)  # type: ignore[misc]
        assert due_at(cluster) == after(expected)


def test_a_slow_observation_is_followed_by_a_rest(cluster: Cluster) -> None:
    [turn] = claim_due(after(0), COMMAND)
    end_turn(turn, after(0), after(28), lambda: 0.5)
    assert due_at(cluster) == after(31)


def test_a_turn_that_was_overtaken_ends_without_effect(cluster: Cluster) -> None:
    [turn] = claim_due(after(0), COMMAND)
    Cluster.objects.update(observe_due_at=after(2))  # an administrator changed something meanwhile
    end_turn(turn, after(0), after(3), lambda: 0.5)
    assert due_at(cluster) == after(2)


def test_one_slow_cluster_leaves_the_others_due(cluster: Cluster) -> None:
    other = Cluster.objects.create(name="other", observe_due_at=after(3))
    claim_due(after(0), COMMAND)
    assert claim_due(after(3), COMMAND) == [Turn(other.pk, after(38))]


def test_a_cluster_that_is_not_enabled_is_never_due(cluster: Cluster) -> None:
    Cluster.objects.update(enabled=False)
    assert claim_due(after(0), COMMAND) == []


def waiting(poll: float, seen: float, due: float) -> None:
    Cluster.objects.update(poll_seconds=poll, seen_at=after(seen), observe_due_at=after(due))


def test_a_failure_makes_the_next_look_due_as_soon_as_it_may_be(cluster: Cluster) -> None:
    waiting(poll=60, seen=0, due=66)
    hasten([cluster.pk], after(5))
    assert due_at(cluster) == after(15)
    waiting(poll=60, seen=0, due=66)
    hasten([cluster.pk, cluster.pk + 1], after(40))
    assert due_at(cluster) == after(40)


def test_whatever_fails_there_are_two_looks_in_30_seconds_at_most(cluster: Cluster) -> None:
    looks, second = [], 0
    Cluster.objects.update(poll_seconds=60)
    while second < 600:
        second += 1
        hasten([cluster.pk], after(second))  # something fails each second
        for turn in claim_due(after(second), COMMAND):
            looks.append(second)
            hasten([cluster.pk], after(second))
            Cluster.objects.update(seen_at=after(second))
            end_turn(turn, after(second), after(second), lambda: 0.5)
    assert len(looks) in range(38, 42)
    assert all(third - first >= 30 for first, third in zip(looks, looks[2:], strict=False))


@pytest.mark.parametrize(
    ("poll", "seen", "due"),
    [
        pytest.param(60, 0, 8, id="it_is_due_sooner_anyway"),
        pytest.param(15, 0, 14, id="the_default_poll"),
        pytest.param(60, 0, 120, id="a_look_is_under_way"),
        pytest.param(0.2, 0, 40, id="a_slow_scheduler_rests"),
        pytest.param(60, 50, 70, id="the_clock_was_set_back"),
    ],
)
def test_nothing_is_hastened(cluster: Cluster, poll: float, seen: float, due: float) -> None:
    waiting(poll, seen, due)
    hasten([cluster.pk], after(5))
    assert due_at(cluster) == after(due)


def test_a_cluster_never_seen_or_not_enabled_is_not_hastened(cluster: Cluster) -> None:
    waiting(poll=60, seen=0, due=66)
    Cluster.objects.update(enabled=False)
    hasten([cluster.pk], after(5))
    assert due_at(cluster) == after(66)
    Cluster.objects.update(enabled=True, seen_at=None)
    hasten([cluster.pk], after(5))
    assert due_at(cluster) == after(66)


def test_a_look_that_began_meanwhile_is_left_alone(cluster: Cluster) -> None:
    waiting(poll=60, seen=0, due=66)
    with overtaken("workloads_cluster", lambda: Cluster.objects.update(observe_due_at=after(100))):
        hasten([cluster.pk], after(5))
    assert due_at(cluster) == after(100)
