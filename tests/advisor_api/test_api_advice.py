"""What does a controller get, and what may it report?"""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from advisor_api.deciding import decide
from advisor_api.models import Advice, ControllerLease, Milestone, Pause, Sequence
from advisor_api.token_role import TokenRole
from audit.event_type import EventType
from audit.models import AuditEvent
from tests.advisor_api.conftest import Api
from tests.advisor_api.world import (
    UNKNOWN,
    a_job,
    a_policy,
    a_token,
    a_verdict,
    an_advice,
    an_anomaly,
    an_attempt,
    culprit,
    seconds,
)
from workloads.models import Cluster

pytestmark = pytest.mark.django_db
CONVERGED = {
    "observedGeneration": "1",
    "disposition": "ADVICE_RECONCILIATION_DISPOSITION_CONVERGED",
    "reason": "ADVICE_RECONCILIATION_REASON_DESIRED_STATE_OBSERVED",
}
ABANDONED = {
    "observedGeneration": "1",
    "disposition": "ADVICE_RECONCILIATION_DISPOSITION_ABANDONED",
    "reason": "ADVICE_RECONCILIATION_REASON_REFUSED_BY_SCHEDULER",
}


def status_path(advice: Advice) -> str:
    return f"/v1/advice/{advice.attempt.heimdall_id}/reconciliation-status"


