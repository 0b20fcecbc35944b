"""Does a verdict become exactly one advice, with everything that belongs to it, or a sentence why not?"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from advisor_api import deciding
from advisor_api.approving import approve, newest_advice, reject
from advisor_api.deciding import decide, decide_all_due
from advisor_api.gathering import active_exclusions
from advisor_api.models import Advice, Exclusion, PolicyVersion, Sequence
from advisor_api.policy.operation import Operation
from advisor_api.policy.rules import RULES
from advisor_api.policy.scheduler_action import SchedulerAction
from advisor_api.policy.values import defaults
from advisor_api.refusals import Bad, Stale
from advisor_api.reporting import Done, milestone
from audit.event_type import EventType
from audit.models import AuditEvent
from audit.trail import Entry, record
from detectors.models import Verdict
from schedulers.states import JobState
from tests.advisor_api.world import (
    CONTROLLER,
    NOW,
    OPERATOR,
    UNKNOWN,
    a_cluster,
    a_job,
    a_policy,
    a_verdict,
    an_advice,
    an_anomaly,
    an_attempt,
    culprit,
    seconds,
)
from workloads.models import Attempt, Cluster, Node
from workloads.subjects import subject_of

pytestmark = pytest.mark.django_db
HOLD = SchedulerAction.SLURM_REQUEUE_HOLD


def events(type_: EventType) -> list[AuditEvent]:
    return list(AuditEvent.objects.filter(type=type_.value).order_by("id"))


def test_a_named_node_becomes_a_restart_without_it() -> None:
    attempt = an_attempt(a_job(a_cluster()))
    an_anomaly(attempt)
    advice = decide(a_verdict(attempt), NOW)
    assert advice is not None
    advice.refresh_from_db()
    assert (advice.operation, advice.excluded_nodes, advice.rule) == ("restart", ["n03"], "named_node")
    assert (advice.generation, advice.state, advice.mode_at_decision) == (1, "pending", "action")
    assert advice.facts["named"] == [
        {"host": "n03", "confidence": 0.95, "available": True, "drained": False, "witnessed": False}
    ]
    assert len(advice.trace) == len(RULES)
    sequence = Sequence.objects.get()
    assert (sequence.happened_at, sequence.detected_at) == (NOW - seconds(5), NOW - seconds(3))
    assert len(sequence.trace_id) == 32
    exclusion = Exclusion.objects.get()
    assert (exclusion.node, exclusion.until, exclusion.owner) == ("n03", NOW + timedelta(days=1), "rule named_node")
    (event,) = events(EventType.ADVICE)
    assert event.sentence.startswith("Restart 100-0 without n03: n03 is named")
    assert (event.actor_kind, event.actor, event.advice_generation) == ("rule", "named_node", 1)
    assert event.payload["seconds_since_detection"] == 3.0
    assert event.trace_id == sequence.trace_id
    assert Verdict.objects.get().decide_due_at is None


def test_a_verdict_is_decided_once() -> None:
    verdict = a_verdict(an_attempt(a_job(a_cluster())))
    assert decide(verdict, NOW) is not None
    assert decide(verdict, NOW) is None  # this worker read the row before the other one took it
    assert Advice.objects.count() == 1
    assert events(EventType.NO_ADVICE) == []


def test_nothing_is_stored_when_the_last_write_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = a_verdict(an_attempt(a_job(a_cluster())))

    def broken(*_args: object) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(deciding, "exclude_named", broken)
    with pytest.raises(RuntimeError), transaction.atomic():
        decide(verdict, NOW)
    assert not Advice.objects.exists()
    assert not Sequence.objects.exists()
    assert not AuditEvent.objects.exists()
    assert Verdict.objects.get().decide_due_at == NOW


def test_a_verdict_that_cannot_be_decided_stops_no_other() -> None:
    cluster = a_cluster()
    broken = a_verdict(an_attempt(a_job(cluster, 1)), kind="no_such_kind")
    good = a_verdict(an_attempt(a_job(cluster, 2)))
    assert decide_all_due(NOW) == 2
    assert Advice.objects.get().verdict == good
    broken.refresh_from_db()
    assert broken.decide_due_at == NOW + seconds(30)


def test_a_guard_leaves_it_alone_with_a_sentence() -> None:
    attempt = an_attempt(a_job(a_cluster()), state=JobState.CANCELLED)
    assert decide(a_verdict(attempt), NOW) is None
    (event,) = events(EventType.NO_ADVICE)
    assert event.sentence == "100-0 is left alone: somebody cancelled the job, which is a wish and not a failure."
    assert event.payload["rule"] == "cancelled"
    assert len(event.payload["trace"]) == len(RULES)
    assert Verdict.objects.get().decide_due_at is None


def test_an_unseen_scheduler_postpones_and_says_so_once() -> None:
    cluster = a_cluster(cannot_see_since=NOW - seconds(30))
    a_verdict(an_attempt(a_job(cluster)))
    for turn in range(3):
        decide_all_due(NOW + seconds(10 * turn))
    assert len(events(EventType.NO_ADVICE)) == 1
    assert Verdict.objects.get().decide_due_at == NOW + seconds(25)
    Cluster.objects.update(cannot_see_since=None)
    decide_all_due(NOW + seconds(30))
    assert Advice.objects.get().operation == Operation.RESTART


def test_a_question_to_a_person_opens_no_recovery() -> None:
    advice = decide(a_verdict(an_attempt(a_job(a_cluster())), action="ask"), NOW)
    assert advice is not None
    assert (advice.operation, advice.state) == ("wait", "pending")
    assert not Sequence.objects.exists()
    assert events(EventType.ADVICE)[0].level == "warning"


def test_monitor_mode_gives_the_same_advice_and_excludes_nothing() -> None:
    advice = an_advice(a_cluster(mode="monitor"))
    assert (advice.operation, advice.excluded_nodes, advice.state) == ("restart", ["n03"], "pending")
    assert not Exclusion.objects.exists()


class TestApproval:
    def test_it_waits_and_excludes_only_when_approved(self) -> None:
        advice = an_advice(a_cluster(mode="approve", min_job_age_seconds=600))
        assert advice.state == "awaiting_approval"
        assert advice.expires_at == NOW + seconds(540)
        assert not Exclusion.objects.exists()
        approve(newest_advice(advice.attempt), 1, "looks right", OPERATOR, NOW + seconds(60))
        assert newest_advice(advice.attempt).state == "pending"
        assert Exclusion.objects.get().node == "n03"
        (event,) = events(EventType.ADVICE_STATE)
        assert event.sentence == "olga approved advice 1 on 100-0: looks right"
        assert (event.actor_kind, event.actor) == ("person", "olga")

    def test_too_late_is_too_late(self) -> None:
        advice = an_advice(a_cluster(mode="approve"))
        with pytest.raises(Stale, match="too late"):
            approve(advice, 1, "go", OPERATOR, advice.expires_at)

    def test_a_job_that_recovered_needs_none(self) -> None:
        advice = an_advice(a_cluster(mode="approve"))
        an_attempt(advice.attempt.job, 1, JobState.RUNNING)
        with pytest.raises(Stale, match="requeued meanwhile"):
            approve(advice, 1, "go", OPERATOR, NOW)

    def test_a_hang_that_moves_again_needs_none(self) -> None:
        attempt = an_attempt(a_job(a_cluster(mode="approve")), state=JobState.RUNNING)
        advice = decide(a_verdict(attempt, kind="hang", **UNKNOWN), NOW)
        assert advice is not None
        Attempt.objects.update(last_step=7, last_step_at=NOW + seconds(5))
        with pytest.raises(Stale, match="makes steps again"):
            approve(newest_advice(attempt), 1, "go", OPERATOR, NOW + seconds(6))

    def test_another_generation_was_seen(self) -> None:
        advice = an_advice(a_cluster(mode="approve"))
        with pytest.raises(Stale, match="newest one is 1"):
            approve(advice, 2, "go", OPERATOR, NOW)

    def test_a_reason_is_needed(self) -> None:
        advice = an_advice(a_cluster(mode="approve"))
        with pytest.raises(Bad, match="Say why"):
            approve(advice, 1, "  ", OPERATOR, NOW)

    def test_the_second_of_two_people_is_told(self) -> None:
        advice = an_advice(a_cluster(mode="approve"))
        mine, theirs = newest_advice(advice.attempt), newest_advice(advice.attempt)
        approve(mine, 1, "go", OPERATOR, NOW)
        with pytest.raises(Stale, match="moved meanwhile"):
            approve(theirs, 1, "go", OPERATOR, NOW)
        assert len(events(EventType.ADVICE_STATE)) == 1

    def test_whose_facts_cannot_be_read_is_decided_anew(self) -> None:
        advice = an_advice(a_cluster(mode="approve"))
        Advice.objects.update(facts={})
        with pytest.raises(Stale, match="cannot be read, so it is decided anew"):
            approve(newest_advice(advice.attempt), 1, "go", OPERATOR, NOW)

    def test_many_yeses_together_make_no_restart_storm(self) -> None:
        cluster = a_cluster(mode="approve")
        asked = [
            an_advice(cluster, number, **UNKNOWN | {"fingerprint": f"f-{number}"}) for number in range(100, 104)
        ]
        assert {advice.state for advice in asked} == {"awaiting_approval"}
        Verdict.objects.update(decide_due_at=None)
        for advice in asked[:3]:
            approve(newest_advice(advice.attempt), 1, "go", OPERATOR, NOW)
        last = newest_advice(asked[3].attempt)
        with pytest.raises(Stale, match="decided anew: 3 restarts in the partition"):
            approve(last, 1, "go", OPERATOR, NOW)
        assert newest_advice(last.attempt).state == "awaiting_approval"
        assert Verdict.objects.get(pk=last.verdict.pk).decide_due_at == NOW
        anew = decide(Verdict.objects.get(pk=last.verdict.pk), NOW)
        assert anew is not None
        assert (anew.operation, anew.rule) == ("wait", "restart_storm")

    def test_rejected_means_not_again_for_the_same_reason(self) -> None:
        advice = an_advice(a_cluster(mode="approve"))
        reject(newest_advice(advice.attempt), 1, "maintenance tonight", OPERATOR, NOW)
        assert decide(a_verdict(advice.attempt), NOW) is None
        assert Advice.objects.get().state == "abandoned"


class TestGenerations:
    def test_a_newer_verdict_that_says_the_same_changes_nothing(self) -> None:
        advice = an_advice(a_cluster())
        assert decide(a_verdict(advice.attempt, confidence=0.97), NOW) is None
        assert Advice.objects.get().state == "pending"
        assert "says the same already" in events(EventType.NO_ADVICE)[0].sentence

    def test_one_that_says_something_else_supersedes(self) -> None:
        advice = an_advice(a_cluster())
        newer = decide(a_verdict(advice.attempt, implicated=[culprit("n02")]), NOW + seconds(5))
        assert newer is not None
        assert (newer.generation, newer.excluded_nodes) == (2, ["n02"])
        assert active_exclusions(advice.attempt.job.cluster, NOW + seconds(6)).get().node == "n02"
        advice.refresh_from_db()
        assert (advice.state, advice.state_reason) == ("abandoned", "SUPERSEDED")
        assert events(EventType.ADVICE_STATE)[0].sentence == "Advice 1 on 100-0 is replaced by advice 2."

    @pytest.mark.parametrize("trace", ["milestone", "intent"])
    def test_none_supersedes_what_a_controller_has_begun(self, trace: str) -> None:
        advice = an_advice(a_cluster())
        if trace == "milestone":
            done = Done("k", Operation.RESTART, SchedulerAction.SLURM_REQUEUE_HOLD, NOW)
            milestone(advice.sequence, done, CONTROLLER, NOW)
        else:
            entry = Entry(EventType.INTENT, subject_of(advice.attempt), CONTROLLER, "soon", advice_generation=1)
            record([entry], NOW)
        assert decide(a_verdict(advice.attempt, implicated=[culprit("n02")]), NOW) is None
        assert Advice.objects.get().state == "pending"
        assert events(EventType.NO_ADVICE)[0].payload["rule"] == "command_given"

    def test_what_came_too_late_for_its_action_is_a_correction_told_once(self) -> None:
        advice = an_advice(a_cluster())
        record([Entry(EventType.INTENT, subject_of(advice.attempt), CONTROLLER, "now", advice_generation=1)], NOW)
        late = a_verdict(
            advice.attempt,
            layer="application",
            action="stop",
            sentence="A module cannot be imported.",
            implicated=[],
        )
        assert decide(late, NOW) is None
        (event,) = events(EventType.CORRECTION)
        assert (event.advice_generation, event.verdict_id) == (1, late.uuid)
        assert set(event.payload["changed"]) == {"layer", "action", "culprits", "excluded"}
        assert event.payload["changed"]["culprits"] == {"was": ["n03"], "is": []}
        assert "Uncorrectable ECC error on n03 is now A module cannot be imported" in event.sentence
        Verdict.objects.filter(pk=late.pk).update(decide_due_at=NOW)
        late.refresh_from_db()
        decide(late, NOW)
        assert len(events(EventType.CORRECTION)) == 1
        advice.refresh_from_db()
        assert (advice.state, Advice.objects.count()) == ("pending", 1), "nothing is done about it"

    def test_after_the_requeue_it_is_one_too(self) -> None:
        advice = an_advice(a_cluster())
        record([Entry(EventType.INTENT, subject_of(advice.attempt), CONTROLLER, "now", advice_generation=1)], NOW)
        an_attempt(advice.attempt.job, 1, JobState.RUNNING)
        assert decide(a_verdict(advice.attempt, implicated=[culprit("n02")]), NOW) is None
        moved = {"was": ["n03"], "is": ["n02"]}
        assert events(EventType.CORRECTION)[0].payload["changed"] == {"culprits": moved, "excluded": moved}

    @pytest.mark.parametrize(
        ("later", "policy", "excluded"),
        [
            pytest.param({**culprit("n03"), "excludable": False}, {}, [], id="it may be left out no more"),
            pytest.param(culprit("n03", 0.7), {}, [], id="it is named less surely"),
            pytest.param(
                culprit("n03", 0.85), {"exclude_confidence": 0.9}, [], id="less surely than the policy asks"
            ),
            pytest.param(culprit("n03", 0.85), {}, None, id="as surely as the policy asks"),
            pytest.param({**culprit("n03"), "confidence": "high"}, {}, [], id="of another shape"),
        ],
    )
    def test_another_exclusion_alone_is_a_correction(
        self, later: dict[str, Any], policy: dict[str, Any], excluded: list[str] | None
    ) -> None:
        cluster = a_cluster()
        if policy:
            a_policy(policy, cluster)
        advice = an_advice(cluster)
        record([Entry(EventType.INTENT, subject_of(advice.attempt), CONTROLLER, "now", advice_generation=1)], NOW)
        decide(a_verdict(advice.attempt, implicated=[later]), NOW)
        told = events(EventType.CORRECTION)
        if excluded is None:
            assert told == []
            return
        (event,) = told
        assert event.payload["changed"] == {"excluded": {"was": ["n03"], "is": excluded}}
        assert "it would have left out n03 and would leave out no node now" in event.sentence

    @pytest.mark.parametrize("acted", [True, False], ids=["the same conclusion", "nothing was done"])
    def test_no_correction_without_a_difference_or_an_action(self, acted: bool) -> None:
        advice = an_advice(a_cluster())
        if acted:
            entry = Entry(EventType.INTENT, subject_of(advice.attempt), CONTROLLER, "now", advice_generation=1)
            record([entry], NOW)
        changes = {"confidence": 0.99} if acted else {"implicated": [culprit("n02")]}
        decide(a_verdict(advice.attempt, **changes), NOW)
        assert events(EventType.CORRECTION) == []

    def test_an_older_verdict_that_comes_late_is_passed_over(self) -> None:
        attempt = an_attempt(a_job(a_cluster()))
        old, new = a_verdict(attempt), a_verdict(attempt, implicated=[culprit("n02")])
        assert decide(old, NOW) is None
        advice = decide(new, NOW)
        assert advice is not None
        assert advice.excluded_nodes == ["n02"]


class TestFacts:
    """What is gathered from the rows."""

    def facts(self, advice: Advice | None) -> dict[str, object]:
        assert advice is not None
        return dict(advice.facts)

    def test_only_own_and_known_nodes_can_be_named(self) -> None:
        attempt = an_attempt(a_job(a_cluster()), nodes=["n01", "n02", "ghost"])
        rows = [
            culprit("ghost"),
            culprit("n09"),
            {"host": "n01", "role": "victim", "confidence": 0.99, "excludable": True},
            {"host": "n02", "role": "culprit", "confidence": 0.99, "excludable": False},
            {"host": ["n02"], "role": "culprit", "confidence": "high"},
            "nonsense",
        ]
        assert self.facts(decide(a_verdict(attempt, implicated=rows), NOW))["named"] == []

    def test_the_surest_of_several_words_on_a_node_counts(self) -> None:
        attempt = an_attempt(a_job(a_cluster(nodes=80)))
        rows = [culprit("n03", 0.5), culprit("n02", 0.85), culprit("n03", 0.9)]
        advice = decide(a_verdict(attempt, implicated=rows), NOW)
        assert advice is not None
        assert [row["host"] for row in advice.facts["named"]] == ["n03", "n02"]
        assert advice.excluded_nodes == ["n02", "n03"]

    def test_a_drained_node_is_not_ours_to_exclude(self) -> None:
        attempt = an_attempt(a_job(a_cluster()))
        Node.objects.filter(name="n03").update(
            state="mixed+drain", available=False, reason="disk", reason_by="root"
        )
        advice = decide(a_verdict(attempt), NOW)
        assert advice is not None
        assert (advice.rule, advice.excluded_nodes) == ("named_node_is_drained", [])
        assert not Exclusion.objects.exists()

    def test_only_the_jobs_partition_counts(self) -> None:
        cluster = a_cluster(nodes=4)
        for i in range(96):
            Node.objects.create(cluster=cluster, name=f"x{i}", state="idle", partitions=["other"], seen_at=NOW)
        facts = self.facts(decide(a_verdict(an_attempt(a_job(cluster))), NOW))
        assert (facts["partition_size"], facts["partition_available"]) == (4, 4)

    def test_exclusions_that_ended_or_were_lifted_do_not_count(self) -> None:
        cluster = a_cluster()
        rows = {"cluster": cluster, "reason": "r", "owner": "o", "since": NOW - timedelta(days=2)}
        Exclusion.objects.create(node="n05", until=NOW, **rows)
        Exclusion.objects.create(node="n06", until=NOW + seconds(9), lifted_at=NOW, **rows)
        Exclusion.objects.create(node="n07", until=NOW + seconds(9), **rows)
        Exclusion.objects.create(node="not-in-the-partition", until=NOW + seconds(9), **rows)
        facts = self.facts(decide(a_verdict(an_attempt(a_job(cluster)), **UNKNOWN), NOW))
        assert facts["excluded"] == [{"node": "n07", "available": True, "weight": 1.0, "by_own_log": False}]

    def test_counters_look_at_earlier_attempts_of_this_job_alone(self) -> None:
        cluster = a_cluster()
        job = a_job(cluster)
        for index in range(3):
            a_verdict(an_attempt(job, index, last_step=25 - index), decide_due_at=None, **UNKNOWN)
        again = a_job(cluster, epoch=1)  # the number came round again
        a_verdict(an_attempt(again, 0), decide_due_at=None, **UNKNOWN)
        facts = self.facts(decide(a_verdict(an_attempt(job, 3, last_step=24), **UNKNOWN), NOW))
        assert facts["restarts_for_cause"] == 3
        assert facts["attempts_without_checkpoint"] == 3
        assert facts["requeues"] == 3

    def test_a_number_used_again_begins_anew(self) -> None:
        cluster = a_cluster()
        job = a_job(cluster)
        for index in range(4):
            a_verdict(an_attempt(job, index), decide_due_at=None, **UNKNOWN)
        advice = decide(a_verdict(an_attempt(a_job(cluster, epoch=1)), **UNKNOWN), NOW)
        assert advice is not None
        assert (advice.operation, advice.facts["requeues"]) == ("restart", 0)

    def test_the_jobs_own_cap_is_read_from_its_comment(self) -> None:
        job = a_job(a_cluster(), opt_in={"mode": "action", "max_requeue_times": 1})
        an_attempt(job, 0, last_checkpoint_step=10)
        advice = decide(a_verdict(an_attempt(job, 1, last_checkpoint_step=20)), NOW)
        assert advice is not None
        assert (advice.operation, advice.rule) == ("terminate", "too_many_requeues")

    def test_jitter_is_the_attempts_own_and_small(self) -> None:
        cluster = a_cluster(nodes=200)
        a_policy({"storm_restarts": 99, "max_user_restarts": 99})
        found = set()
        for number in range(20):
            facts = self.facts(decide(a_verdict(an_attempt(a_job(cluster, number)), **UNKNOWN), NOW))
            assert isinstance(facts["jitter"], float)
            assert -0.2 <= facts["jitter"] <= 0.2
            found.add(facts["jitter"])
        assert len(found) > 10


def test_a_storm_asks_a_person_and_other_partitions_go_on() -> None:
    cluster = a_cluster(nodes=200)
    Node.objects.filter(name__gt="n150").update(partitions=["other"])
    for number in range(3):
        assert an_advice(cluster, number, **UNKNOWN).operation == "restart"
    assert an_advice(cluster, 4, **UNKNOWN).rule == "restart_storm"
    other = an_attempt(a_job(cluster, 5, partition="other"), nodes=["n160"])
    advice = decide(a_verdict(other, **UNKNOWN), NOW)
    assert advice is not None
    assert advice.operation == "restart"
    late = NOW + seconds(601)
    attempt = an_attempt(a_job(cluster, 6), now=late)
    advice = decide(a_verdict(attempt, late, **UNKNOWN), late)
    assert advice is not None
    assert advice.operation == "restart"


def test_restarts_that_came_to_nothing_make_no_storm() -> None:
    cluster = a_cluster(nodes=200)
    for number in range(3):
        advice = an_advice(cluster, number, **UNKNOWN)
        reject(newest_advice(advice.attempt), 1, "not now", OPERATOR, NOW)
    assert an_advice(cluster, 4, **UNKNOWN).operation == "restart"


def requeued(advice: Advice, at: datetime = NOW) -> None:
    milestone(advice.sequence, Done(f"k{advice.pk}", Operation.RESTART, HOLD, at), CONTROLLER, at)


def announced(advice: Advice, at: datetime = NOW) -> None:
    subject = subject_of(advice.attempt)
    record([Entry(EventType.INTENT, subject, CONTROLLER, "soon", advice_generation=advice.generation)], at)


def approved(advice: Advice) -> None:
    approve(newest_advice(advice.attempt), 1, "go", OPERATOR, NOW)


def nothing(advice: Advice) -> None:
    """It is left as it was decided."""


def abandoned(advice: Advice) -> None:
    Advice.objects.filter(pk=advice.pk).update(state="abandoned")


class TestStorm:
    """Three restarts make a storm: which of three count when the fourth job of the partition is decided on?"""

    def fourth(
        self, cluster: Cluster, job: dict[str, Any], *then: Callable[[Advice], None], later: float = 0
    ) -> str:
        for number in range(3):
            attempt = an_attempt(a_job(cluster, number, **job))
            advice = decide(a_verdict(attempt, **UNKNOWN), NOW)
            assert advice is not None
            assert advice.operation == "restart"
            for happens in then:
                happens(advice)
        moment = NOW + seconds(later)
        fourth = decide(a_verdict(an_attempt(a_job(cluster, 4), now=moment), moment, **UNKNOWN), moment)
        assert fourth is not None
        return fourth.rule

    @pytest.mark.parametrize(
        ("cluster", "job", "then"),
        [
            pytest.param({"mode": "monitor"}, {}, nothing, id="monitor mode"),
            pytest.param({"mode": "approve"}, {}, nothing, id="nobody approved"),
            pytest.param({}, {"opt_in": {"mode": "monitor"}}, nothing, id="jobs that did not ask for it"),
            pytest.param({"acknowledge_scheduler_actions": False}, {}, nothing, id="not acknowledged"),
            pytest.param({}, {}, abandoned, id="abandoned untouched"),
        ],
    )
    def test_what_nobody_acts_on_does_not_count(
        self, cluster: dict[str, Any], job: dict[str, Any], then: Callable[[Advice], None]
    ) -> None:
        assert self.fourth(a_cluster(nodes=200, **cluster), job, then) != "restart_storm"

    def test_what_expired_does_not_count(self) -> None:
        def expires(advice: Advice) -> None:
            Advice.objects.filter(pk=advice.pk).update(expires_at=NOW + seconds(1))

        assert self.fourth(a_cluster(nodes=200), {}, expires, later=2) != "restart_storm"

    def test_an_intent_whose_advice_came_to_nothing_does_not_count(self) -> None:
        assert self.fourth(a_cluster(nodes=200), {}, announced, abandoned) != "restart_storm"

    @pytest.mark.parametrize(
        ("cluster", "then"),
        [
            pytest.param({}, (requeued,), id="acted on"),
            pytest.param({}, (requeued, abandoned), id="acted on, then abandoned"),
            pytest.param({"mode": "approve"}, (approved, announced), id="intended"),
            pytest.param({"mode": "approve"}, (approved,), id="approved a moment ago"),
            pytest.param({}, (nothing,), id="handed out at this moment"),
        ],
    )
    def test_what_is_acted_on_counts(
        self, cluster: dict[str, Any], then: tuple[Callable[[Advice], None], ...]
    ) -> None:
        assert self.fourth(a_cluster(nodes=200, **cluster), {}, *then) == "restart_storm"

    @pytest.mark.parametrize("happens", [requeued, announced])
    def test_the_window_runs_from_the_command(self, happens: Callable[[Advice, datetime], None]) -> None:
        """Not from the advice, which may have waited for its approval."""

        def late(advice: Advice) -> None:
            happens(advice, NOW + seconds(60))

        for name, later, storm in (("within", 659, True), ("after", 661, False)):
            cluster = a_cluster(name, nodes=200)
            assert (self.fourth(cluster, {}, late, later=later) == "restart_storm") is storm

    def test_an_intent_counts_when_its_gates_are_closed_since(self) -> None:
        cluster = a_cluster(nodes=200)

        def begun_then_expired(advice: Advice) -> None:
            announced(advice)
            Advice.objects.filter(pk=advice.pk).update(expires_at=NOW)

        assert self.fourth(cluster, {}, begun_then_expired) == "restart_storm"


class TestPolicyVersions:
    def test_the_defaults_are_stored_on_first_need(self) -> None:
        advice = an_advice(a_cluster())
        version = PolicyVersion.objects.get()
        assert (version.values, version.created_by, advice.policy) == (defaults(), "Rekindle", version)
        an_advice(a_cluster("second"))
        assert PolicyVersion.objects.count() == 1

    def test_the_newest_of_the_cluster_wins_over_the_newest_of_all(self) -> None:
        cluster, other = a_cluster(), a_cluster("second")
        a_policy({"exclude_confidence": 0.5}, cluster)
        mine = a_policy({"exclude_confidence": 0.99}, cluster)
        everybodys = a_policy({})
        assert (an_advice(cluster).policy, an_advice(cluster, 2).rule) == (mine, "known_cause")
        assert (an_advice(other).policy, an_advice(other, 2).rule) == (everybodys, "named_node")


def test_the_number_of_queries_does_not_grow(django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    cluster = a_cluster(nodes=400)
    job = a_job(cluster, node_count=256)
    for index in range(15):
        a_verdict(an_attempt(job, index), decide_due_at=None)
    names = [f"n{i:02}" for i in range(1, 257)]
    attempt = an_attempt(job, 15, nodes=names)
    verdict = a_verdict(attempt, implicated=[culprit(name, 0.5) for name in names])
    verdict = Verdict.objects.select_related("attempt__job__cluster").get(pk=verdict.pk)
    with django_assert_max_num_queries(32):  # with the first policy of all and its event
        decide(verdict, NOW)


def test_a_sweep_reads_what_is_due_in_one_query() -> None:
    cluster = a_cluster()
    for number in range(5):
        a_verdict(an_attempt(a_job(cluster, number)), decide_due_at=NOW + seconds(1))
    with CaptureQueriesContext(connection) as queries:
        assert decide_all_due(NOW) == 0
    assert len(queries) == 1
