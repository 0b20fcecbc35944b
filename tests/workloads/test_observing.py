"""What does one listing change?"""

from dataclasses import replace
from typing import Any

import pytest
from django.forms.models import model_to_dict

from audit.event_type import EventType
from audit.models import AuditEvent
from schedulers.port import JobRow
from schedulers.states import JobState
from tests.workloads.scripted import ScriptedScheduler, a_row, after, failed, requeued
from workloads.identity import heimdall_id
from workloads.models import Attempt, Cluster, Job
from workloads.observing import observe

ACTION = '{"nvidia-recovery": {"environment": "lab", "mode": "action"}, "workflowId": "gpt-7"}'


def look(cluster: Cluster, seconds: float, *rows: JobRow) -> ScriptedScheduler:
    scheduler = ScriptedScheduler(rows)
    observe(cluster, scheduler, after(seconds))
    return scheduler


def the_attempt(index: int = 0, epoch: int = 0) -> Attempt:
    return Attempt.objects.select_related("job").get(job__number=12345, job__epoch=epoch, index=index)


def sentences(*types: EventType) -> list[str]:
    return [event.sentence for event in AuditEvent.objects.filter(type__in=types or list(EventType))]


def everything() -> dict[str, Any]:
    """All that is stored but the times of having looked."""
    never = {"seen_at"}
    return {
        model.__name__: [
            {name: value for name, value in row.items() if name not in never}
            for row in model.objects.order_by("pk").values()
        ]
        for model in (Cluster, Job, Attempt, AuditEvent)
    }


def test_a_new_job_is_stored_with_all_that_its_row_tells(cluster: Cluster) -> None:
    row = a_row(user_id=1000, account="ai", comment=ACTION, array_job=12340, array_task=5, stderr="e")
    look(cluster, 5, row)
    job = Job.objects.get()
    assert model_to_dict(job, exclude=["id", "cluster"]) == {
        "number": 12345,
        "epoch": 0,
        "array_job": 12340,
        "array_task": 5,
        "het_leader": None,
        "workflow_id": "gpt-7",
        "name": "train",
        "user": "trainer",
        "user_id": 1000,
        "account": "ai",
        "partition": "main",
        "node_count": 2,
        "requeue_allowed": True,
        "work_dir": "/home/trainer",
        "stdout": "%x_%j.log",
        "stderr": "e",
        "comment": ACTION,
        "opt_in": {
            "environment": "lab",
            "mode": "action",
            "auto_resume_mode": "",
            "max_requeue_times": None,
            "workflow_id": "gpt-7",
            "logs": [],
            "wants_action": True,
        },
        "opt_in_error": "",
        "wish": "action",
        "newest_index": 0,
        "newest_state": "running",
        "created_at": after(0),
        "seen_at": after(5),
        "missing_listings": 0,
        "missing_since": None,
        "live": True,
    }
    attempt = the_attempt()
    assert attempt.heimdall_id == heimdall_id("demo", 12345, 0, 0)
    assert (attempt.state, attempt.nodes, attempt.started_at) == ("running", ["n01", "n02"], after(2))
    assert (attempt.read_due_at, attempt.changed_at, attempt.phase) == (after(5), after(5), "starting")
    assert sentences() == ["Attempt 12345-0 of trainer's job train was first seen: Running."]


def test_the_same_listing_again_changes_nothing_and_says_nothing(cluster: Cluster) -> None:
    rows = [a_row(1), a_row(2, JobState.PENDING), failed(a_row(3), after(4)), a_row(4, comment="free text")]
    look(cluster, 5, *rows)
    before = everything()
    scheduler = look(cluster, 20, *rows)
    assert everything() == before
    assert Job.objects.filter(seen_at=after(20)).count() == 4
    assert scheduler.calls == ["jobs", "nodes"]


def test_waiting_then_running_then_failed(cluster: Cluster) -> None:
    look(cluster, 0, a_row(state=JobState.PENDING, started_at=after(900), exit_code=3, nodes=()))
    attempt = the_attempt()
    assert (attempt.read_due_at, attempt.started_at, attempt.exit_code) == (None, None, None)
    look(cluster, 15, a_row())
    assert (the_attempt().started_at, the_attempt().read_due_at) == (after(2), after(15))
    look(cluster, 30, failed(a_row(), after(29)))
    attempt = the_attempt()
    assert (attempt.state, attempt.exit_code, attempt.ended_at) == ("failed", 3, after(29))
    assert (attempt.read_due_at, attempt.phase) == (after(30), "ended")
    event = AuditEvent.objects.get(type=EventType.ATTEMPT_STATE, at=after(30))
    assert event.sentence == "Attempt 12345-0 went from Running to Failed (NonZeroExitCode, exit code 3)."
    assert (event.attempt_label, event.heimdall_job_id) == ("12345-0", attempt.heimdall_id)
    assert (event.scheduler_at, event.level) == (after(29), "warning")