class TestList:
    @pytest.mark.parametrize(("nodes", "told"), [(["n03"], "900"), ([], None)])
    def test_of_a_restarted_task_it_says_whose_waiting_tasks_leave_the_node_out(
        self, api: Api, nodes: list[str], told: str | None
    ) -> None:
        now = timezone.now()
        job = a_job(api.cluster, now=now, array_job=900, array_task=3)
        decide(a_verdict(an_attempt(job, now=now), now, **({} if nodes else UNKNOWN)), now)
        (found,) = api.get("/v1/advice?onlyActive=true", "controller").json["advice"]
        assert found["nodeConstraints"] == {"excludedNodes": nodes, "waitingTasksOf": told}

    def test_one_advice_in_full(self, api: Api) -> None:
        now = timezone.now()
        attempt = an_attempt(a_job(api.cluster, now=now), now=now)
        an_anomaly(attempt, now)
        advice = decide(a_verdict(attempt, now), now)
        assert advice is not None
        answer = api.get("/v1/advice?onlyActive=true", "controller")
        assert answer.status == 200
        assert (answer.json["count"], answer.json["nextPageToken"]) == (1, "")
        found = answer.json["advice"][0]
        stamp = now.isoformat().replace("+00:00", "Z")
        sequence = Sequence.objects.get()
        assert found == {
            "heimdallJobId": str(attempt.heimdall_id),
            "generation": "1",
            "jobId": "100",
            "attemptIndex": 0,
            "cluster": "demo",
            "environment": "demo",
            "partition": "main",
            "user": "tess",
            "schedulerSystem": "slurm",
            "schedulerScope": "demo",
            "operation": "RECOVERY_OPERATION_RESTART",
            "desiredState": "RUNNING_AGAIN",
            "nodeConstraints": {"excludedNodes": ["n03"], "waitingTasksOf": None},
            "detectedIssues": [
                {
                    "kind": "crash",
                    "layer": "hardware.gpu",
                    "signature": "xid.48",
                    "sentence": "Uncorrectable ECC error on n03.",
                    "nodes": ["n03"],
                }
            ],
            "observedState": {
                "jmState": "FAILED",
                "status": "JOB_STATUS_STOPPED",
                "restarts": 0,
                "submittedAt": (now - seconds(600)).isoformat().replace("+00:00", "Z"),
                "nodes": ["n01", "n02", "n03"],
            },
            "rule": "named_node",
            "reason": "n03 is named as the cause, surely enough to be left out",
            "verdictId": str(advice.verdict.uuid) if advice.verdict else None,
            "notBefore": stamp,
            "holdUntil": (now + seconds(300)).isoformat().replace("+00:00", "Z"),
            "expiresAt": (now + seconds(900)).isoformat().replace("+00:00", "Z"),
            "createdAt": stamp,
            "modeAtDecision": "action",
            "mayBeActedOn": True,
            "whyNot": "",
            "sequenceId": str(sequence.uuid),
            "traceContext": {"traceparent": f"00-{sequence.trace_id}-{sequence.uuid.hex[:16]}-01"},
            "reconciliation": {
                "disposition": "ADVICE_RECONCILIATION_DISPOSITION_PENDING",
                "reason": "ADVICE_RECONCILIATION_REASON_UNSPECIFIED",
            },
        }

    def test_what_asks_a_person_is_never_served(self, api: Api) -> None:
        an_advice(api.cluster, now=timezone.now(), action="ask")
        for query in ("", "?onlyActive=true", "?onlyActive=false"):
            assert api.get(f"/v1/advice{query}", "controller").json["advice"] == []

    def test_what_waits_for_approval_is_served_but_not_to_be_acted_on(self, api: Api) -> None:
        Cluster.objects.filter(name="demo").update(mode="approve")
        api.cluster.refresh_from_db()
        an_advice(api.cluster, now=timezone.now())
        found = api.get("/v1/advice?onlyActive=true", "controller").json["advice"][0]
        assert (found["mayBeActedOn"], found["whyNot"]) == (False, "waits for approval")
        assert found["reconciliation"]["disposition"] == "ADVICE_RECONCILIATION_DISPOSITION_PENDING"

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            ({"mode": "monitor"}, "demo is in monitor mode"),
            ({"acknowledge_scheduler_actions": False}, "acknowledgeSchedulerActions is not set for demo"),
            ({"partitions": ["big"]}, "partition main is not among those of demo"),
        ],
    )
    def test_gates_are_read_at_each_hand_out(self, api: Api, change: dict[str, Any], why: str) -> None:
        an_advice(api.cluster, now=timezone.now())
        assert api.get("/v1/advice", "controller").json["advice"][0]["mayBeActedOn"] is True
        Cluster.objects.filter(name="demo").update(**change)
        found = api.get("/v1/advice", "controller").json["advice"][0]
        assert (found["mayBeActedOn"], found["whyNot"]) == (False, why)

    def test_a_pause_closes_the_gate_of_what_it_names(self, api: Api) -> None:
        now = timezone.now()
        an_advice(api.cluster, 100, now)
        an_advice(api.cluster, 101, now, **UNKNOWN)
        Pause.objects.create(
            cluster=api.cluster, scope="job", value="101", reason="r", owner="o", since=now, until=now + seconds(60)
        )
        found = {each["jobId"]: each["mayBeActedOn"] for each in api.get("/v1/advice", "controller").json["advice"]}
        assert found == {"100": True, "101": False}

    def test_only_the_newest_generation_is_served(self, api: Api) -> None:
        now = timezone.now()
        advice = an_advice(api.cluster, now=now)
        newer = decide(a_verdict(advice.attempt, now, implicated=[culprit("n02")]), now)
        assert newer is not None
        for query in ("", "?onlyActive=true"):
            found = api.get(f"/v1/advice{query}", "controller").json["advice"]
            assert [each["generation"] for each in found] == ["2"]

    def test_active_is_what_is_not_final(self, api: Api) -> None:
        advice = an_advice(api.cluster, now=timezone.now())
        assert api.put(status_path(advice), CONVERGED).status == 200
        assert api.get("/v1/advice?onlyActive=true", "controller").json["count"] == 0
        assert api.get("/v1/advice", "controller").json["count"] == 1

    def test_pages(self, api: Api) -> None:
        now = timezone.now()
        a_policy({"storm_restarts": 99, "max_user_restarts": 99}, now=now)
        for number in range(7):
            an_advice(api.cluster, number, now, **UNKNOWN)
        seen, token, pages = [], "", 0
        while pages == 0 or token:
            answer = api.get(f"/v1/advice?onlyActive=true&limit=3&page={token}", "controller").json
            seen += [each["jobId"] for each in answer["advice"]]
            token, pages = answer["nextPageToken"], pages + 1
        assert (seen, pages) == ([str(number) for number in range(7)], 3)

    def test_a_page_token_of_another_query_is_refused(self, api: Api) -> None:
        now = timezone.now()
        for number in range(3):
            an_advice(api.cluster, number, now, **UNKNOWN)
        token = api.get("/v1/advice?onlyActive=true&limit=1", "controller").json["nextPageToken"]
        for path in (f"/v1/advice?limit=1&page={token}", f"/v1/nodes?page={token}", "/v1/advice?page=made-up"):
            answer = api.get(path, "controller")
            assert (answer.status, answer.json["code"]) == (400, 3)
        assert api.get(f"/v1/advice?onlyActive=true&limit=2&page={token}", "controller").status == 200
        forged = token[:-3] + ("abc" if token[-3:] != "abc" else "abd")
        answer = api.get(f"/v1/advice?onlyActive=true&limit=1&page={forged}", "controller")
        assert (answer.status, answer.message) == (400, "The page token is not one of ours.")


