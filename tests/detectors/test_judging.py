"""Do stored facts become one verdict, once, and what is it?"""

import json
import re
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.event_type import EventType
from audit.models import AuditEvent
from detectors import judging
from detectors.attribution.attributing import attribute
from detectors.attribution.replaying import read_facts
from detectors.judging import collect_facts, judge
from detectors.models import Anomaly, Verdict
from detectors.reading import read_attempt
from detectors.second_look import LATEST
from schedulers.states import JobState
from tests.detectors.rows import ECC, Log, again, end, make_attempt, make_cluster, make_nodes, megatron
from workloads.models import Attempt, Job, Node

pytestmark = pytest.mark.django_db
WATCHDOG = (
    "[rank0]:[E501 10:05:00.408271257 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation"
    " timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for"
    " 600060 milliseconds before timing out."
)
LOSS = re.compile(r"lm loss: \S+")


def now() -> datetime:
    return datetime.now(UTC)


def read_out(attempt: Attempt, at: datetime) -> Attempt:
    """Read an ended attempt to its end, turn by turn, as the task does."""
    for seconds in (0.5, 1.5, 6):
        read_attempt(again(attempt), at + timedelta(seconds=seconds))
    return again(attempt)


def run_and_end(attempt: Attempt, *lines: str, state: JobState = JobState.FAILED, **changes: object) -> Attempt:
    """The attempt trains five steps, prints some lines and ends; its log is read to the end."""
    start = now() - timedelta(seconds=8)
    Log.of(attempt).write(*(megatron(n, start + timedelta(seconds=n)) for n in range(1, 6)), *lines)
    read_attempt(again(attempt), now())
    at = now()
    end(attempt, state, at, **changes)
    return read_out(attempt, at)


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    attempt = make_attempt(make_cluster(tmp_path))
    make_nodes(attempt.job.cluster)
    return attempt


class TestTheWholeWay:
    def test_an_ecc_error_in_the_log_names_the_node_to_leave_out(self, attempt: Attempt) -> None:
        due = run_and_end(attempt, ECC, "n01: [rank0]: NCCL communicator was aborted on rank 0.")
        at = now()
        verdict = judge(due, at)
        assert verdict is not None
        assert "ECC" in verdict.sentence and verdict.sentence.endswith("on n03")
        assert (verdict.action, verdict.signature) == ("restart_exclude", "cuda.ecc")
        assert [(one["host"], one["role"]) for one in verdict.implicated if one["excludable"]] == [
            ("n03", "culprit")
        ]
        assert (verdict.decide_due_at, verdict.judged_at) == (at, at)
        event = AuditEvent.objects.get(type=EventType.VERDICT)
        assert (event.sentence, event.node, event.action, event.verdict_id) == (
            verdict.sentence,
            "n03",
            "restart_exclude",
            verdict.uuid,
        )
        ended_at = again(attempt).ended_at
        assert ended_at is not None and again(attempt).changed_at == at
        assert again(attempt).judge_due_at == ended_at + LATEST

    def test_a_missing_module_stops_the_job(self, attempt: Attempt) -> None:
        lines = ["Traceback (most recent call last):", '  File "/job/train.py", line 3, in <module>']
        Log.of(attempt).write(*lines, "ModuleNotFoundError: No module named 'flash_attn'")
        at = now()
        end(attempt, at=at)
        verdict = judge(read_out(attempt, at), now())
        assert verdict is not None and (verdict.action, verdict.signature) == ("stop", "py.import")

    def test_a_node_failure_names_the_node_that_is_down(self, tmp_path: Path) -> None:
        attempt = make_attempt(make_cluster(tmp_path))
        make_nodes(attempt.job.cluster, down=("n02",))
        verdict = judge(run_and_end(attempt, state=JobState.NODE_FAIL, exit_code=0), now())
        assert verdict is not None
        assert (verdict.action, [one["host"] for one in verdict.implicated]) == ("restart_exclude", ["n02"])

    def test_a_job_without_a_readable_log_is_judged_by_the_scheduler_alone(self) -> None:
        at = now()
        attempt = end(make_attempt(make_cluster()), at=at, exit_code=0, exit_signal=9)
        verdict = judge(read_out(attempt, at), now())
        assert verdict is not None
        assert (verdict.action, verdict.evidence_status) == ("restart", "hypothesis")
        assert "no log roots" in " ".join(verdict.body["missing_evidence"])

    def test_a_hang_is_judged_while_the_attempt_lives(self, attempt: Attempt) -> None:
        start = now()
        Log.of(attempt).write(*(megatron(n, start + timedelta(seconds=n - 31)) for n in range(1, 31)))
        Attempt.objects.filter(pk=attempt.pk).update(started_at=start - timedelta(seconds=40))
        read_attempt(again(attempt), start)
        late = start + timedelta(seconds=300)
        Job.objects.update(seen_at=late)  # listed as running since
        read_attempt(again(attempt), late)
        hang = judge(again(attempt), late)
        assert hang is not None and (hang.kind, hang.action, hang.implicated) == ("hang", "restart", [])
        Log.of(attempt).write(megatron(31, late), at=late)
        read_attempt(again(attempt), late + timedelta(seconds=2))
        over = judge(again(attempt), late + timedelta(seconds=2))
        assert over is not None and (over.action, over.supersedes, over.sentence) == ("none", hang, "Moves again")

    def test_the_other_ranks_get_a_minute_to_say_that_they_wait_too(self, attempt: Attempt) -> None:
        start = now()
        Attempt.objects.filter(pk=attempt.pk).update(started_at=start - timedelta(seconds=40))
        Log.of(attempt).write(*(megatron(n, start + timedelta(seconds=n - 31)) for n in range(1, 31)), WATCHDOG)
        read_attempt(again(attempt), start)
        assert again(attempt).judge_due_at == start + timedelta(seconds=60)
        Log.of(attempt).write(WATCHDOG.replace("rank0", "rank1").replace("Rank 0", "Rank 1"), at=start)
        read_attempt(again(attempt), start + timedelta(seconds=2))
        assert again(attempt).judge_due_at == start + timedelta(seconds=60)

    def test_a_loss_that_is_no_number_is_judged_while_the_attempt_lives(self, attempt: Attempt) -> None:
        start = now()
        Attempt.objects.filter(pk=attempt.pk).update(started_at=start - timedelta(seconds=40))
        lines = [megatron(n, start + timedelta(seconds=n - 31)) for n in range(1, 31)]
        Log.of(attempt).write(*lines[:20], *(LOSS.sub("lm loss: nan", line) for line in lines[20:]))
        read_attempt(again(attempt), start)
        lost = judge(again(attempt), start)
        assert lost is not None and (lost.kind, lost.action, lost.implicated) == ("nan", "restart", [])
        Log.of(attempt).write(megatron(31, start), at=start)
        read_attempt(again(attempt), start + timedelta(seconds=2))
        over = judge(again(attempt), start + timedelta(seconds=2))
        assert over is not None and (over.action, over.supersedes) == ("none", lost)

    @pytest.mark.parametrize("state", [JobState.CANCELLED, JobState.TIMEOUT, JobState.PREEMPTED])
    def test_what_is_no_failure_is_not_repaired(self, attempt: Attempt, state: JobState) -> None:
        verdict = judge(run_and_end(attempt, state=state, exit_code=0), now())
        assert verdict is not None and verdict.action == "none"

    def test_a_second_attempt_knows_the_first(self, attempt: Attempt) -> None:
        first = judge(run_and_end(attempt, ECC), now())
        following = make_attempt(attempt.job.cluster, attempt.job, index=1, started_at=now())
        second = judge(run_and_end(following, ECC.replace("n03", "n02")), now())
        assert first is not None and second is not None
        assert second.body["history"]["attempts"] == 2
        assert second.body["inputs"]["earlier"][0]["culprits"] == ["n03"]
        assert second.implicated[0]["host"] == "n02"


