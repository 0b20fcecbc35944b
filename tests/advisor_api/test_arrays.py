"""Does the test over an array stop for a bug, and for nothing else? Cases in words, then arrays by chance."""

from statistics import median

import pytest

from advisor_api.policy.arrays import ENOUGH, Task, score_of
from benchmarks.array_sweeps import BUGS, INNOCENT, Sweep, fewest, play

SHARE = 0.01


def died(host: int, seconds: float = 30.0) -> Task:
    return Task(frozenset({f"n{host}"}), True, seconds)


def runs(host: int, seconds: float) -> Task:
    return Task(frozenset({f"n{host}"}), False, seconds)


def done(host: int) -> Task:
    return Task(frozenset({f"n{host}"}), False, 600.0, completed=True)


def on_all(*hosts: int) -> Task:
    return Task(frozenset(f"n{host}" for host in hosts), True, 30.0)


STOPS = [
    ("six in a row on six hosts", [died(host) for host in range(6)]),
    ("six in a row, while younger ones run", [*map(died, range(6)), *(runs(host, 5) for host in range(6, 60))]),
    ("after a thousand that completed", [*(done(at % 20) for at in range(900)), *map(died, range(6))]),
    ("every second one", [task for host in range(12) for task in (done(host), died(host + 20))]),
    ("on two hosts alternately", [died(at % 2) for at in range(10)]),
    ("each on half of sixteen hosts", [on_all(*range(at % 2 * 8, at % 2 * 8 + 8)) for at in range(10)]),
]
GOES_ON = [
    ("nothing has started", []),
    ("the only one", [died(1)]),
    ("four in a row", [died(host) for host in range(4)]),
    ("six among many that ran longer", [died(h) if h % 20 == 0 else runs(h, 40) for h in range(120)]),
    ("twelve on the same host, others are well", [t for at in range(12) for t in (died(1), done(at + 2))]),
    ("thirty on one host, and no other was tried", [died(1) for _ in range(30)]),
    ("on one of two hosts", [t for _ in range(30) for t in (died(1), done(2))]),
    (
        "six in a row, and then hundreds that completed before the next",
        [*map(died, range(6)), *map(done, range(300)), died(7)],
    ),
]


@pytest.mark.parametrize("tasks", [pytest.param(row[1], id=row[0]) for row in STOPS])
def test_it_stops(tasks: list[Task]) -> None:
    assert score_of(tasks, SHARE, of_program=False) >= ENOUGH


@pytest.mark.parametrize("tasks", [pytest.param(row[1], id=row[0]) for row in GOES_ON])
def test_it_goes_on(tasks: list[Task]) -> None:
    assert score_of(tasks, SHARE, of_program=False) < ENOUGH


def test_where_one_host_is_all_there_is_only_the_programs_own_word_stops() -> None:
    alone = [died(1) for _ in range(6)]
    assert score_of(alone, SHARE, of_program=True) >= ENOUGH
    assert score_of([*alone, done(2)], SHARE, of_program=True) < ENOUGH


@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_where_chance_strikes_so_often_nothing_is_systemic(share: float) -> None:
    assert score_of([died(host) for host in range(50)], share, of_program=True) == 0.0


def test_chance_that_never_strikes_is_no_division_by_nothing() -> None:
    assert score_of([died(1), died(2)], 0.0, of_program=False) < score_of(
        [died(h) for h in range(4)], 0.0, of_program=False
    )


@pytest.mark.parametrize("sweep", [sweep for sweep in BUGS if sweep.tasks == 100], ids=lambda sweep: sweep.name)
def test_a_bug_is_seen_after_about_ten_failures(sweep: Sweep) -> None:
    ends = [play(sweep, seed) for seed in range(20)]
    assert sum(stopped for stopped, _failed in ends) >= 17
    assert median(failed for stopped, failed in ends if stopped) <= 11


@pytest.mark.parametrize(
    "sweep", [sweep for sweep in INNOCENT if sweep.tasks == 100 or sweep.bad_hosts], ids=lambda sweep: sweep.name
)
def test_chance_and_bad_hosts_stop_no_array(sweep: Sweep) -> None:
    assert not any(play(sweep, seed)[0] for seed in range(2))


def test_a_bug_that_begins_in_the_middle_is_seen_as_soon() -> None:
    (sweep,) = [sweep for sweep in BUGS if sweep.from_task]
    assert median(play(sweep, seed)[1] for seed in range(10)) <= 10


@pytest.mark.parametrize(
    ("at_once", "tasks", "few"), [(64, 1000, 5), (64, 10_000, 6), (256, 1000, 9), (256, 10_000, 11), (2, 2, 2)]
)
def test_no_test_can_be_sooner(at_once: int, tasks: int, few: int) -> None:
    assert fewest(at_once, tasks) == few