class TestReconciliation:
    def test_it_is_stored_once(self, api: Api) -> None:
        advice = an_advice(api.cluster, now=timezone.now())
        first = api.put(status_path(advice), CONVERGED)
        assert first.status == 200
        assert first.json["reconciliation"] == {
            "disposition": "ADVICE_RECONCILIATION_DISPOSITION_CONVERGED",
            "reason": "ADVICE_RECONCILIATION_REASON_DESIRED_STATE_OBSERVED",
        }
        assert first.json["mayBeActedOn"] is False
        assert api.put(status_path(advice), CONVERGED) == first
        event = AuditEvent.objects.get(type=EventType.ADVICE_STATE.value)
        assert (event.actor_kind, event.actor, event.advice_generation) == ("controller", "controller", 1)

    def test_another_final_word_is_a_conflict(self, api: Api) -> None:
        advice = an_advice(api.cluster, now=timezone.now())
        api.put(status_path(advice), CONVERGED)
        answer = api.put(status_path(advice), ABANDONED)
        assert (answer.status, answer.json["code"]) == (409, 10)
        assert Advice.objects.get().state == "converged"

    def test_pending_changes_nothing_and_undoes_nothing(self, api: Api) -> None:
        advice = an_advice(api.cluster, now=timezone.now())
        pending = {**CONVERGED, "disposition": "ADVICE_RECONCILIATION_DISPOSITION_PENDING"}
        assert api.put(status_path(advice), pending).status == 200
        assert Advice.objects.get().state == "pending"
        api.put(status_path(advice), CONVERGED)
        assert api.put(status_path(advice), pending).status == 409

    def test_an_older_generation_is_a_conflict(self, api: Api) -> None:
        now = timezone.now()
        advice = an_advice(api.cluster, now=now)
        decide(a_verdict(advice.attempt, now, implicated=[culprit("n02")]), now)
        answer = api.put(status_path(advice), CONVERGED)
        assert (answer.status, answer.message) == (409, "Generation 1 was reported; the newest is 2.")

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {**CONVERGED, "observedGeneration": "one"},
            {**CONVERGED, "observedGeneration": -1},
            {**CONVERGED, "observedGeneration": str(2**63)},
            {**CONVERGED, "observedGeneration": True},
            {**CONVERGED, "disposition": "ADVICE_RECONCILIATION_DISPOSITION_UNSPECIFIED"},
            {**CONVERGED, "disposition": "CONVERGED"},
            {**CONVERGED, "disposition": ["CONVERGED"]},
            {**CONVERGED, "reason": "BECAUSE"},
        ],
    )
    def test_bad_reports_change_nothing(self, api: Api, body: dict[str, Any]) -> None:
        advice = an_advice(api.cluster, now=timezone.now())
        answer = api.put(status_path(advice), body)
        assert (answer.status, answer.json["code"]) == (400, 3)
        assert Advice.objects.get().state == "pending"

    def test_unknown_keys_are_passed_over(self, api: Api) -> None:
        advice = an_advice(api.cluster, now=timezone.now())
        assert api.put(status_path(advice), {**CONVERGED, "more": {"to": "come"}}).status == 200

    def test_nobody_knows_it(self, api: Api) -> None:
        path = "/v1/advice/3f0c5a1e-7b0e-5d36-9a43-5b8f6c1e2d10/reconciliation-status"
        assert api.put(path, CONVERGED).status == 404
        attempt = an_attempt(a_job(api.cluster))
        path = f"/v1/advice/{attempt.heimdall_id}/reconciliation-status"
        assert api.put(path, CONVERGED).message == "There is no advice on 100-0."

    def test_a_question_to_a_person_is_not_a_controllers(self, api: Api) -> None:
        advice = an_advice(api.cluster, now=timezone.now(), action="ask")
        assert api.put(status_path(advice), ABANDONED).status == 404

    @pytest.mark.parametrize("report", [CONVERGED, ABANDONED])
    def test_what_waits_for_approval_is_closed_by_what_came_about_without_it(
        self, api: Api, report: dict[str, str]
    ) -> None:
        Cluster.objects.filter(name="demo").update(mode="approve")
        api.cluster.refresh_from_db()
        advice = an_advice(api.cluster, now=timezone.now())
        assert api.put(status_path(advice), report).status == 200
        assert Advice.objects.get().state == "abandoned"
        told = AuditEvent.objects.get(type=EventType.ADVICE_STATE.value).sentence
        assert ("came about without a yes" in told) is (report is CONVERGED)


