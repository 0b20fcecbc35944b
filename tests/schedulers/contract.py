"""What must every scheduler behind the port be able to do?

`SchedulerContract` holds the tests; a subclass in a test module gets the fixture `cluster`, a `ClusterUnderTest`.
The same tests run on a real Slurm and on the simulated cluster.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

import pytest

from schedulers.opening import open_scheduler
from schedulers.port import JobRow, NodeRow, NoSuchJob, Refused, Scheduler, Unclear, Unreachable
from schedulers.states import LIVE, JobState

Seen = TypeVar("Seen")
UNKNOWN_NUMBER = 60_000_000
MARK = "rekindle/1 g=3 r=0 until=1795968000"


class ClusterUnderTest(Protocol):
    """A cluster of at least four nodes on which a test may do as it likes."""

    kind: str
    path: str
    config: str
    node_names: tuple[str, ...]
    user: str
    patience: float  # seconds within which anything that will happen has happened

    def submit(
        self,
        *,
        nodes: int = 1,
        seconds: float = 600,
        exit_code: int = 0,
        comment: str = "",
        name: str = "train",
        requeue: bool = True,
        ignore_term: bool = False,
    ) -> int:
        """Submit a batch job that runs for `seconds` and then exits; its number.

        With `ignore_term` it runs already, and ignores the signal.
        """

    def lose_node(self, name: str) -> None:
        """The node stops answering."""

    def return_node(self, name: str) -> None:
        """It answers again."""

    def drain_node(self, name: str, reason: str) -> None:
        """As an administrator does."""

    def resume_node(self, name: str) -> None:
        """As an administrator does."""

    def stop_scheduler(self) -> None:
        """The scheduler goes; jobs run on."""

    def start_scheduler(self) -> None:
        """It is back, with its jobs."""


@pytest.fixture
def scheduler(cluster: ClusterUnderTest) -> Scheduler:
    return open_scheduler(cluster.kind, cluster.path, cluster.config, 30)


@pytest.fixture
def wait(cluster: ClusterUnderTest, scheduler: Scheduler) -> "Waiting":
    return Waiting(scheduler, cluster.patience)


class Waiting:
    """Looks until something is so, and fails with what it saw last."""

    def __init__(self, scheduler: Scheduler, patience: float) -> None:
        self.scheduler = scheduler
        self.patience = patience

    def until(self, look: Callable[[], Seen], is_so: Callable[[Seen], bool]) -> Seen:
        ends = time.monotonic() + self.patience
        while not is_so(seen := look()):
            assert time.monotonic() < ends, f"never came; last seen: {seen}"
            time.sleep(0.1)
        return seen

    def job(self, number: int, *states: JobState, restarts: int | None = None) -> JobRow:
        """The job's row once it is in one of `states` (and in this attempt)."""
        return self.until(
            lambda: self.scheduler.job(number).row,
            lambda row: row.state in states and restarts in (None, row.restarts),
        )

    def node(self, name: str, *, available: bool) -> NodeRow:
        return self.until(
            lambda: next(node for node in self.scheduler.nodes() if node.name == name),
            lambda node: node.available is available,
        )


def listed(scheduler: Scheduler, number: int) -> JobRow:
    rows = [row for row in scheduler.jobs().jobs if row.number == number]
    assert len(rows) == 1
    return rows[0]


