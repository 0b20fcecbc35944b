"""Does a person who acts between two of our steps get his way, and is nothing left behind for ever?

Each story is one recovery, held for a minute, with one deed at one point; then the watchdog looks for a while.
"""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial

import pytest

from controller.plain import Voice
from controller.watchdog import Watchdog
from schedulers.port import JobRow
from schedulers.states import JobState
from tests.controller.advisor import advice, wire
from tests.controller.bench import Bench
from tests.controller.meddling import JOB, Deed, Person, together
from tests.controller.scripted import START, row

S = JobState
P = Person
HUNG = row(state=S.RUNNING, reason="", nodes=("n01", "n03"))
FAILED = row()
LET_GO_AND_HELD = together(P.release, P.hold)
REQUEUED_AND_HELD = partial(P.requeue, hold=True)


class Story(Bench):
    """A bench on which somebody does something at a point of ours."""

    def play(self, job: JobRow, point: str, deed: Deed, *, watched: bool = True, passes: int = 250) -> None:
        self.scheduler.requeue_seconds = self.scheduler.shown_wait = 121.0
        self.scheduler.add(job)
        self.advisor.advice = [advice(notBefore=wire(START + timedelta(seconds=60)))]
        self.start()
        person, tick, waits = Person(self.scheduler, self.advisor), self.fuse.tick, [point]

        def meanwhile(name: str) -> None:
            tick(name)
            if name in waits:
                waits.clear()
                self.before = len(self.scheduler.commands)
                deed(person)

        self.fuse.tick = meanwhile  # type: ignore[method-assign]
        self.passes(250, until=lambda: bool(self.advisor.reports) and self.clock.seconds > 1000 + 300)
        assert not waits, "the point was never reached"
        if watched:
            self.watch()
        self.passes(passes - 250)

    def watch(self) -> None:
        """A watchdog that has seen nothing of it."""
        dog = Watchdog(self.settings, self.scheduler, self.clock, Voice(self.log.append))
        for _ in range(80):
            self.clock.sleep(15)
            dog.run_pass()

    @property
    def after(self) -> list[str]:
        """Commands of ours after the deed."""
        return [str(command[0]) for command in self.scheduler.commands[self.before :]]

    def told(self) -> str:
        return "\n".join(self.log)

    def said(self) -> str:
        """What the trail says of an advice that was given up."""
        return str([event["payload"]["sentence"] for event in self.advisor.events.values()][-1])


@pytest.fixture
def story(bench: Bench) -> Iterator[Story]:
    made = Story(bench.settings, bench.scheduler, bench.clock, bench.advisor)
    yield made
    made.stop()


def points(*steps: str) -> list[str]:
    return [f"{when} {step}" for step in steps for when in ("before", "after")]


AFTER_HOLD = ["after requeue_hold", *points("update_exclusions", "release", "start_after")]
HOLDS = {
    "lets it go and holds it": (LET_GO_AND_HELD, [*points("mark"), *AFTER_HOLD], AFTER_HOLD),
    "lets it go and holds it in a pause": (
        together(P.pause, LET_GO_AND_HELD),
        ["after mark", "after update_exclusions", "after release"],
        ["after requeue_hold"],
    ),
    "requeues and holds it": (REQUEUED_AND_HELD, ["before requeue_hold"], [*points("mark"), "before requeue_hold"]),
    "requeues and holds it in a pause": (
        together(P.pause, REQUEUED_AND_HELD),
        ["before requeue_hold"],
        [*points("mark"), "before requeue_hold"],
    ),
    "lets its reservation end": (P.reservation_ends, ["after mark"], ["after requeue_hold", "after release"]),
}


@pytest.mark.parametrize(
    ("job", "point", "deed"),
    [
        pytest.param(job, point, deed, id=f"{name}, {state}, {point}")
        for name, (deed, failed, hung) in HOLDS.items()
        for state, job, where in (("failed", FAILED, failed), ("hung", HUNG, hung))
        for point in where
    ],
)
def test_what_somebody_else_holds_stays_held(story: Story, job: JobRow, point: str, deed: Deed) -> None:
    story.play(job, point, deed)
    shown = story.scheduler.jobs_by_number[JOB]
    assert shown.held and shown.restarts == 1, story.told()
    paused = bool(story.advisor.cluster["pauses"])
    assert paused or "rekindle" not in shown.admin_comment, story.told()
    assert paused or story.advisor.reports, story.told()


@pytest.mark.parametrize("job", [FAILED, HUNG], ids=["failed", "hung"])
@pytest.mark.parametrize(
    ("deed", "point"),
    [
        (P.release, "after requeue_hold"),
        (P.release, "before update_exclusions"),
        (P.release, "after update_exclusions"),
        (P.monitor, "after requeue_hold"),
        (P.pause, "after update_exclusions"),
        (P.opt_out, "after requeue_hold"),
        (P.withdraw, "after requeue_hold"),
        (P.forbid_requeue, "after requeue_hold"),
        (P.requeue, "after release"),
    ],
)
def test_what_nobody_holds_runs_again_and_is_requeued_once(
    story: Story, job: JobRow, point: str, deed: Deed
) -> None:
    story.play(job, point, deed)
    shown = story.scheduler.jobs_by_number[JOB]
    assert (shown.state, shown.restarts) == (S.RUNNING, 1), story.told()
    assert story.effects().count("requeue_hold") == 1