class TestOnce:
    def test_the_same_facts_give_no_second_verdict(self, attempt: Attempt) -> None:
        judge(run_and_end(attempt, ECC), now())
        Attempt.objects.filter(pk=attempt.pk).update(judge_due_at=now())
        assert judge(again(attempt), now()) is None
        assert Verdict.objects.count() == 1 and AuditEvent.objects.filter(type=EventType.VERDICT).count() == 1

    def test_the_last_look_ends_it(self, attempt: Attempt) -> None:
        judge(run_and_end(attempt, ECC), now())
        due_at = again(attempt).judge_due_at
        assert due_at is not None and judge(again(attempt), due_at) is None
        assert again(attempt).judge_due_at is None and Verdict.objects.count() == 1

    def test_a_node_that_is_used_again_is_nothing_new(self, attempt: Attempt) -> None:
        judge(run_and_end(attempt, ECC), now())
        Node.objects.filter(name="n03").update(state="idle")
        assert judge(again(attempt), now()) is None and Verdict.objects.count() == 1

    def test_new_facts_give_a_verdict_that_supersedes(self, attempt: Attempt) -> None:
        first = judge(run_and_end(attempt), now())
        Log.of(attempt).write(ECC)
        Attempt.objects.filter(pk=attempt.pk).update(read_due_at=now())
        read_attempt(again(attempt), now())
        second = judge(again(attempt), now())
        assert first is not None and second is not None
        assert (first.action, second.action, second.supersedes) == ("restart", "restart_exclude", first)

    def test_two_judges_at_once_make_one_verdict(self, attempt: Attempt) -> None:
        due = run_and_end(attempt, ECC)
        stale = again(attempt)
        assert judge(due, now()) is not None
        assert judge(stale, now()) is None
        assert Verdict.objects.count() == 1

    def test_a_change_of_state_meanwhile_drops_the_verdict_and_stays_due(self, attempt: Attempt) -> None:
        due = run_and_end(attempt, ECC)
        Attempt.objects.filter(pk=attempt.pk).update(state=JobState.REQUEUED.value)
        assert judge(due, now()) is None
        assert again(attempt).judge_due_at == due.judge_due_at

    def test_dying_in_the_middle_leaves_it_due(self, attempt: Attempt) -> None:
        due = run_and_end(attempt, ECC)
        with mock.patch.object(judging, "record", side_effect=SystemExit), pytest.raises(SystemExit):
            judge(due, now())
        assert not Verdict.objects.exists()
        assert judge(again(attempt), now()) is not None

    @pytest.mark.parametrize("state", [JobState.COMPLETED, JobState.GONE])
    def test_who_ended_well_or_is_gone_gets_none(self, attempt: Attempt, state: JobState) -> None:
        due = run_and_end(attempt, ECC, state=state, exit_code=0)
        Attempt.objects.filter(pk=attempt.pk).update(judge_due_at=now())
        assert judge(again(due), now()) is None and not Verdict.objects.exists()
        assert again(attempt).judge_due_at is None

    def test_a_live_attempt_without_a_hang_gets_none(self, attempt: Attempt) -> None:
        Log.of(attempt).write(ECC)
        read_attempt(attempt, now())
        Attempt.objects.filter(pk=attempt.pk).update(judge_due_at=now())
        assert judge(again(attempt), now()) is None and not Verdict.objects.exists()

    def test_a_requeue_that_answers_a_verdict_is_not_judged(self, attempt: Attempt) -> None:
        judge(run_and_end(attempt, ECC), now())
        Attempt.objects.filter(pk=attempt.pk).update(state=JobState.REQUEUED.value, judge_due_at=now())
        assert judge(again(attempt), now()) is None and Verdict.objects.count() == 1


