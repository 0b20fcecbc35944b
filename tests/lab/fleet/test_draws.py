"""Are the draws those of the published distributions?"""

import statistics

import pytest

from lab.fleet import draws, published
from lab.fleet.classes import HARDWARE_PART, MACHINE, PROGRAM, SOFTWARE
from lab.fleet.draws import chance
from lab.fleet.options import Options
from lab.fleet.works import mean_node_hours, work, works

N = 10_000
BIG = 512


@pytest.fixture(scope="module")
def lives() -> list[float]:
    dice = chance(7, "lives")
    return [draws.life(dice) for _ in range(N)]


@pytest.fixture(scope="module")
def sizes() -> list[int]:
    dice = chance(7, "sizes")
    return [draws.size(dice, BIG) for _ in range(N)]


def test_lives_have_the_median_and_the_mean_of_the_truncated_lognormal(lives: list[float]) -> None:
    assert statistics.median(lives) == pytest.approx(draws.median_life(), rel=0.05)
    assert statistics.fmean(lives) == pytest.approx(draws.mean_life(), rel=0.05)
    assert min(lives) >= published.SHORTEST_SECONDS and max(lives) <= published.LONGEST_SECONDS


def test_the_lognormal_has_the_published_median_and_mean() -> None:
    dice = chance(7, "all lives")
    seconds = [draws.delay(dice, published.LIFE_MEDIAN_SECONDS, published.LIFE_SIGMA) for _ in range(20 * N)]
    assert statistics.median(seconds) == pytest.approx(206, rel=0.05)
    assert statistics.fmean(seconds) == pytest.approx(6652, rel=0.25)  # so heavy a tail needs many draws


def test_big_jobs_take_the_published_share_of_the_gpu_time(sizes: list[int], lives: list[float]) -> None:
    taken = [size * life for size, life in zip(sizes, lives, strict=True)]
    big = sum(one for one, size in zip(taken, sizes, strict=True) if size >= published.BIG_NODES)
    assert big / sum(taken) == pytest.approx(published.BIG_SHARE, abs=0.05)
    assert statistics.fmean(sizes) == pytest.approx(draws.mean_size(BIG), rel=0.05)
    assert statistics.median(sizes) == 1


def test_nobody_asks_for_more_than_its_share_of_the_cluster() -> None:
    assert max(work(Options(nodes=64), number, 0.0).play.nodes for number in range(500)) == 16


def test_causes_come_as_often_as_counted() -> None:
    assert sum(published.LLAMA_CAUSES.values()) == 419
    assert sum(MACHINE.values()) == pytest.approx(419)
    assert MACHINE[SOFTWARE] == 56
    dice = chance(7, "causes")
    drawn = [draws.pick(dice, MACHINE) for _ in range(N)]
    for kind, weight in MACHINE.items():
        assert drawn.count(kind) / N == pytest.approx(weight / 419, abs=0.015), kind.name
    assert sum(PROGRAM.values()) == pytest.approx(1)


def test_moments_without_memory_come_at_their_rate() -> None:
    rate = published.NODE_DAY_RATE / HARDWARE_PART
    days = [list(draws.times(chance(7, node), rate, 0.0, 30 * published.DAY)) for node in range(2000)]
    assert sum(map(len, days)) * HARDWARE_PART / 60_000 == pytest.approx(0.0065, rel=0.1)


def test_works_meet_with_what_their_users_do_as_often_as_published() -> None:
    options = Options()
    found = [kind.name for number in range(N) for kind in work(options, number, 0.0).plan]
    limited = sum(work(options, number, 0.0).play.time_limit_seconds > 0 for number in range(N))
    programs = sum(found.count(kind.name) for kind in PROGRAM)
    assert programs / N == pytest.approx(0.172, abs=0.015)
    assert found.count("fleet.cancelled") / N == pytest.approx(0.135, abs=0.015)
    assert limited / N == pytest.approx(published.TIME_LIMIT_SHARE, abs=0.01)


def test_the_stream_keeps_the_wanted_share_of_the_nodes_busy() -> None:
    options = Options(days=30)
    stream = list(works(options))
    hours = sum(one.play.nodes * one.play.steps * options.step_seconds / 3600 for one in stream)
    assert hours / (options.nodes * 720) == pytest.approx(published.BUSY, rel=0.15)
    assert mean_node_hours(options) > 10


def test_the_same_seed_gives_the_same_works_and_another_one_others() -> None:
    assert list(works(Options(days=2))) == list(works(Options(days=2)))
    assert list(works(Options(days=2))) != list(works(Options(days=2, seed=2)))
