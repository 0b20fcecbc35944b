"""Does waiting end with the answer, or with a sentence that says what did not come?"""

import os
import signal

import pytest

from lab.parts.running import PYTHON, NotSo, Running, clean_environment, until


def test_the_first_true_answer_counts() -> None:
    answers = iter([None, 0, "", 7, 8])
    assert until(lambda: next(answers), 90, "a number", pause=0.0) == 7


def test_what_did_not_come_is_named() -> None:
    with pytest.raises(NotSo, match=r"not within 0 s: the bus"):
        until(lambda: False, 0.01, "the bus", pause=0.02)


def test_a_process_that_died_silently_is_not_waited_for() -> None:
    running = Running([PYTHON, "-c", "print('no')"], {})
    with pytest.raises(NotSo, match="no"):
        running.said("(ready)", 90)
    assert running.end() == 0


def test_a_signal_ends_it_and_its_output_is_kept() -> None:
    running = Running([PYTHON, "-uc", "import time; print('ready'); time.sleep(60)"], {})
    assert running.said("(ready)", 90) == "ready"
    assert running.end(signal.SIGTERM) == -signal.SIGTERM
    assert running.text() == "ready"


def test_settings_of_the_caller_do_not_reach_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REKINDLE_BASE_URL", "DJANGO_SETTINGS_MODULE", "SLURM_CONF"):
        monkeypatch.setenv(name, "elsewhere")
    assert "elsewhere" not in clean_environment().values()
    assert clean_environment()["PATH"] == os.environ["PATH"]