@pytest.mark.parametrize("deed", [P.monitor, P.pause, P.opt_out, P.suspend, P.withdraw, P.hold, P.forbid_requeue])
def test_what_is_stopped_after_the_mark_is_never_requeued(story: Story, deed: Deed) -> None:
    story.play(HUNG, "after mark", deed)
    assert "requeue_hold" not in story.after, story.told()
    assert story.scheduler.jobs_by_number[JOB].restarts == 0


@pytest.mark.parametrize("point", [*points("update_exclusions"), "before release", *points("start_after")])
def test_what_is_cancelled_stays_so(story: Story, point: str) -> None:
    story.play(FAILED, point, P.cancel)
    assert story.scheduler.jobs_by_number[JOB].state is S.CANCELLED


@pytest.mark.parametrize("point", ["before release", "after release", *points("start_after")])
@pytest.mark.parametrize("nodes", [(), ("n06",)], ids=["clears it", "names others"])
def test_who_changes_the_list_after_it_stood_has_the_last_word(
    story: Story, point: str, nodes: tuple[str, ...]
) -> None:
    story.play(FAILED, point, lambda person: person.exclude(*nodes))
    assert story.scheduler.excluded[JOB] == nodes, story.told()
    assert "update_exclusions" not in story.after
    assert story.advisor.reports[0][1:] == ("ABANDONED", "GATE_CLOSED")
    assert "somebody took our nodes off its list" in story.said()


@pytest.mark.parametrize("job", [FAILED, HUNG], ids=["failed", "hung"])
def test_what_somebody_changes_a_moment_before_our_command_is_kept(story: Story, job: JobRow) -> None:
    story.play(job, "before update_exclusions", lambda person: person.exclude("n06"))
    assert story.scheduler.excluded[JOB] == ("n03", "n06"), story.told()
    assert story.advisor.reports[0][1] == "CONVERGED"


@pytest.mark.parametrize("job", [FAILED, HUNG], ids=["failed", "hung"])
def test_a_note_that_somebody_writes_a_moment_before_our_mark_stays(story: Story, job: JobRow) -> None:
    story.play(job, "before mark", lambda person: person.slurm.change(JOB, admin_comment="ticket 7"))
    assert story.scheduler.jobs_by_number[JOB].admin_comment == "ticket 7", story.told()
    assert story.advisor.reports[0][1] == "CONVERGED"


@pytest.mark.parametrize(("seconds", "starts"), [(3600, False), (20, False), (61, True)])
def test_a_time_to_begin_that_somebody_gave_it_is_kept(story: Story, seconds: float, starts: bool) -> None:
    """The last is Slurm's own, a minute after the hold began."""
    story.play(FAILED, "after release", lambda person: person.begin_in(seconds))
    assert ("start_after" in story.after) == starts


SAID = {
    "somebody let it go and holds it since, so it stays held (JobHeldAdmin)": (HUNG, LET_GO_AND_HELD),
    "the scheduler itself holds it since, so it stays held (Reservation r was deleted)": (HUNG, P.reservation_ends),
}


@pytest.mark.parametrize("sentence", SAID)
def test_the_trail_says_whose_hold_it_is(story: Story, sentence: str) -> None:
    story.play(SAID[sentence][0], "after requeue_hold", SAID[sentence][1])
    assert story.said() == sentence


@pytest.mark.parametrize("watched", [True, False], ids=["a watchdog", "no watchdog"])
def test_a_hold_that_nobody_may_end_is_told(story: Story, watched: bool) -> None:
    """Paused in the middle, and the watchdog does not run."""
    story.play(FAILED, "after mark", P.pause, watched=watched, passes=500)
    overdue = [event for key, event in story.advisor.events.items() if ":overdue:" in key]
    assert bool(overdue) is not watched and story.scheduler.jobs_by_number[JOB].held is not watched
    if overdue:
        (event,) = overdue
        assert "no watchdog has let it go; we may not (paused: mine)" in event["payload"]["sentence"]
        assert event["eventLevel"] == "warning"


def test_an_admin_comment_without_room_for_our_mark_stops_nothing_else(bench: Bench) -> None:
    """Some sites keep a job's statistics there."""
    bench.scheduler.add(row(admin_comment="JS1:" + "x" * 9_999))
    bench.scheduler.add(row(13))
    bench.advisor.advice = [advice(), advice(13)]
    bench.passes(200, until=lambda: len(bench.advisor.reports) == 2)
    assert sorted(report[1:] for report in bench.advisor.reports) == [
        ("ABANDONED", "REFUSED_BY_SCHEDULER"),
        ("CONVERGED", "DESIRED_STATE_OBSERVED"),
    ]
    assert {command[1] for command in bench.scheduler.commands} == {13}