def test_nodes_are_those_it_ran_on_not_those_left_while_it_ends(cluster: Cluster) -> None:
    look(cluster, 0, a_row())
    look(cluster, 15, a_row(state=JobState.COMPLETING, nodes=("n02",)))
    assert (the_attempt().state, the_attempt().nodes) == ("completing", ["n01", "n02"])
    look(cluster, 30, replace(failed(a_row(), after(16)), nodes=("n02",)))
    assert the_attempt().nodes == ["n01", "n02"]


def test_a_job_that_ran_between_two_listings_is_still_known(cluster: Cluster) -> None:
    look(cluster, 0, failed(a_row(), after(-1)))
    attempt = the_attempt()
    assert (attempt.state, attempt.nodes, attempt.started_at) == ("failed", ["n01", "n02"], after(2))
    assert (attempt.read_due_at, attempt.phase) == (after(0), "ended")


def test_an_end_without_a_time_is_when_it_was_first_seen(cluster: Cluster) -> None:
    ended = replace(failed(a_row(), after(9)), ended_at=None)
    look(cluster, 0, a_row())
    look(cluster, 15, ended)
    look(cluster, 30, ended)
    assert the_attempt().ended_at == after(15)


def test_a_requeue_ends_the_attempt_and_makes_its_log_due_at_once(cluster: Cluster) -> None:
    look(cluster, 0, a_row())
    Attempt.objects.update(read_due_at=None)
    look(cluster, 15, requeued(a_row(), after(9)))
    old, new = the_attempt(0), the_attempt(1)
    assert (old.state, old.ended_at, old.read_due_at, old.phase) == ("requeued", after(9), after(15), "ended")
    assert (new.state, new.submitted_at, new.read_due_at, new.nodes) == ("pending", after(9), None, [])
    assert old.job_id == new.job_id
    assert sentences(EventType.ATTEMPT_STATE) == ["Attempt 12345-0 went from Running to Requeued (restart 1)."]


def test_a_failed_attempt_that_is_requeued_stays_failed(cluster: Cluster) -> None:
    look(cluster, 0, failed(a_row(), after(-3)))
    Attempt.objects.update(read_due_at=None)
    look(cluster, 15, requeued(a_row(), after(9), JobState.HELD))
    old = the_attempt(0)
    assert (old.state, old.exit_code, old.ended_at) == ("failed", 3, after(-3))
    assert old.read_due_at == after(15)
    assert the_attempt(1).state == "held"
    assert sentences(EventType.ATTEMPT_STATE) == []


def test_while_the_old_attempt_ends_the_new_one_only_waits(cluster: Cluster) -> None:
    """The order of a real Slurm: restarts rise first, the submit time moves when the old attempt has ended."""
    look(cluster, 0, a_row())
    ending = requeued(a_row(), after(0), JobState.COMPLETING, nodes=("n02",), started_at=after(9))
    look(cluster, 15, ending)
    look(cluster, 30, ending)
    old, new = the_attempt(0), the_attempt(1)
    assert (new.state, new.nodes, new.started_at, new.submitted_at) == ("pending", [], None, None)
    assert (old.state, old.nodes, old.ended_at) == ("requeued", ["n01", "n02"], after(15))
    look(cluster, 31, requeued(a_row(), after(0)))
    look(cluster, 32, requeued(a_row(), after(31)))
    assert the_attempt(1).submitted_at == after(31)
    look(cluster, 45, requeued(a_row(), after(31), JobState.RUNNING, nodes=("n03",), started_at=after(40)))
    new = the_attempt(1)
    assert (new.state, new.nodes, new.started_at) == ("running", ["n03"], after(40))
    assert (Job.objects.count(), Attempt.objects.count()) == (1, 2)


def test_an_exit_code_shown_with_the_requeue_is_that_of_the_old_attempt(cluster: Cluster) -> None:
    look(cluster, 0, a_row())
    look(cluster, 15, requeued(a_row(), after(9), reason="NonZeroExitCode", exit_code=75))
    assert (the_attempt(0).exit_code, the_attempt(1).exit_code) == (75, None)


def test_restarts_that_were_not_seen_are_said_and_not_invented(cluster: Cluster) -> None:
    look(cluster, 0, a_row())
    look(cluster, 15, requeued(a_row(restarts=2), after(9)))
    assert list(Attempt.objects.values_list("index", flat=True).order_by("index")) == [0, 3]
    assert "restart 3, 2 between them were not seen" in sentences(EventType.ATTEMPT_STATE)[0]


def test_a_number_used_again_is_another_job(cluster: Cluster) -> None:
    look(cluster, 0, failed(a_row(), after(-3)))
    look(cluster, 15, a_row(submitted_at=after(10)))
    old, new = Job.objects.get(epoch=0), Job.objects.get(epoch=1)
    assert (old.live, new.live) == (False, True)
    assert the_attempt(epoch=0).state == "failed"
    assert the_attempt(epoch=1).heimdall_id == heimdall_id("demo", 12345, 1, 0)
    look(cluster, 30, a_row(submitted_at=after(20)))
    assert sorted(Job.objects.values_list("epoch", "live")) == [(0, False), (1, False), (2, True)]