class SchedulerContract:
    """Every test reads back what it caused: a command that was accepted proves nothing."""

    # --- reading

    def test_a_running_job_is_listed_with_what_its_user_and_the_scheduler_say(self, cluster, scheduler, wait):
        comment = '{"APS":{"auto_resume_mode":"requeue"},"workflowId":"w-1"}'
        before = scheduler.now()
        number = cluster.submit(nodes=2, name="llama", comment=comment)
        wait.job(number, JobState.RUNNING)
        row = listed(scheduler, number)
        assert (row.name, row.user, row.comment) == ("llama", cluster.user, comment)
        assert (row.state, row.word, row.restarts) == (JobState.RUNNING, "RUNNING", 0)
        assert row.node_count == 2
        assert len(row.nodes) == 2
        assert set(row.nodes) < set(cluster.node_names)
        assert row.batch and row.requeue_allowed and not row.held
        assert row.partition and row.work_dir.startswith("/") and row.stdout
        assert before <= row.submitted_at <= row.started_at <= scheduler.now()
        assert row.ended_at is None
        assert (row.exit_code, row.exit_signal) == (0, 0)
        assert (row.array_job, row.array_task, row.het_leader) == (None, None, None)
        assert row.admin_comment == ""

    def test_the_question_for_one_job_agrees_with_the_listing(self, cluster, scheduler, wait):
        number = cluster.submit()
        wait.job(number, JobState.RUNNING)
        detail = scheduler.job(number)
        assert detail.row == listed(scheduler, number)
        assert detail.excluded_nodes == ()

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("a|b\nc", id="newline_and_bar"),
            pytest.param("a\x1fb\x1e\n7\x1f", id="control_characters"),
            pytest.param("x UserId=root(0) ExcNodeList=n01 NodeList=n09 ", id="keys_of_scontrol"),
            pytest.param("é \"q\" 's' $HOME `id` ;", id="quotes_and_shell"),
        ],
    )
    def test_a_hostile_name_and_comment_come_back_as_written_and_forge_nothing(
        self, cluster, scheduler, wait, text
    ):
        number = cluster.submit(name=text, comment=text)
        wait.job(number, JobState.RUNNING)
        detail = scheduler.job(number)
        assert (detail.row.name, detail.row.comment) == (text, text)
        assert detail.excluded_nodes == ()
        assert listed(scheduler, number) == detail.row

    def test_a_failed_job_stays_listed_with_its_exit_code(self, cluster, scheduler, wait):
        number = cluster.submit(seconds=0, exit_code=3)
        row = wait.job(number, JobState.FAILED)
        assert (row.exit_code, row.exit_signal, row.word) == (3, 0, "FAILED")
        assert row.submitted_at <= row.started_at <= row.ended_at <= scheduler.now()
        assert listed(scheduler, number) == row

    def test_a_job_that_ends_well_is_completed(self, cluster, wait):
        row = wait.job(cluster.submit(seconds=0), JobState.COMPLETED)
        assert (row.exit_code, row.exit_signal) == (0, 0)
        assert row.ended_at is not None

    def test_a_job_for_which_there_is_no_room_waits(self, cluster, scheduler, wait):
        cluster.drain_node(cluster.node_names[0], "maintenance")
        row = scheduler.job(cluster.submit(nodes=len(cluster.node_names))).row
        assert row.state is JobState.PENDING
        assert (row.started_at, row.nodes, row.held) == (None, (), False)

    def test_an_unknown_job_is_no_empty_answer(self, scheduler):
        with pytest.raises(NoSuchJob):
            scheduler.job(UNKNOWN_NUMBER)

    def test_the_installation_tells_its_limits_and_its_clock(self, scheduler):
        limits = scheduler.limits()
        assert limits.tested and limits.cluster_name
        assert limits.requeue_wait > 0 and limits.min_job_age > 0 and limits.kill_wait >= 0
        assert abs(scheduler.now() - datetime.now(UTC)) < timedelta(seconds=60)
        scheduler.ping()

    # --- nodes

    def test_a_drained_node_is_not_available_and_says_why_and_by_whom(self, cluster, scheduler, wait):
        name = cluster.node_names[-1]
        assert {node.name for node in scheduler.nodes()} == set(cluster.node_names)
        assert wait.node(name, available=True).reason == ""
        cluster.drain_node(name, "Xid 79: GPU has fallen off the bus")
        node = wait.node(name, available=False)
        assert "drain" in " ".join(node.states)
        assert node.reason == "Xid 79: GPU has fallen off the bus"
        assert node.reason_by
        assert abs(node.reason_at - scheduler.now()) < timedelta(seconds=30)
        assert node.partitions
        cluster.resume_node(name)
        wait.node(name, available=True)

    def test_a_lost_node_ends_its_jobs_and_one_of_them_comes_back(self, cluster, scheduler, wait):
        everywhere = len(cluster.node_names)
        again, never = cluster.submit(nodes=everywhere), cluster.submit(nodes=everywhere, requeue=False)
        wait.job(again, JobState.RUNNING)
        wait.job(never, JobState.RUNNING)
        cluster.lose_node(cluster.node_names[1])
        assert wait.job(never, JobState.NODE_FAIL).restarts == 0
        assert wait.job(again, JobState.PENDING, restarts=1).held is False
        assert not wait.node(cluster.node_names[1], available=False).available
        cluster.return_node(cluster.node_names[1])
        wait.node(cluster.node_names[1], available=True)

    # --- requeue, hold, release

    def test_a_running_job_is_requeued_held_and_released_as_the_next_attempt(self, cluster, scheduler, wait):
        number = cluster.submit(nodes=2)
        first = wait.job(number, JobState.RUNNING)
        scheduler.requeue_hold(number, running=True)
        held = wait.job(number, JobState.HELD)
        assert (held.restarts, held.priority, held.nodes) == (1, 0, ())
        assert held.submitted_at > first.submitted_at
        assert (held.started_at, held.ended_at) == (None, None)
        assert held.eligible_at is not None
        assert (held.name, held.user) == (first.name, first.user)
        scheduler.release(number)
        assert not scheduler.job(number).row.held
        second = wait.job(number, JobState.RUNNING)
        assert second.restarts == 1
        assert second.submitted_at == held.submitted_at
        assert second.started_at >= held.eligible_at

    def test_a_job_that_does_not_obey_ends_slowly_and_shows_no_times_meanwhile(self, cluster, scheduler, wait):
        number = cluster.submit(ignore_term=True)
        wait.job(number, JobState.RUNNING)
        scheduler.requeue_hold(number, running=True)
        ending = wait.job(number, JobState.COMPLETING, JobState.HELD)
        assert ending.state is JobState.COMPLETING
        assert (ending.restarts, ending.started_at, ending.ended_at) == (1, None, None)
        assert wait.job(number, JobState.HELD).restarts == 1

    def test_a_failed_job_is_requeued_held(self, cluster, scheduler, wait):
        number = cluster.submit(seconds=0, exit_code=3)
        first = wait.job(number, JobState.FAILED)
        scheduler.requeue_hold(number, running=False)
        held = wait.job(number, JobState.HELD)
        assert held.restarts == 1
        assert held.submitted_at > first.submitted_at

    def test_an_action_meant_for_running_jobs_leaves_a_finished_one_alone(self, cluster, scheduler, wait):
        number = cluster.submit(seconds=0, exit_code=3)
        before = wait.job(number, JobState.FAILED)
        scheduler.requeue_hold(number, running=True)
        time.sleep(1)
        assert scheduler.job(number).row == before

    def test_a_job_that_waits_already_is_not_requeued(self, cluster, scheduler, wait):
        number = cluster.submit()
        wait.job(number, JobState.RUNNING)
        scheduler.requeue_hold(number, running=True)
        held = wait.job(number, JobState.HELD)
        with pytest.raises(Refused):
            scheduler.requeue_hold(number, running=False)
        assert scheduler.job(number).row == held

    def test_a_job_whose_user_forbade_it_is_not_requeued(self, cluster, scheduler, wait):
        number = cluster.submit(requeue=False)
        row = wait.job(number, JobState.RUNNING)
        assert row.requeue_allowed is False
        with pytest.raises(Refused):
            scheduler.requeue_hold(number, running=True)
        assert scheduler.job(number).row == row

    def test_releasing_a_job_that_nobody_holds_changes_nothing(self, cluster, scheduler, wait):
        number = cluster.submit()
        before = wait.job(number, JobState.RUNNING)
        scheduler.release(number)
        after = scheduler.job(number).row
        assert replace(after, priority=before.priority) == before  # Slurm computes the priority anew

    def test_every_action_on_an_unknown_job_says_so(self, scheduler):
        for act in (
            lambda: scheduler.mark(UNKNOWN_NUMBER, MARK),
            lambda: scheduler.requeue_hold(UNKNOWN_NUMBER, running=True),
            lambda: scheduler.requeue_hold(UNKNOWN_NUMBER, running=False),
            lambda: scheduler.update_exclusions(UNKNOWN_NUMBER, ()),
            lambda: scheduler.release(UNKNOWN_NUMBER),
            lambda: scheduler.cancel(UNKNOWN_NUMBER),
        ):
            with pytest.raises(NoSuchJob):
                act()

    # --- cancel

    def test_a_cancelled_job_is_cancelled_and_stays_so(self, cluster, scheduler, wait):
        number = cluster.submit()
        wait.job(number, JobState.RUNNING)
        scheduler.cancel(number)
        row = wait.job(number, JobState.CANCELLED)
        assert row.ended_at is not None
        scheduler.cancel(number)
        scheduler.requeue_hold(number, running=True)
        assert wait.job(number, JobState.CANCELLED).restarts == 0

    # --- exclusions

    def test_excluded_nodes_are_set_replaced_and_cleared(self, cluster, scheduler, wait):
        number = self.hold(cluster, scheduler, wait)
        one, two, three, *_ = cluster.node_names
        scheduler.update_exclusions(number, (one, two))
        assert set(scheduler.job(number).excluded_nodes) == {one, two}
        scheduler.update_exclusions(number, (three,))
        assert scheduler.job(number).excluded_nodes == (three,)
        scheduler.update_exclusions(number, ())
        assert scheduler.job(number).excluded_nodes == ()
        assert scheduler.job(number).row.held

    def test_one_unknown_node_refuses_the_whole_list(self, cluster, scheduler, wait):
        number = self.hold(cluster, scheduler, wait)
        one, two, *_ = cluster.node_names
        scheduler.update_exclusions(number, (one,))
        with pytest.raises(Refused):
            scheduler.update_exclusions(number, (two, "no-such-node"))
        assert scheduler.job(number).excluded_nodes == (one,)

    def test_a_running_job_takes_no_exclusions(self, cluster, scheduler, wait):
        number = cluster.submit()
        wait.job(number, JobState.RUNNING)
        with pytest.raises(Refused):
            scheduler.update_exclusions(number, (cluster.node_names[0],))
        assert scheduler.job(number).excluded_nodes == ()

    def test_the_next_attempt_runs_beside_the_excluded_nodes(self, cluster, scheduler, wait):
        number = cluster.submit(nodes=2)
        bad = wait.job(number, JobState.RUNNING).nodes[0]
        scheduler.requeue_hold(number, running=True)
        wait.job(number, JobState.HELD)
        scheduler.update_exclusions(number, (bad,))
        scheduler.release(number)
        row = wait.job(number, JobState.RUNNING)
        assert (row.restarts, len(row.nodes)) == (1, 2)
        assert bad not in row.nodes

    # --- the mark

    def test_a_mark_on_a_running_job_is_listed_and_survives_its_requeue(self, cluster, scheduler, wait):
        number = cluster.submit(comment="the user's own")
        wait.job(number, JobState.RUNNING)
        scheduler.mark(number, MARK)
        assert listed(scheduler, number).admin_comment == MARK
        scheduler.requeue_hold(number, running=True)
        held = wait.job(number, JobState.HELD)
        assert (held.admin_comment, held.comment) == (MARK, "the user's own")
        scheduler.mark(number, "")
        assert scheduler.job(number).row.admin_comment == ""

    def test_foreign_text_behind_the_mark_stays_as_it_was(self, cluster, scheduler, wait):
        number = cluster.submit()
        wait.job(number, JobState.RUNNING)
        text = f'{MARK} asked "ops" | 10% = a\tb é JobId=1 ExcNodeList=n01 '
        scheduler.mark(number, text)
        assert listed(scheduler, number).admin_comment == text

    def test_a_finished_job_takes_no_mark_until_it_is_held(self, cluster, scheduler, wait):
        number = cluster.submit(seconds=0, exit_code=3)
        wait.job(number, JobState.FAILED)
        with pytest.raises(Refused):
            scheduler.mark(number, MARK)
        scheduler.requeue_hold(number, running=False)
        wait.job(number, JobState.HELD)
        scheduler.mark(number, MARK)
        assert scheduler.job(number).row.admin_comment == MARK

    # --- no answer

    def test_a_scheduler_that_is_gone_is_unreachable_and_nothing_was_done(self, cluster, scheduler, wait):
        number = cluster.submit()
        before = wait.job(number, JobState.RUNNING)
        cluster.stop_scheduler()
        try:
            for ask in (
                scheduler.ping,
                scheduler.jobs,
            ):  # the others: from recorded answers, for Slurm takes 9 s each
                with pytest.raises(Unreachable):
                    ask()
            with pytest.raises((Unreachable, Unclear)):
                scheduler.requeue_hold(number, running=True)
        finally:
            cluster.start_scheduler()
        after = wait.until(lambda: scheduler.job(number).row, lambda row: row.state in LIVE)
        assert (after.restarts, after.submitted_at) == (before.restarts, before.submitted_at)

    # --- the accounting

    def test_the_accounting_knows_how_each_attempt_ended(self, cluster, scheduler, wait):
        number = cluster.submit(nodes=2)
        first = wait.job(number, JobState.RUNNING)
        scheduler.requeue_hold(number, running=True)
        wait.job(number, JobState.HELD)
        scheduler.cancel(number)
        wait.job(number, JobState.CANCELLED)
        attempts = wait.until(lambda: scheduler.ended(number), lambda found: len(found) == 2)
        assert [attempt.state for attempt in attempts] == [JobState.REQUEUED, JobState.CANCELLED]
        assert attempts[0].submitted_at == first.submitted_at
        assert attempts[0].started_at == first.started_at
        assert set(attempts[0].nodes) == set(first.nodes)
        assert {attempt.user for attempt in attempts} == {cluster.user}

    def test_the_accounting_tells_a_failed_job_with_its_exit_code(self, cluster, scheduler, wait):
        number = cluster.submit(seconds=0, exit_code=3)
        row = wait.job(number, JobState.FAILED)
        (attempt,) = wait.until(lambda: scheduler.ended(number), lambda found: len(found) == 1)
        assert (attempt.state, attempt.exit_code, attempt.exit_signal) == (JobState.FAILED, 3, 0)
        assert (attempt.submitted_at, attempt.ended_at) == (row.submitted_at, row.ended_at)

    def test_a_job_that_never_was_has_no_ended_attempts(self, scheduler):
        assert scheduler.ended(UNKNOWN_NUMBER) == ()

    def hold(self, cluster, scheduler, wait) -> int:
        """A job that we hold."""
        number = cluster.submit()
        wait.job(number, JobState.RUNNING)
        scheduler.requeue_hold(number, running=True)
        wait.job(number, JobState.HELD)
        return number
