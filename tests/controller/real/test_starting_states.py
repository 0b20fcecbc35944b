"""Whatever state an advice finds a job in, and whatever gate is closed: exactly the intended commands."""

from pathlib import Path

import pytest

from controller.config import Settings, read_config
from schedulers.states import JobState
from tests.controller.advisor import Server, SmallAdvisor, advice
from tests.controller.bench import Bench
from tests.controller.conftest import write_config
from tests.controller.real.starting import ADVICE, CLOSED_GATES, RESTART, STARTS, Start, scripted_row
from tests.controller.real.worlds import excluding
from tests.controller.scripted import ScriptedClock, ScriptedScheduler

WORDS = {"release": "release", "start_after": "start", "cancel": "cancel"}


def said(command: tuple[object, ...]) -> str:
    """A command of the scripted scheduler in the words of the table."""
    name, _, *more = command
    if name == "mark":
        return "mark" if str(more[0]).startswith("rekindle/1 g=") else "unmark"
    if name == "requeue_hold":
        return "requeuehold Incomplete" if more[0] else "requeuehold"
    if name == "update_exclusions":
        return excluding(more[0], "n03")  # type: ignore[arg-type]
    return WORDS[str(name)]


def put(bench: Bench, start: Start, kind: str) -> None:
    bench.scheduler.shown_wait = bench.scheduler.requeue_seconds = 121.0
    bench.scheduler.short_of_nodes = start.short
    bench.scheduler.add(scripted_row(start), [*start.own_exclusions])
    if (then := start.becomes) is not None:
        later = bench.clock.seconds + 3
        bench.scheduler.due.append((later, lambda: bench.scheduler.change(12, state=then, word=then.name)))
    bench.advisor.advice = [advice(**ADVICE[kind])]


@pytest.mark.parametrize("kind", ADVICE)
@pytest.mark.parametrize("start", STARTS, ids=lambda start: start.name)
def test_every_state_and_advice(bench: Bench, start: Start, kind: str) -> None:
    put(bench, start, kind)
    commands, report = start.then[kind]
    bench.passes(60 if report else 20, until=lambda: bool(bench.advisor.reports))
    assert tuple(said(command) for command in bench.scheduler.commands) == commands, "\n".join(bench.log)
    assert tuple(bench.advisor.reports[0][1:] if bench.advisor.reports else ()) == report


@pytest.mark.parametrize("gate", CLOSED_GATES)
def test_no_state_or_advice_passes_a_closed_gate(tmp_path: Path, token_file: Path, gate: str) -> None:
    """All of the table at once: a job for each state and advice."""
    own, cluster, told = CLOSED_GATES[gate]
    clock = ScriptedClock()
    advisor = SmallAdvisor(clock.now)
    advisor.cluster |= cluster
    scheduler = ScriptedScheduler(clock)
    number = 1000
    for start in STARTS:
        for changes in ADVICE.values():
            number += 1
            job = scripted_row(start)
            scheduler.add(type(job)(**{**vars(job), "number": number}), [*start.own_exclusions])
            advisor.advice.append(advice(number, **changes, **told))
    with Server(advisor) as server:
        settings: Settings = read_config(write_config(tmp_path, server.url, token_file, **own))
        bench = Bench(settings, scheduler, clock, advisor)
        bench.passes(40)
        bench.stop()
    assert scheduler.commands == []
    assert all(job.admin_comment == "" for job in scheduler.jobs_by_number.values())


def test_the_table_names_every_state_of_a_job_that_was_ever_advised() -> None:
    met = {scripted_row(start).state for start in STARTS}
    assert met >= {
        JobState.RUNNING, JobState.COMPLETING, JobState.FAILED, JobState.NODE_FAIL, JobState.OUT_OF_MEMORY,
        JobState.BOOT_FAIL, JobState.PENDING, JobState.HELD, JobState.COMPLETED, JobState.CANCELLED,
        JobState.TIMEOUT, JobState.PREEMPTED,
    }  # fmt: skip
    assert all(set(start.then) == set(ADVICE) for start in STARTS) and RESTART in ADVICE