def test_a_running_job_whose_number_was_used_again_is_gone_not_failed(cluster: Cluster) -> None:
    look(cluster, 0, a_row())
    look(cluster, 15, a_row(user="somebody", submitted_at=after(10)))
    assert the_attempt(epoch=0).state == "gone"
    assert the_attempt(epoch=1).state == "running"


def test_another_cluster_with_the_same_number_is_left_alone(cluster: Cluster) -> None:
    other = Cluster.objects.create(name="other")
    look(cluster, 0, a_row())
    look(other, 0, a_row(user="somebody"))
    look(cluster, 15, failed(a_row(), after(9)))
    assert Attempt.objects.get(job__cluster=other).state == "running"


def test_a_refused_comment_is_said_once_and_again_when_it_changes(cluster: Cluster) -> None:
    look(cluster, 0, a_row(comment="{a:1}"))
    look(cluster, 15, a_row(comment="{a:1}"))
    job = Job.objects.get()
    assert job.opt_in["mode"] == "monitor"
    assert "without double quotes" in job.opt_in_error
    assert len(sentences(EventType.OPT_IN_REFUSED)) == 1
    look(cluster, 30, a_row(comment="oops"))
    assert len(sentences(EventType.OPT_IN_REFUSED)) == 2
    look(cluster, 45, a_row(comment=ACTION))
    job.refresh_from_db()
    assert (job.opt_in_error, job.opt_in["wants_action"], job.workflow_id) == ("", True, "gpt-7")
    look(cluster, 60, a_row(comment=""))
    job.refresh_from_db()
    assert (job.opt_in, job.workflow_id) == ({}, "")


def test_what_a_job_that_is_ending_shows_of_itself_is_not_believed(cluster: Cluster) -> None:
    look(cluster, 0, a_row())
    look(cluster, 15, a_row(state=JobState.COMPLETING, node_count=1, partition="", nodes=("n02",)))
    job = Job.objects.get()
    assert (job.node_count, job.partition) == (2, "main")


def test_a_word_we_do_not_know_takes_back_no_end(cluster: Cluster) -> None:
    look(cluster, 0, failed(a_row(), after(-3)))
    look(cluster, 15, a_row(state=JobState.UNKNOWN, word="REVOKED"))
    assert (the_attempt().state, the_attempt().exit_code) == ("failed", 3)
    look(cluster, 30, a_row(7, JobState.UNKNOWN, word="REVOKED"))
    fresh = Attempt.objects.get(job__number=7)
    assert (fresh.state, fresh.scheduler_word, fresh.ended_at) == ("unknown", "REVOKED", None)


def test_columns_of_the_detectors_are_left_alone(cluster: Cluster) -> None:
    look(cluster, 0, a_row(1), a_row(2))
    Attempt.objects.update(phase="training", last_step=7, read_due_at=after(3), judge_due_at=after(4))
    look(cluster, 15, a_row(1, reason="x"), failed(a_row(2), after(9)))
    kept = Attempt.objects.get(job__number=1)
    assert (kept.phase, kept.last_step, kept.read_due_at, kept.judge_due_at) == ("training", 7, after(3), after(4))
    assert kept.changed_at == after(15)
    ended = Attempt.objects.get(job__number=2)
    assert (ended.phase, ended.last_step, ended.read_due_at, ended.judge_due_at) == (
        "ended",
        7,
        after(15),
        after(4),
    )


HOSTILE = {
    "NUL": "a\0b",
    "four bytes a sign": "😀" * 300,
    "ten kilobytes": "x" * 10_240,
    "a lone surrogate": "\udcff",
    "quotes and statements": "'); DROP TABLE workloads_job; --",
    "markup": "<script>alert(1)</script>",
    "control signs": "\x1b[31m\r\n\x1e\x1f",
    "a format": "%s %(name)s {0} {name}",
    "nothing": "",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_texts_are_stored_and_recognised_again(cluster: Cluster, text: str) -> None:
    row = a_row(
        name=text, user=text, account=text, partition=text, comment=text, work_dir=text, stdout=text, reason=text
    )
    row = replace(row, nodes=(text,), word=text)
    look(cluster, 0, row, a_row(7))
    before = everything()
    look(cluster, 15, row, a_row(7))
    assert everything() == before
    assert Job.objects.count() == 2


def test_a_row_listed_twice_is_one_job(cluster: Cluster) -> None:
    look(cluster, 0, a_row(), a_row(), failed(a_row(), after(-1)))
    assert (Job.objects.count(), the_attempt().state) == (1, "failed")


def test_observing_sends_no_command(cluster: Cluster) -> None:
    scheduler = look(cluster, 0, a_row(), failed(a_row(2), after(-1)), a_row(3, JobState.HELD))
    assert set(scheduler.calls) <= {"jobs", "nodes", "limits", "ping", "ended"}


def test_a_job_that_a_client_reported_bare_learns_its_user_and_name(cluster: Cluster) -> None:
    look(cluster, 5, a_row())
    Job.objects.update(user="", name="", user_id=None)
    look(cluster, 10, a_row(user_id=1000))
    assert Job.objects.values_list("epoch", "user", "name", "user_id").get() == (0, "trainer", "train", 1000)
