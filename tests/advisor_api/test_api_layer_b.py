"""Clusters, pauses, exclusions, nodes, and what is told of one attempt."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from advisor_api.deciding import decide
from advisor_api.models import Advice, Exclusion, Pause
from advisor_api.policy.rules import RULES
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.models import AuditEvent
from audit.trail import Actor, Entry, Subject, record
from schedulers.states import JobState
from tests.advisor_api.conftest import Api
from tests.advisor_api.world import UNKNOWN, a_job, a_verdict, an_advice, an_attempt, seconds
from tests.detectors.providers.rows import make_question
from workloads.models import Attempt, Cluster

pytestmark = pytest.mark.django_db
SWITCH = {"mode": "monitor", "modeVersion": "1", "reason": "maintenance"}


def soon(**span: float) -> str:
    return (timezone.now() + timedelta(**(span or {"hours": 1}))).isoformat()


class TestClusters:
    def test_everything_that_a_controller_asks(self, api: Api) -> None:
        now = timezone.now()
        api.put("/v1/clusters/demo/lease", {"holder": "one", "fence": "0"})
        api.post("/v1/pauses", {"scope": "user", "value": "tess", "reason": "r", "until": soon()})
        an_attempt(a_job(api.cluster, 1), state=JobState.RUNNING)
        an_attempt(a_job(api.cluster, 2), state=JobState.RUNNING, blind_since=now)
        found = api.get("/v1/clusters/demo", "controller").json
        assert {name: found[name] for name in ("name", "environment", "schedulerKind", "mode", "modeVersion")} == {
            "name": "demo",
            "environment": "demo",
            "schedulerKind": "slurm",
            "mode": "action",
            "modeVersion": "1",
        }
        assert (found["acknowledgeSchedulerActions"], found["optOut"], found["partitions"]) == (True, False, [])
        assert (found["cannotSeeSince"], found["liveAttempts"], found["blindAttempts"]) == (None, 2, 1)
        assert found["lease"]["holder"] == "one"
        (pause,) = found["pauses"]
        assert (pause["scope"], pause["value"], pause["reason"], pause["owner"]) == (
            "user",
            "tess",
            "r",
            "operator",
        )

    def test_what_is_not_seen_is_told(self, api: Api) -> None:
        Cluster.objects.filter(name="demo").update(cannot_see_since=timezone.now(), cannot_see_reason="no answer")
        found = api.get("/v1/clusters/demo").json
        assert found["cannotSeeSince"].endswith("Z")
        assert found["cannotSeeReason"] == "no answer"

    def test_each_source_says_how_it_is_seen(self, api: Api) -> None:
        now = timezone.now()
        (alone,) = api.get("/v1/clusters/demo").json["sources"]
        assert (alone["source"], alone["cannotSeeSince"], alone["cannotSeeReason"]) == ("scheduler", None, "")
        Cluster.objects.filter(name="demo").update(
            log_store="loki",
            log_store_read_at=now,
            log_store_unseen_since=now,
            log_store_unseen_reason="no answer",
            metrics_address="https://prometheus.example.org",
        )
        scheduler, store, metrics = api.get("/v1/clusters/demo").json["sources"]
        assert (scheduler["source"], scheduler["seenAt"]) == ("scheduler", alone["seenAt"])
        assert (store["source"], store["cannotSeeReason"]) == ("log_store", "no answer")
        assert store["seenAt"] == store["cannotSeeSince"] == now.isoformat().replace("+00:00", "Z")
        assert metrics == {"source": "metrics", "seenAt": None, "cannotSeeSince": None, "cannotSeeReason": ""}

    def test_the_list_holds_all_that_one_may_see(self, api: Api) -> None:
        answer = api.get("/v1/clusters", "two").json
        assert ([each["name"] for each in answer["clusters"]], answer["count"]) == (["demo", "second"], 2)


class TestMode:
    PATH = "/v1/clusters/demo"

    def test_switched_with_its_reason(self, api: Api) -> None:
        answer = api.ask("PATCH", self.PATH, "admin", SWITCH)
        assert answer.status == 200
        assert (answer.json["mode"], answer.json["modeVersion"]) == ("monitor", "2")
        event = AuditEvent.objects.get(type=EventType.MODE_CHANGED.value)
        assert event.sentence == "admin switched demo from action to monitor: maintenance"
        assert (event.actor_kind, event.payload["from"], event.payload["to"]) == ("token", "action", "monitor")
        assert Cluster.objects.get(name="demo").changed_at is not None

    def test_observe_is_stored_as_monitor(self, api: Api) -> None:
        assert api.ask("PATCH", self.PATH, "admin", {**SWITCH, "mode": "observe"}).json["mode"] == "monitor"

    @pytest.mark.parametrize(
        ("change", "status"),
        [
            ({"modeVersion": "2"}, 409),
            ({"modeVersion": "0"}, 409),
            ({"mode": "action"}, 400),
            ({"mode": "yolo"}, 400),
            ({"reason": ""}, 400),
            ({"reason": "   "}, 400),
            ({"reason": "x" * 501}, 400),
            ({"modeVersion": None}, 400),
        ],
    )
    def test_refused(self, api: Api, change: dict[str, Any], status: int) -> None:
        assert api.ask("PATCH", self.PATH, "admin", {**SWITCH, **change}).status == status
        stored = Cluster.objects.get(name="demo")
        assert (stored.mode, stored.mode_version) == ("action", 1)
        assert not AuditEvent.objects.filter(type=EventType.MODE_CHANGED.value).exists()

    def test_the_second_of_two_is_told(self, api: Api) -> None:
        api.ask("PATCH", self.PATH, "admin", SWITCH)
        answer = api.ask("PATCH", self.PATH, "admin", {**SWITCH, "mode": "approve"})
        assert answer.status == 409
        assert answer.message == "The mode was changed since you looked: it is monitor (version 2)."


class TestVerbs:
    def path(self, advice: Advice, verb: str) -> str:
        return f"/v1/advice/{advice.attempt.heimdall_id}:{verb}"

    @pytest.fixture
    def waiting(self, api: Api) -> Advice:
        Cluster.objects.filter(name="demo").update(mode="approve")
        api.cluster.refresh_from_db()
        return an_advice(api.cluster, now=timezone.now())

    def test_approved_it_may_be_acted_on(self, api: Api, waiting: Advice) -> None:
        answer = api.post(self.path(waiting, "approve"), {"generation": "1", "reason": "looks right"})
        assert answer.status == 200
        assert (answer.json["mayBeActedOn"], answer.json["modeAtDecision"]) == (True, "approve")
        assert Exclusion.objects.get().node == "n03"

    @pytest.mark.parametrize(("verb", "reason"), [("reject", "REJECTED"), ("expire", "ADVICE_EXPIRED")])
    def test_given_up(self, api: Api, waiting: Advice, verb: str, reason: str) -> None:
        answer = api.post(self.path(waiting, verb), {"generation": "1", "reason": "not now"})
        assert answer.json["reconciliation"] == {
            "disposition": "ADVICE_RECONCILIATION_DISPOSITION_ABANDONED",
            "reason": f"ADVICE_RECONCILIATION_REASON_{reason}",
        }
        assert api.post(self.path(waiting, "approve"), {"generation": "1", "reason": "go"}).status == 409
        assert not Exclusion.objects.exists()

    @pytest.mark.parametrize("verb", ["approve", "reject", "expire"])
    @pytest.mark.parametrize(
        ("body", "status"),
        [
            ({"generation": "2", "reason": "r"}, 409),
            ({"generation": "1"}, 400),
            ({"generation": "1", "reason": ""}, 400),
            ({"reason": "r"}, 400),
            ({"generation": "one", "reason": "r"}, 400),
        ],
    )
    def test_refused(self, api: Api, waiting: Advice, verb: str, body: dict[str, Any], status: int) -> None:
        assert api.post(self.path(waiting, verb), body).status == status
        assert Advice.objects.get().state == "awaiting_approval"

    @pytest.mark.parametrize("verb", ["approve", "reject", "expire"])
    def test_of_nothing(self, api: Api, verb: str) -> None:
        path = f"/v1/advice/3f0c5a1e-7b0e-5d36-9a43-5b8f6c1e2d10:{verb}"
        assert api.post(path, {"generation": "1", "reason": "r"}).status == 404

    def test_an_approval_after_the_recovery_is_refused_with_the_reason(self, api: Api, waiting: Advice) -> None:
        an_attempt(waiting.attempt.job, 1, JobState.RUNNING)
        answer = api.post(self.path(waiting, "approve"), {"generation": "1", "reason": "go"})
        assert (answer.status, answer.message) == (
            409,
            "100-0 was requeued meanwhile: there is nothing left to do.",
        )


class TestPauses:
    @pytest.mark.parametrize(
        "body",
        [
            {"scope": "cluster"},
            {"scope": "partition", "value": "main"},
            {"scope": "user", "value": "tess"},
            {"scope": "job", "value": "100"},
        ],
    )
    def test_made_listed_and_ended(self, api: Api, body: dict[str, str]) -> None:
        made = api.post("/v1/pauses", {**body, "reason": "upgrade", "until": soon()})
        assert made.status == 201
        number = made.json["pause"]["id"]
        assert [each["id"] for each in api.get("/v1/pauses").json["pauses"]] == [number]
        assert api.ask("DELETE", f"/v1/pauses/{number}", "operator").status == 200
        assert api.get("/v1/pauses").json["pauses"] == []
        assert api.get("/v1/pauses?onlyActive=false").json["count"] == 1
        assert api.ask("DELETE", f"/v1/pauses/{number}", "operator").status == 409
        assert list(AuditEvent.objects.filter(type="pause").values_list("action", flat=True)) == ["pause", "resume"]

    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            ({"scope": "rack"}, "scope: must be one of"),
            ({"scope": "cluster", "value": "demo"}, "A pause of the cluster has no value"),
            ({"value": ""}, "every other one needs it"),
            ({"scope": "job", "value": "12x"}, "is its number"),
            ({"until": "2020-01-01T00:00:00Z"}, "must be in the future"),
            ({"until": "2100-01-01T00:00:00Z"}, "at most 7 days"),
            ({"reason": ""}, "reason: "),
        ],
    )
    def test_bad_ones(self, api: Api, change: dict[str, str], sentence: str) -> None:
        body = {"scope": "user", "value": "tess", "reason": "r", "until": soon(), **change}
        answer = api.post("/v1/pauses", body)
        assert answer.status == 400
        assert sentence in answer.message
        assert not Pause.objects.exists()

    def test_one_of_another_cluster_is_not_there(self, api: Api) -> None:
        number = api.post("/v1/pauses", {"scope": "cluster", "reason": "r", "until": soon()}).json["pause"]["id"]
        assert api.ask("DELETE", f"/v1/pauses/{number}", "stranger").status == 404
        assert api.ask("DELETE", "/v1/pauses/999999", "operator").status == 404


class TestExclusions:
    def test_made_listed_and_lifted(self, api: Api) -> None:
        made = api.post("/v1/exclusions", {"node": "n05", "reason": "fan", "until": soon()})
        assert made.status == 201
        assert made.json["exclusion"]["owner"] == "operator"
        number = made.json["exclusion"]["id"]
        assert api.get("/v1/exclusions").json["count"] == 1
        lifted = api.ask("DELETE", f"/v1/exclusions/{number}", "operator")
        assert lifted.json["exclusion"]["liftedBy"] == "operator"
        assert api.get("/v1/exclusions").json["count"] == 0
        assert api.get("/v1/exclusions?onlyActive=false").json["count"] == 1
        assert api.ask("DELETE", f"/v1/exclusions/{number}", "operator").status == 409
        event = AuditEvent.objects.filter(type="exclusion").order_by("id")
        assert [(each.node, each.action) for each in event] == [("n05", "exclude"), ("n05", "lift")]

    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            ({"node": "n99"}, "demo has no node 'n99'."),
            ({"node": ""}, "node: "),
            ({"until": "2020-01-01T00:00:00Z"}, "must be in the future"),
            ({"until": "2100-01-01T00:00:00Z"}, "at most 7 days"),
        ],
    )
    def test_bad_ones(self, api: Api, change: dict[str, str], sentence: str) -> None:
        answer = api.post("/v1/exclusions", {"node": "n05", "reason": "r", "until": soon(), **change})
        assert answer.status == 400
        assert sentence in answer.message

    def test_the_next_restart_leaves_it_out(self, api: Api) -> None:
        api.post("/v1/exclusions", {"node": "n05", "reason": "fan", "until": soon()})
        now = timezone.now()
        assert an_advice(api.cluster, now=now, **UNKNOWN).excluded_nodes == ["n05"]


class TestNodes:
    def test_the_list(self, api: Api) -> None:
        api.post("/v1/exclusions", {"node": "n02", "reason": "fan", "until": soon()})
        answer = api.get("/v1/nodes?limit=2").json
        assert [(each["name"], each["excluded"]) for each in answer["nodes"]] == [("n01", False), ("n02", True)]
        rest = api.get(f"/v1/nodes?page={answer['nextPageToken']}").json
        assert (rest["nodes"][0]["name"], rest["count"], rest["nextPageToken"]) == ("n03", 18, "")

    def test_the_history_of_one(self, api: Api) -> None:
        now = timezone.now()
        an_advice(api.cluster, 1, now)
        an_attempt(a_job(api.cluster, 2), nodes=["n03"])
        an_attempt(a_job(api.cluster, 3), nodes=["n04"])
        found = api.get("/v1/nodes/n03").json
        assert [each["jobId"] for each in found["attempts"]] == ["2", "1"]
        (incident,) = found["incidents"]
        assert (incident["jobId"], incident["role"], incident["confidence"]) == ("1", "culprit", 0.95)
        assert len(found["exclusions"]) == 1
        assert found["node"]["excluded"] is True
        assert api.get("/v1/nodes/n99").status == 404


class TestAttempts:
    def test_the_timeline_is_the_attempts_and_its_jobs(self, api: Api) -> None:
        now = timezone.now()
        advice = an_advice(api.cluster, now=now)
        other = an_attempt(advice.attempt.job, 1)
        someone = Actor(ActorKind.SCHEDULER, "slurm")
        record([Entry(EventType.OPT_IN_REFUSED, Subject("demo", 100, 0), someone, "of the job")], now)
        record(
            [Entry(EventType.ATTEMPT_SEEN, Subject("demo", 100, 0, 1, other.heimdall_id), someone, "not mine")], now
        )
        record([Entry(EventType.OPT_IN_REFUSED, Subject("demo", 100, 1), someone, "another epoch")], now)
        path = f"/v1/attempts/{advice.attempt.heimdall_id}/timeline"
        found = api.get(path).json
        assert [each["eventType"] for each in found["events"]] == ["advice", "opt_in_refused"]
        first = api.get(f"{path}?limit=1").json
        second = api.get(f"{path}?limit=1&page={first['nextPageToken']}").json
        assert [each["eventType"] for each in first["events"] + second["events"]] == ["advice", "opt_in_refused"]
        wrong = f"/v1/attempts/{other.heimdall_id}/timeline?page={first['nextPageToken']}"
        assert api.get(wrong).status == 400

    def test_the_newest_verdict(self, api: Api) -> None:
        attempt = an_attempt(a_job(api.cluster))
        path = f"/v1/attempts/{attempt.heimdall_id}/verdict"
        assert api.get(path).status == 404
        first = a_verdict(attempt)
        a_verdict(attempt, supersedes=first, confidence=0.5, speed="slow")
        found = api.get(path).json["verdict"]
        assert (found["confidence"], found["supersedes"], found["speed"]) == (0.5, str(first.uuid), "slow")
        assert (found["body"]["verdict_id"], found["body"]["phase"]) == (found["verdictId"], "slow")
        assert found["providers"] == []

    def test_what_providers_answered_stands_beside_the_verdict(self, api: Api) -> None:
        verdict = a_verdict(an_attempt(a_job(api.cluster)))
        make_question(verdict, timezone.now())
        make_question(verdict, timezone.now(), name="other", outcome="failed", answer=None, said="no JSON: '<b>'")
        found = api.get(f"/v1/attempts/{verdict.attempt.heimdall_id}/verdict").json["verdict"]["providers"]
        assert [(one["provider"], one["outcome"]) for one in found] == [("acme", "answered"), ("other", "failed")]
        assert (found[0]["answer"]["confidence"], found[1]["said"]) == (0.6, "no JSON: '<b>'")

    def test_the_decision_with_every_rule(self, api: Api) -> None:
        advice = an_advice(api.cluster, now=timezone.now())
        found = api.get(f"/v1/attempts/{advice.attempt.heimdall_id}/decision").json["decision"]
        assert (found["rule"], found["advice"]["generation"]) == ("named_node", "1")
        assert len(found["trace"]) == len(RULES)
        (chosen,) = [said for said in found["trace"] if said["chosen"]]
        assert chosen["operation"] == "restart"
        assert chosen["inputs"]["policy.exclude_confidence"] == 0.8
        assert chosen["winsIf"] is None
        storm = next(said for said in found["trace"] if said["rule"] == "restart_storm")
        assert storm["winsIf"] == {"fact": "partition_restarts", "value": 3}
        assert found["facts"]["node_count"] == 3
        assert found["policyVersion"] is not None

    def test_the_decision_to_leave_it_alone(self, api: Api) -> None:
        now = timezone.now()
        attempt = an_attempt(a_job(api.cluster), state=JobState.CANCELLED)
        path = f"/v1/attempts/{attempt.heimdall_id}/decision"
        assert api.get(path).message == "Nothing was decided on 100-0 yet."
        decide(a_verdict(attempt, now), now)
        found = api.get(path).json["decision"]
        assert (found["rule"], found["advice"], found["policyVersion"]) == ("cancelled", None, None)
        assert len(found["trace"]) == len(RULES)

    def test_a_question_is_shown_with_its_advice(self, api: Api) -> None:
        advice = an_advice(api.cluster, now=timezone.now(), action="ask")
        found = api.get(f"/v1/attempts/{advice.attempt.heimdall_id}/decision").json["decision"]
        assert found["advice"]["operation"] == "RECOVERY_OPERATION_WAIT"
        assert (found["advice"]["sequenceId"], found["advice"]["mayBeActedOn"]) == (None, False)


def test_the_newer_of_advice_and_no_advice_is_the_decision(api: Api) -> None:
    now = timezone.now()
    advice = an_advice(api.cluster, now=now - seconds(9))
    Attempt.objects.update(state="cancelled")
    decide(a_verdict(advice.attempt, now, **UNKNOWN), now)
    found = api.get(f"/v1/attempts/{advice.attempt.heimdall_id}/decision").json["decision"]
    assert found["rule"] == "cancelled"