class TestMilestones:
    PATH = "/v1/recovery/milestones"

    def body(self, **change: Any) -> dict[str, Any]:
        return {
            "sequenceId": str(Sequence.objects.get().uuid),
            "idempotencyKey": "100-0/1/hold",
            "operation": "RECOVERY_OPERATION_RESTART",
            "action": "RECOVERY_SCHEDULER_ACTION_SLURM_REQUEUE_HOLD",
            "time": timezone.now().isoformat(),
            **change,
        }

    def test_the_same_again_gives_the_first_answer(self, api: Api) -> None:
        an_advice(api.cluster, now=timezone.now())
        body = self.body()
        first = api.post(self.PATH, body, "controller")
        assert first.status == 201
        earlier = (timezone.now() - timedelta(minutes=1)).isoformat()
        again = api.post(self.PATH, {**body, "time": earlier}, "controller")
        assert (again.status, again.json) == (200, first.json)
        assert Milestone.objects.count() == 1
        event = AuditEvent.objects.get(type=EventType.ACTION.value)
        assert (event.action, event.actor_kind) == ("SLURM_REQUEUE_HOLD", "controller")
        assert event.trace_id == Sequence.objects.get().trace_id

    def test_a_key_names_one_action(self, api: Api) -> None:
        an_advice(api.cluster, now=timezone.now())
        api.post(self.PATH, self.body(), "controller")
        other = self.body(action="RECOVERY_SCHEDULER_ACTION_SLURM_RELEASE")
        assert api.post(self.PATH, other, "controller").status == 409

    def test_the_last_command_counts_whatever_the_order_of_arrival(self, api: Api) -> None:
        an_advice(api.cluster, now=timezone.now())
        early, late = timezone.now() - timedelta(seconds=3), timezone.now()
        release = self.body(
            idempotencyKey="r", action="RECOVERY_SCHEDULER_ACTION_SLURM_RELEASE", time=late.isoformat()
        )
        api.post(self.PATH, release, "controller")
        api.post(self.PATH, self.body(time=early.isoformat()), "controller")
        assert Sequence.objects.get().commanded_at == late

    @pytest.mark.parametrize("hours", [2, -2])
    def test_what_was_done_is_stored_though_a_clock_was_set_by_hours(self, api: Api, hours: int) -> None:
        advice = an_advice(api.cluster, now=timezone.now())
        told = timezone.now() + timedelta(hours=hours)
        answer = api.post(self.PATH, self.body(time=told.isoformat()), "controller")
        assert answer.status == 201
        done_at = Sequence.objects.get().commanded_at
        assert advice.sequence.advised_at <= done_at <= timezone.now()
        event = AuditEvent.objects.get(type=EventType.ACTION.value)
        assert event.payload == {"told_at": told.isoformat()}

    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            ({"operation": "RECOVERY_OPERATION_TERMINATE"}, "of operation restart, not terminate"),
            ({"action": "RECOVERY_SCHEDULER_ACTION_SLURM_CANCEL"}, "is no action of the operation restart"),
            ({"action": "RECOVERY_SCHEDULER_ACTION_UNSPECIFIED"}, "action: must be one of"),
            ({"operation": "RECOVERY_OPERATION_WAIT"}, "operation: must be one of"),
            ({"time": "2100-01-01T00:00:00Z"}, "lies in the future"),
            ({"time": "0001-01-01T00:00:00Z"}, "lies before the advice"),
            ({"time": "yesterday"}, "time: "),
            ({"idempotencyKey": ""}, "idempotencyKey: "),
            ({"sequenceId": "12"}, "sequenceId: "),
        ],
    )
    def test_bad_ones(self, api: Api, change: dict[str, Any], sentence: str) -> None:
        an_advice(api.cluster, now=timezone.now())
        answer = api.post(self.PATH, self.body(**change), "controller")
        assert answer.status == 400
        assert sentence in answer.message
        assert not Milestone.objects.exists()

    def test_of_no_recovery(self, api: Api) -> None:
        an_advice(api.cluster, now=timezone.now())
        body = self.body(sequenceId="3f0c5a1e-7b0e-4d36-9a43-5b8f6c1e2d10")
        assert api.post(self.PATH, body, "controller").status == 404

    def test_two_clusters_may_use_the_same_key(self, api: Api) -> None:
        an_advice(api.cluster, now=timezone.now())
        body = self.body()
        api.post(self.PATH, body, "controller")
        advice = an_advice(api.other, now=timezone.now(), **UNKNOWN)
        api.secrets["second"] = _controller_of(api.other)
        other = {**body, "sequenceId": str(advice.sequence.uuid)}
        assert api.post(self.PATH, other, "second").status == 201


def _controller_of(cluster: Cluster) -> str:
    return a_token(TokenRole.CONTROLLER, [cluster], "second-controller", timezone.now())[0]


