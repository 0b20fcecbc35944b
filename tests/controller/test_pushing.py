"""Does whoever lists here share the two listings of 30 s, and does what is pushed arrive whole?"""

import threading
from pathlib import Path

import pytest

from controller.config import Settings, read_config
from controller.listing import Listings, Source
from controller.plain import Voice
from controller.pushing import Pusher, pusher_of
from schedulers.observation import Observation, Unseen, read
from schedulers.port import Listing, Unreachable
from tests.controller.advisor import Server, SmallAdvisor
from tests.controller.conftest import write_config
from tests.controller.scripted import ScriptedClock, ScriptedScheduler, row


class Counted(ScriptedScheduler):
    """Notes when everything was listed."""

    def jobs(self) -> Listing:
        self.__dict__.setdefault("listed", []).append(self.clock.monotonic())
        return super().jobs()


@pytest.fixture
def counted(clock: ScriptedClock) -> ScriptedScheduler:
    scheduler = Counted(clock)
    scheduler.add(row())
    return scheduler


def listed(scheduler: ScriptedScheduler) -> list[float]:
    found: list[float] = scheduler.__dict__.get("listed", [])
    return found


@pytest.fixture
def source(counted: ScriptedScheduler, clock: ScriptedClock) -> Source:
    return Source(counted, clock)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def pusher(
    counted: ScriptedScheduler, clock: ScriptedClock, server: Server, token_file: Path, tmp_path: Path,
    source: Source, said: list[str],
) -> Pusher:  # fmt: skip
    settings: Settings = read_config(write_config(tmp_path, server.url, token_file))
    return pusher_of(settings, counted, source, clock, Voice(said.append))


def test_the_loop_and_the_pusher_take_two_listings_in_30_seconds_together(
    counted: ScriptedScheduler, clock: ScriptedClock, source: Source, pusher: Pusher, advisor: SmallAdvisor
) -> None:
    listings = Listings(counted, clock, Voice(lambda _: None), source)
    due, fresh = clock.monotonic(), 0
    while clock.monotonic() < 1000.0 + 300:
        if clock.monotonic() >= due:
            due = clock.monotonic() + pusher.turn()
        assert listings.refresh() is not None
        fresh += listings.fresh
        clock.sleep(0.7)
    at = listed(counted)
    assert len(at) in range(18, 22)
    assert all(third - first > 30 for first, third in zip(at, at[2:], strict=False))
    assert fresh == len(at)
    assert len(advisor.observations) in {len(at), len(at) - 1}
    numbers = [int(body["sequence"]) for body in advisor.observations]
    assert numbers == sorted(set(numbers))


def test_many_threads_get_one_listing(counted: ScriptedScheduler, source: Source) -> None:
    numbers: list[int] = []
    threads = [threading.Thread(target=lambda: numbers.append(source.newest().number)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (numbers, len(listed(counted))) == ([1] * 20, 1)


def test_what_was_listed_before_bears_the_time_of_its_listing(
    clock: ScriptedClock, source: Source, pusher: Pusher, advisor: SmallAdvisor
) -> None:
    listed_at = clock.now()
    source.newest()
    clock.sleep(9)
    pusher.turn()
    told = read(advisor.observations[-1])
    assert isinstance(told, Observation)
    assert abs((told.now - listed_at).total_seconds()) <= 1
    assert [each.number for each in told.jobs] == [row().number]


def test_a_scheduler_that_is_away_is_told_and_so_is_its_return(
    counted: ScriptedScheduler, clock: ScriptedClock, pusher: Pusher, advisor: SmallAdvisor
) -> None:
    counted.down = True
    clock.sleep(pusher.turn())
    counted.down = False
    pusher.turn()
    first, second = map(read, advisor.observations)
    assert isinstance(first, Unseen) and first.reason
    assert isinstance(second, Observation)


def test_a_scheduler_that_lists_but_does_not_tell_its_time_is_unseen(
    counted: ScriptedScheduler, pusher: Pusher, advisor: SmallAdvisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_time() -> None:
        raise Unreachable("sdiag did not answer.")

    monkeypatch.setattr(counted, "now", no_time)
    pusher.turn()
    told = read(advisor.observations[-1])
    assert isinstance(told, Unseen) and told.reason == "sdiag did not answer."


@pytest.mark.parametrize(("status", "pause"), [(503, 2.0), (401, 30.0), (404, 30.0), (409, 30.0)])
def test_an_advisor_that_takes_nothing_costs_the_scheduler_nothing(
    counted: ScriptedScheduler, pusher: Pusher, advisor: SmallAdvisor, said: list[str], status: int, pause: float
) -> None:
    advisor.refuse["observation"] = status
    assert [pusher.turn(), pusher.turn()] == [pause, pause]
    assert (listed(counted), len(said)) == ([], 1)
    advisor.refuse.clear()
    pusher.turn()
    assert len(advisor.observations) == 1


def test_only_run_with_its_key_pushes(tmp_path: Path, server: Server, token_file: Path) -> None:
    path = write_config(tmp_path, server.url, token_file)
    assert read_config(path).push.enabled is False
    path.write_text(path.read_text() + "\n[push]\nenabled = true\n")
    assert read_config(path).push.enabled is True
