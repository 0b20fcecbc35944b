"""Is the loop woken by what changes, and does nothing depend on it?"""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from controller import waiting
from controller.client import Advisor, Rejected, Unreachable
from controller.waiting import FIRST_PATIENCE, LONGEST_PATIENCE, NOT_HELD_SECONDS, Waiting
from tests.controller.advisor import Server, SmallAdvisor, advice
from tests.controller.scripted import ScriptedClock


class Ears:
    """What the loop was told."""

    def __init__(self, server: Server, token_file: Path) -> None:
        self.wakes = 0
        self.woken: list[bool] = []
        advisor = Advisor(server.url, "demo", token_file, seconds=90.0)
        self.waiting = Waiting(advisor, RealClock(), wake=self.wake, woken=self.woken.append)

    def wake(self) -> None:
        self.wakes += 1


class RealClock(ScriptedClock):
    def monotonic(self) -> float:
        return time.monotonic()


@pytest.fixture
def ears(server: Server, token_file: Path, monkeypatch: pytest.MonkeyPatch) -> Ears:
    monkeypatch.setattr(waiting, "HOLD_SECONDS", 2)
    return Ears(server, token_file)


def test_new_advice_wakes_the_loop_at_once(
    ears: Ears, advisor: SmallAdvisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "HOLD_SECONDS", 60)
    ears.waiting.ask()
    assert ears.wakes == 1, "what there was before is read, too"
    threading.Timer(0.3, lambda: advisor.advice.append(advice(1))).start()
    began = time.monotonic()
    ears.waiting.ask()
    assert ears.wakes == 2
    assert time.monotonic() - began < 30


def test_a_question_that_is_held_lets_the_loop_sleep(ears: Ears, advisor: SmallAdvisor) -> None:
    ears.waiting.ask()
    assert ears.woken == []
    assert ears.waiting.ask() == 0
    assert ears.woken == [True]


def test_a_server_that_holds_nothing_is_asked_seldom(ears: Ears, advisor: SmallAdvisor) -> None:
    advisor.holds = False
    ears.waiting.ask()
    assert ears.waiting.ask() == NOT_HELD_SECONDS
    assert ears.woken == []


def test_an_error_wakes_the_loop_that_slept_on_us_and_is_tried_again_ever_later(
    ears: Ears, advisor: SmallAdvisor
) -> None:
    ears.waiting.ask()
    ears.waiting.ask()
    wakes = ears.wakes
    advisor.refuse["advice:watch"] = 503
    pauses = [ears.waiting.ask() for _ in range(8)]
    assert ears.woken == [True, False]
    assert ears.wakes == wakes + 1
    assert FIRST_PATIENCE <= pauses[0] <= 2 * FIRST_PATIENCE
    assert LONGEST_PATIENCE / 2 <= pauses[-1] <= LONGEST_PATIENCE
    del advisor.refuse["advice:watch"]
    ears.waiting.ask()
    assert ears.woken[-1] is True


@pytest.mark.parametrize(
    "body", [{}, {"seen": 5, "changed": True}, {"seen": "x" * 65, "changed": True}, {"seen": "x"}]
)
def test_an_answer_that_cannot_be_understood_is_none(
    server: Server, token_file: Path, advisor: SmallAdvisor, body: dict[str, object]
) -> None:
    advisor.watch = lambda seen, seconds: body  # type: ignore[method-assign]
    with pytest.raises(Unreachable):
        Advisor(server.url, "demo", token_file).watch("", 0)


def test_who_may_not_ask_is_told(server: Server, token_file: Path, advisor: SmallAdvisor) -> None:
    advisor.refuse["advice:watch"] = 403
    with pytest.raises(Rejected):
        Advisor(server.url, "demo", token_file).watch("", 0)


SLEEPER = """
import threading, time
from controller.clock import SystemClock
clock = SystemClock()
threading.Timer(0.3, clock.wake).start()
began = time.monotonic(); clock.sleep(20); print("woken", time.monotonic() - began < 10, flush=True)
clock.wake(); clock.wake(); clock.sleep(20); print("at once", flush=True)
for _ in range(100000): clock.wake()
clock.sleep(20)
began = time.monotonic(); clock.sleep(0.2); print("slept", time.monotonic() - began >= 0.2, flush=True)
print("ready", flush=True); clock.sleep(20); print("stopping", clock.stopping, flush=True)
"""


def test_a_wake_or_a_signal_ends_a_sleep(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().strip() for _ in range(4)]
        assert lines == ["woken True", "at once", "slept True", "ready"]
        time.sleep(0.2)
        os.kill(process.pid, signal.SIGTERM)
        assert process.stdout.readline().strip() == "stopping True"
        assert process.wait(60) == 0
