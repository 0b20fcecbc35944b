"""Is a case watched until the product has answered each attempt that was struck, and has done what it advised?"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lab.cases.case import Case, Did, Sort
from lab.real.playing import SETTLED_SECONDS, open_restarts, unanswered
from lab.score.said import Advised, Said
from lab.truth import Injected
from tests.lab.real.making import a_case

NOW = datetime(2026, 11, 30, tzinfo=UTC)
FAULT = a_case()
PREEMPTED = replace(FAULT, truth=replace(FAULT.truth, actions=(Did.NONE,)))
HELD = replace(FAULT, truth=replace(FAULT.truth, held=True))


def struck(*attempts: int) -> list[Injected]:
    return [Injected("a case", 7, attempt, "sigkill", 1.0, ("n1",), (1,), 12) for attempt in attempts]


def advised(*attempts: int) -> Said:
    return Said(advice=tuple(Advised(7, attempt, Did.RESTART, (), "a rule", NOW) for attempt in attempts))


@pytest.mark.parametrize(
    ("name", "case", "deeds", "said", "waits"),
    [
        ("nothing was said yet", FAULT, struck(0), Said(), True),
        ("it was answered", FAULT, struck(0), advised(0), False),
        ("it struck again", FAULT, struck(0, 1), advised(0), True),
        ("it struck again and was answered", FAULT, struck(0, 1), advised(0, 1), False),
        ("nothing is to be done", PREEMPTED, struck(0), Said(), False),
        ("the attempt that is held answers", HELD, struck(0), advised(0), True),
        ("the attempt that is held was answered", HELD, struck(0), advised(1), False),
        ("a trap is never waited for", replace(FAULT, sort=Sort.TRAP), struck(0), Said(), False),
        ("a deed outside of any job", FAULT, [replace(one, job=0) for one in struck(0)], Said(), False),
    ],
)
def test_unanswered(name: str, case: Case, deeds: list[Injected], said: Said, waits: bool) -> None:
    assert unanswered(case, deeds, said) is waits, name


@pytest.mark.parametrize(
    ("name", "did", "acknowledged_before", "waits"),
    [
        ("a restart that nobody has carried out", Did.RESTART, None, True),
        ("one that was carried out after the listing", Did.RESTART_EXCLUDE, 0.5, True),
        ("one that any listing shows by now", Did.RESTART, SETTLED_SECONDS + 1, False),
        ("a stop needs no listing", Did.STOP, None, False),
    ],
)
def test_open_restarts(name: str, did: Did, acknowledged_before: float | None, waits: bool) -> None:
    at = None if acknowledged_before is None else NOW - timedelta(seconds=acknowledged_before)
    earlier = Advised(7, 0, Did.RESTART, (), "a rule", NOW)
    said = Said(advice=(earlier, Advised(7, 1, did, (), "a rule", NOW, at)))
    assert open_restarts(said, NOW.timestamp()) is waits, name