class TestSequences:
    QUERY = {
        "schedulerSystem": "slurm",
        "schedulerScope": "demo",
        "jobId": "100",
        "sourceAttemptIndex": "0",
        "operation": "RECOVERY_OPERATION_RESTART",
    }

    def path(self, **change: str) -> str:
        query = {**self.QUERY, **change}
        return "/v1/recovery/sequences?" + "&".join(f"{name}={value}" for name, value in query.items() if value)

    def test_found(self, api: Api) -> None:
        sequence = an_advice(api.cluster, now=timezone.now()).sequence
        context = api.get(self.path(), "controller").json["recoveryContext"]
        assert context["sequenceId"] == str(sequence.uuid)
        assert context["traceparent"] == f"00-{sequence.trace_id}-{sequence.uuid.hex[:16]}-01"

    @pytest.mark.parametrize(
        "change",
        [
            {"jobId": "101"},
            {"sourceAttemptIndex": "1"},
            {"operation": "RECOVERY_OPERATION_TERMINATE"},
            {"schedulerScope": "second"},
            {"schedulerSystem": "kueue"},
        ],
    )
    def test_not_found_creates_nothing(self, api: Api, change: dict[str, str]) -> None:
        an_advice(api.cluster, now=timezone.now())
        assert api.get(self.path(**change), "controller").status == 404
        assert Sequence.objects.count() == 1

    @pytest.mark.parametrize("name", list(QUERY))
    def test_all_of_it_is_needed(self, api: Api, name: str) -> None:
        answer = api.get(self.path(**{name: ""}), "controller")
        assert (answer.status, answer.message) == (400, f"{name}: This field is required.")

    def test_a_number_used_again_means_the_newest(self, api: Api) -> None:
        an_advice(api.cluster, now=timezone.now())
        an_attempt(a_job(api.cluster, epoch=1))
        assert api.get(self.path(), "controller").status == 404


class TestLease:
    PATH = "/v1/clusters/demo/lease"

    def take(self, api: Api, holder: str, fence: str) -> Any:
        return api.put(self.PATH, {"holder": holder, "fence": fence})

    def test_taken_and_extended(self, api: Api) -> None:
        first = self.take(api, "one", "0").json
        assert (first["holder"], first["fence"]) == ("one", "1")
        again = self.take(api, "one", "1").json
        assert again["fence"] == "1"
        assert again["until"] >= first["until"]
        assert AuditEvent.objects.filter(type=EventType.LEASE.value).count() == 1
        lease = ControllerLease.objects.get()
        assert (lease.until - timezone.now()).total_seconds() == pytest.approx(60, abs=5)

    def test_somebody_else_has_it(self, api: Api) -> None:
        self.take(api, "one", "0")
        answer = self.take(api, "two", "0")
        assert answer.status == 409
        assert answer.message.startswith("The lease of demo is held by one until ")

    def test_a_twin_under_the_same_name_waits_as_well(self, api: Api) -> None:
        self.take(api, "one", "0")
        assert self.take(api, "one", "0").status == 409

    def test_an_expired_one_goes_to_the_next_with_a_higher_number(self, api: Api) -> None:
        self.take(api, "one", "0")
        ControllerLease.objects.update(until=timezone.now() - timedelta(seconds=1))
        assert self.take(api, "two", "0").json["fence"] == "2"
        answer = self.take(api, "one", "1")
        assert answer.status == 409  # the old holder is told that it is over
        ControllerLease.objects.update(until=timezone.now() - timedelta(seconds=1))
        answer = self.take(api, "one", "1")
        assert (answer.status, answer.message) == (409, "Fencing number 1 is old: 2 was given since. Ask with 0.")
        assert self.take(api, "one", "0").json["fence"] == "3"

    def test_expired_and_nobody_came(self, api: Api) -> None:
        self.take(api, "one", "0")
        ControllerLease.objects.update(until=timezone.now() - timedelta(seconds=1))
        assert self.take(api, "one", "1").json["fence"] == "1"

    def test_a_number_that_was_never_given(self, api: Api) -> None:
        assert self.take(api, "one", "7").status == 409
        assert not ControllerLease.objects.exists()

    @pytest.mark.parametrize("holder", ["", "a b", "x" * 129, "new\nline", None, ["one"]])
    def test_a_bad_holder(self, api: Api, holder: Any) -> None:
        assert api.put(self.PATH, {"holder": holder, "fence": "0"}).status == 400

    def test_of_a_cluster_that_is_not_there(self, api: Api) -> None:
        assert api.put("/v1/clusters/third/lease", {"holder": "one"}).status == 403