class TestReplay:
    def test_a_stored_verdict_is_computed_again_from_its_own_inputs(self, attempt: Attempt) -> None:
        judge(run_and_end(attempt, ECC), now())
        stored = Verdict.objects.get()
        replayed = attribute(read_facts(stored.body["inputs"]), now())
        assert replayed.input_hash == stored.input_hash
        assert json.dumps(replayed.body, sort_keys=True) == json.dumps(stored.body, sort_keys=True)

    def test_stored_rows_give_the_same_facts_again(self, attempt: Attempt) -> None:
        due = run_and_end(attempt, ECC)
        assert collect_facts(due).input_hash() == collect_facts(again(attempt)).input_hash()


def test_the_number_of_queries_does_not_grow_with_the_case(attempt: Attempt) -> None:
    due = run_and_end(attempt, ECC)
    with CaptureQueriesContext(connection) as few:
        collect_facts(due)
    row = Anomaly.objects.get(signature="cuda.ecc")
    for number in range(50):
        row.pk, row.key, row.uuid = None, f"more:{number}", uuid.uuid4()
        row.save()
    with CaptureQueriesContext(connection) as many:
        assert len(collect_facts(due).symptoms) >= 51
    assert len(few) == len(many) <= 12


REQUEUED = "slurmstepd: error: *** JOB 1000 ON n01 CANCELLED AT 2026-11-29T10:00:00 DUE TO JOB REQUEUE ***"


class TestOurOwnCommand:
    """Whatever follows from it is no evidence against the job (design 5.9)."""

    def hanging(self, attempt: Attempt) -> Attempt:
        """It trained, a watchdog spoke, it was judged, and a controller announced a command."""
        start = now() - timedelta(seconds=8)
        spoke_at = now() - timedelta(seconds=1)  # well before the command: a file's time is that of a tick
        Log.of(attempt).write(
            *(megatron(n, start + timedelta(seconds=n)) for n in range(1, 6)), WATCHDOG, at=spoke_at
        )
        read_attempt(again(attempt), now())
        assert judge(again(attempt), now()) is not None
        Attempt.objects.filter(pk=attempt.pk).update(command_at=now())
        return again(attempt)

    def test_the_requeue_in_its_log_becomes_no_cause_of_a_later_verdict(self, attempt: Attempt) -> None:
        first = Verdict.objects.filter(attempt=self.hanging(attempt)).get()
        Log.of(attempt).write(REQUEUED, "srun: error: n02: task 1: Killed")
        read_attempt(again(attempt), now())
        assert Anomaly.objects.filter(attempt=attempt, signature="slurm.requeue").exists()
        Attempt.objects.filter(pk=attempt.pk).update(judge_due_at=now())
        later = judge(again(attempt), now())
        assert later is not None and later.speed == "slow"
        assert (later.kind, later.signature, later.layer) == (first.kind, first.signature, first.layer)
        assert later.action == first.action
        assert {one["role"] for one in later.implicated} <= {"victim"}

    def test_nor_does_the_code_with_which_it_answers(self, attempt: Attempt) -> None:
        first = Verdict.objects.filter(attempt=self.hanging(attempt)).get()
        at = now()
        end(attempt, JobState.FAILED, at, exit_code=1)
        later = judge(read_out(attempt, at), now())
        assert later is not None and later.signature == first.signature
        assert not Anomaly.objects.filter(attempt=attempt, key__startswith="state:").exists()
