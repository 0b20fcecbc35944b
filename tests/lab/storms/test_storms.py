"""Is nothing done that must not be done, whatever comes at once? And is a run the same again?"""

import json
import random
import secrets
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import transaction

from lab.storms.drawing import draw, draw_site, site_of
from lab.storms.hazards import DOWN, SECONDS, Event
from lab.storms.keeping import TOGETHER, Sum, read_kept
from lab.storms.running import Ran, Storm
from tests.lab.storms.scenes import ECC, plan, play
from workloads import claim_marks
from workloads.mode import Mode

SEEDS = (27, 32)
"""Short enough for every day; `python -m lab.storms` lives through a thousand."""
DEADLY = (
    Event(2, "kill_worker", ("reading", "write", "4", "after")),
    Event(3, "kill_worker", ("observing", "write", "3", "before")),
    Event(5, "kill_worker", ("deciding", "write", "2", "before")),
    Event(6, "kill_worker", ("answering", "write", "1", "after")),
    Event(7, "kill_worker", ("judging", "write", "1", "after")),
    Event(30, "clock_site", ("-7200",)),
    Event(50, "clock_site", ("0",)),
)


@pytest.mark.django_db
def test_nothing_forbidden_is_done(tmp_path: Path) -> None:
    storm = Storm([draw(seed) for seed in SEEDS], DEADLY, tmp_path)
    ran = storm.live(100)
    assert [one.seed for one in ran] == list(SEEDS)
    assert [one.violations for one in ran] == [()] * len(SEEDS)
    assert sum(one.requeues for one in ran) >= 2, "nothing was done at all, so nothing was tried"
    assert sum(storm.site.fate.deaths.values()) >= 3, "nobody died"


@pytest.mark.django_db
def test_a_seed_is_the_same_run_again(tmp_path: Path) -> None:
    found: list[Ran] = []
    killed = Event(4, "kill_controller", ("line", "4", "torn", "0"))
    for turn in ("a", "b"):
        with transaction.atomic():
            storm = Storm([plan(play(ECC), events=(killed,))], (DEADLY[0], *DEADLY[2:5]), tmp_path / turn)
            found += storm.live(45)
            transaction.set_rollback(True)
    assert found[0] == found[1]
    assert found[0].requeues == 1
    assert found[0].violations == ()
    assert storm.site.fate.deaths["controller torn a line"] == 1
    assert sum(storm.site.fate.deaths.values()) >= 4


@pytest.mark.django_db
def test_a_run_has_no_chance_but_that_of_its_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a dead worker had claimed is due after a lease and a part of a second, which decides who comes first."""
    asked: list[str] = []

    def noted(name: str, real: Callable[..., float]) -> Callable[..., float]:
        return lambda *words: (asked.append(name), real(*words))[1]

    for place, name in (
        (claim_marks, "below"),
        (secrets, "randbelow"),
        (random, "random"),
        (random, "uniform"),
        (random.SystemRandom, "random"),
    ):
        monkeypatch.setattr(place, name, noted(name, getattr(place, name)))
    storm = Storm([plan(play(ECC))], (DEADLY[0], *DEADLY[2:5]), tmp_path)
    assert storm.live(45)[0].requeues == 1
    assert storm.site.fate.deaths["site after a write"] >= 2
    assert asked == []
    claim_marks.below(2)
    assert asked == ["below"], "it is the real chance again"


def test_plans_are_drawn_from_their_seed_alone() -> None:
    plans = [draw(seed) for seed in range(200)]
    assert plans == [draw(seed) for seed in range(200)]
    assert {plan.mode for plan in plans} == set(Mode)
    done = Counter(event.do for plan in plans for event in plan.events)
    for do in ("listing_empty", "listing_stale", "listing_slow", "listing_error", "listing_garbled", "cancel"):
        assert done[do], do
    for do in (
        "kill_controller",
        "kill_watchdog",
        "lose_answer",
        "clock_scheduler",
        "clock_controller",
        "logs_stop",
    ):
        assert done[do], do
    assert all(0 < event.at <= SECONDS for plan in plans for event in plan.events)


def test_a_site_has_deaths_of_workers_and_clocks_that_go_back() -> None:
    events = [event for first in range(0, 400, TOGETHER) for event in draw_site(first)]
    assert {event.words[0] for event in events if event.do == "kill_worker"} >= {"reading", "deciding", "answering"}
    assert min(float(event.words[0]) for event in events if event.do == "clock_site") == -7200
    assert "60" in {f"{seconds:.0f}" for seconds in DOWN}


def test_seeds_live_on_sites() -> None:
    assert site_of(0) == site_of(TOGETHER - 1) == range(TOGETHER)
    assert site_of(TOGETHER).start == TOGETHER


def line(seed: int, *violations: str) -> dict[str, object]:
    return {
        "seed": seed,
        "mode": "action",
        "jobs": 2,
        "commands": 4,
        "requeues": 1,
        "advice": {"restart": 1},
        "exclusions": 1,
        "events": {"lose_answer": 1},
        "violations": violations,
    }


def site_line(first: int) -> dict[str, object]:
    return {"site": first, "deaths": {"site after a commit": 2}, "events": {"clock_site": 1}, "seconds": 60.0}


def test_a_series_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    whole = [line(seed) for seed in range(TOGETHER)] + [site_line(0)]
    torn = [line(seed) for seed in range(TOGETHER, TOGETHER + 3)]
    file = tmp_path / "kept"
    file.write_text("".join(json.dumps(one) + "\n" for one in whole + torn) + '{"seed": 2')
    kept = read_kept(file)
    assert [lines[-1]["site"] for lines in kept] == [0]
    assert read_kept(tmp_path / "none") == []


def test_the_sum_says_what_happened() -> None:
    found = Sum()
    found.take([line(0), line(1, "[1] something"), site_line(0)])
    assert found.violations == ["seed 1: [1] something"]
    table = found.table()
    assert "| restarts | 2 |" in table
    assert "| site killed | 2: 2 after a commit |" in table
    assert "| **violations** | **1** |" in table
