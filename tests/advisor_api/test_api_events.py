"""Do events get into the trail once each and under the right name, and are they found again?"""

from typing import Any

import pytest
from django.db.models import QuerySet
from django.utils import timezone

from advisor_api.deciding import decide
from audit.event_type import EventType
from audit.models import AuditEvent
from tests.advisor_api.conftest import Api
from tests.advisor_api.world import a_job, a_verdict, an_advice, an_attempt, culprit

pytestmark = pytest.mark.django_db
PATH = "/v1/audit/events"
MICROS = 1764410537000000


def event(key: str = "k1", **change: Any) -> dict[str, Any]:
    return {
        "eventProducer": "controller",
        "eventType": "intent",
        "eventLevel": "info",
        "payload": {"action": "requeue_hold"},
        "eventProducedAt": str(MICROS),
        "idempotencyKey": key,
        **change,
    }


def send(api: Api, *items: Any, as_: str = "controller") -> Any:
    return api.post(PATH, {"items": list(items)}, as_)


def stored() -> QuerySet[AuditEvent]:
    """The trail without the tokens of the cast."""
    return AuditEvent.objects.exclude(type=EventType.TOKEN.value)


class TestIntake:
    def test_once_each(self, api: Api) -> None:
        attempt = an_attempt(a_job(api.cluster))
        item = event(heimdallJobId=str(attempt.heimdall_id))
        for _ in range(2):
            answer = send(api, item, event("k2"))
            assert (answer.status, answer.json) == (200, {"accepted": 2})
        first, second = stored().order_by("id")
        assert (first.type, first.actor_kind, first.actor) == ("intent", "controller", "controller")
        assert (first.job_number, first.attempt_index, first.heimdall_job_id) == (100, 0, attempt.heimdall_id)
        assert (first.action, first.cluster) == ("requeue_hold", "demo")
        assert (second.heimdall_job_id, second.cluster) == (None, "demo")

    def test_the_same_key_twice_in_one_message(self, api: Api) -> None:
        assert send(api, event(), event()).json == {"accepted": 2}
        assert stored().count() == 1

    def test_good_ones_are_stored_beside_bad_ones(self, api: Api) -> None:
        foreign = an_attempt(a_job(api.other))
        bad: list[Any] = [
            event("b1", eventLevel="loud"),
            event("b2", eventProducedAt="now"),
            event("b3", eventProducedAt=str(MICROS * 1000)),
            event("b4", heimdallJobId=str(foreign.heimdall_id)),
            event("b5", payload=[1]),
            event("b6", payload={"text": "x" * 20000}),
            {},
            "nonsense",
            None,
            event(""),
        ]
        answer = send(api, event("good"), *bad)
        assert answer.json["accepted"] == 1
        rejected = answer.json["partialSuccess"]["rejected"]
        assert [each["index"] for each in rejected] == list(range(1, len(bad) + 1))
        assert rejected[3]["message"] == f"heimdallJobId {foreign.heimdall_id} is not known on demo."
        assert rejected[0]["message"].startswith("eventLevel: ")
        assert stored().count() == 1

    @pytest.mark.parametrize(
        ("type_", "kept"),
        [
            ("intent", "intent"),
            ("action", "action"),
            ("mode_changed", "client"),
            ("x", "client"),
        ],
    )
    def test_a_controller_speaks_only_for_itself(self, api: Api, type_: str, kept: str) -> None:
        send(api, event(eventType=type_))
        assert stored().get().type == kept

    def test_an_ingest_token_announces_no_action(self, api: Api) -> None:
        send(api, event(), as_="ingest")
        row = stored().get()
        assert (row.type, row.actor_kind, row.actor) == ("client", "token", "controller")

    @pytest.mark.parametrize(
        ("producer", "kind"), [("controller", "controller"), ("watchdog", "watchdog"), ("person", "token")]
    )
    def test_producers(self, api: Api, producer: str, kind: str) -> None:
        send(api, event(eventProducer=producer))
        assert stored().get().actor_kind == kind

    def test_hostile_text_is_stored_safe(self, api: Api) -> None:
        raw = (
            b'{"items": [{"eventProducer": "controller", "eventType": "note\\u0000", "eventProducedAt": "1",'
            b' "payload": {"a\\ud800": "\\u0000<script>"}, "idempotencyKey": "\\udfff"}]}'
        )
        answer = api.ask("POST", PATH, "controller", raw=raw)
        assert answer.json == {"accepted": 1}
        row = stored().get()
        assert (row.pattern, row.payload) == ("note\ufffd", {"a\ufffd": "\ufffd<script>"})

    @pytest.mark.parametrize(
        "body",
        [{}, {"items": []}, {"items": {}}, {"items": "x"}, {"items": [{}] * 251}],
        ids=["nothing", "none", "object", "text", "too many"],
    )
    def test_bad_messages(self, api: Api, body: dict[str, Any]) -> None:
        assert api.post(PATH, body, "controller").status == 400

    def test_two_clusters_may_use_the_same_key(self, api: Api) -> None:
        send(api, event())
        answer = api.post(f"{PATH}?cluster=second", {"items": [event()]}, "controller")
        assert answer.status == 403


class TestIntents:
    """An intent is the moment from which an advice is carried out: it must be for the newest, open one."""

    def announce(self, api: Api, attempt_id: Any, generation: int, key: str = "k") -> Any:
        item = event(key, heimdallJobId=str(attempt_id), payload={"generation": str(generation), "action": "hold"})
        return send(api, item).json

    def test_then_no_newer_verdict_replaces_the_advice(self, api: Api) -> None:
        now = timezone.now()
        advice = an_advice(api.cluster, now=now)
        assert self.announce(api, advice.attempt.heimdall_id, 1) == {"accepted": 1}
        assert decide(a_verdict(advice.attempt, now, implicated=[culprit("n02")]), now) is None

    def test_too_late_when_a_newer_one_was_first(self, api: Api) -> None:
        now = timezone.now()
        advice = an_advice(api.cluster, now=now)
        decide(a_verdict(advice.attempt, now, implicated=[culprit("n02")]), now)
        answer = self.announce(api, advice.attempt.heimdall_id, 1)
        assert answer["accepted"] == 0
        assert answer["partialSuccess"]["rejected"][0]["message"] == (
            "Generation 1 of 100-0 is not the newest one: begin nothing."
        )
        assert not AuditEvent.objects.filter(type="intent").exists()

    def test_not_for_what_is_over(self, api: Api) -> None:
        advice = an_advice(api.cluster, now=timezone.now())
        path = f"/v1/advice/{advice.attempt.heimdall_id}"
        api.post(f"{path}:reject", {"generation": "1", "reason": "no"}, "operator")
        answer = self.announce(api, advice.attempt.heimdall_id, 1)
        assert "is abandoned: begin nothing" in answer["partialSuccess"]["rejected"][0]["message"]

    def test_the_same_announcement_later_is_still_accepted(self, api: Api) -> None:
        advice = an_advice(api.cluster, now=timezone.now())
        self.announce(api, advice.attempt.heimdall_id, 1)
        advice.state = "converged"
        advice.save(update_fields=["state"])
        assert self.announce(api, advice.attempt.heimdall_id, 1) == {"accepted": 1}
        assert AuditEvent.objects.filter(type="intent").count() == 1


class TestReading:
    @pytest.fixture
    def trail(self, api: Api) -> Api:
        advice = an_advice(api.cluster, now=timezone.now())
        an_attempt(advice.attempt.job, 1)
        identity = str(advice.attempt.heimdall_id)
        send(
            api,
            event("1", heimdallJobId=identity, eventProducedAt=str(MICROS + 2), payload={}),
            event("2", heimdallJobId=identity, eventProducedAt=str(MICROS + 1), eventLevel="error", payload={}),
            event("3", heimdallJobId=identity, eventProducedAt=str(MICROS), eventType="mine", eventProducer="me"),
        )
        return api

    def ask(self, api: Api, query: str) -> list[dict[str, Any]]:
        answer = api.get(f"{PATH}?{query}")
        assert answer.status == 200, answer
        return list(answer.json["items"])

    @pytest.mark.parametrize(
        ("query", "types"),
        [
            ("", ["mine", "intent", "intent", "advice"]),
            ("&eventType=intent", ["intent", "intent"]),
            ("&eventType=mine", ["mine"]),
            ("&eventType=client", []),
            ("&eventType=nothing", []),
            ("&eventLevel=error", ["intent"]),
            ("&eventProducer=me", ["mine"]),
            ("&eventProducer=controller", ["intent", "intent"]),
            ("&eventProducer=rule", ["advice"]),
            (f"&minEventProducedAt={MICROS + 1}&maxEventProducedAt={MICROS + 1}", ["intent"]),
            (f"&maxEventProducedAt={MICROS}", ["mine"]),
            ("&sortBy=event_produced_at:desc", ["advice", "intent", "intent", "mine"]),
            ("&attemptIndex=0&eventType=mine", ["mine"]),
            ("&attemptIndex=1", []),
        ],
    )
    def test_filters(self, trail: Api, query: str, types: list[str]) -> None:
        found = [each for each in self.ask(trail, f"jobId=100{query}") if each["eventType"] != "exclusion"]
        assert [each["eventType"] for each in found] == types

    def test_the_producers_time_is_given_back(self, trail: Api) -> None:
        (found,) = self.ask(trail, "jobId=100&eventType=mine")
        assert found["eventProducedAt"] == str(MICROS)
        assert (found["jobId"], found["attemptIndex"], found["eventProducer"]) == ("100", 0, "me")

    def test_pages_in_both_directions(self, trail: Api) -> None:
        for order in ("asc", "desc"):
            whole = [each["eventId"] for each in self.ask(trail, f"jobId=100&sortBy=event_produced_at:{order}")]
            seen, cursor = [], ""
            while True:
                query = f"jobId=100&limit=1&sortBy=event_produced_at:{order}&cursor={cursor}"
                answer = trail.get(f"{PATH}?{query}").json
                seen += [each["eventId"] for each in answer["items"]]
                cursor = answer["cursor"]
                if not cursor:
                    break
            assert seen == whole

    def test_events_of_the_same_moment_are_paged_through(self, api: Api) -> None:
        attempt = an_attempt(a_job(api.cluster))
        send(api, *(event(f"k{i}", heimdallJobId=str(attempt.heimdall_id)) for i in range(5)))
        seen, cursor, pages = set(), "", 0
        while cursor or not pages:
            answer = api.get(f"{PATH}?heimdallJobId={attempt.heimdall_id}&limit=2&cursor={cursor}").json
            seen |= {each["eventId"] for each in answer["items"]}
            cursor, pages = answer["cursor"], pages + 1
        assert (len(seen), pages) == (5, 3)

    @pytest.mark.parametrize(
        ("query", "status", "sentence"),
        [
            ("", 400, "Give either heimdallJobId or jobId."),
            ("jobId=100&heimdallJobId=3f0c5a1e-7b0e-5d36-9a43-5b8f6c1e2d10", 400, "Give either"),
            (
                "heimdallJobId=3f0c5a1e-7b0e-5d36-9a43-5b8f6c1e2d10&attemptIndex=0",
                400,
                "attemptIndex goes with jobId.",
            ),
            ("heimdallJobId=12", 400, "heimdallJobId: "),
            ("jobId=7", 404, "demo has no job 7."),
            ("jobId=100&limit=101", 400, "limit: "),
            ("jobId=100&sortBy=at", 400, "sortBy: "),
            ("jobId=100&eventLevel=loud", 400, "eventLevel: "),
            ("jobId=100&attemptIndex=-1", 400, "attemptIndex: "),
            ("jobId=100&minEventProducedAt=9223372036854775807", 400, "That is no time"),
            ("jobId=100&cursor=abc", 400, "The page token is not one of ours."),
        ],
    )
    def test_bad_questions(self, trail: Api, query: str, status: int, sentence: str) -> None:
        answer = trail.get(f"{PATH}?{query}")
        assert answer.status == status
        assert answer.message.startswith(sentence)

    def test_a_number_used_again_is_another_trail(self, trail: Api) -> None:
        an_attempt(a_job(trail.cluster, epoch=1))
        assert self.ask(trail, "jobId=100") == []

    def test_a_cursor_is_bound_to_its_question(self, trail: Api) -> None:
        cursor = trail.get(f"{PATH}?jobId=100&limit=1").json["cursor"]
        assert trail.get(f"{PATH}?jobId=100&limit=1&eventType=intent&cursor={cursor}").status == 400

    def test_another_clusters_events_are_not_shown(self, trail: Api) -> None:
        advice = an_advice(trail.other, now=timezone.now(), implicated=[])
        assert self.ask(trail, f"heimdallJobId={advice.attempt.heimdall_id}") == []
        assert AuditEvent.objects.filter(type=EventType.ADVICE.value).count() == 2


def test_secrets_in_what_a_client_tells_are_masked_before_they_are_stored(api: Api) -> None:
    payload = {
        "action": "login --password hunter2",
        "sentence": "used token=hunter2",
        "env": {"WANDB_API_KEY": "hunter2", "RANK": "3"},
        "lines": ["Authorization: Bearer hunter2hunter2"],
    }
    assert send(api, event(payload=payload)).json == {"accepted": 1}
    (row,) = stored()
    assert "hunter2" not in f"{row.action} {row.sentence} {row.payload}"
    assert row.payload["env"]["RANK"] == "3"


def test_late_events_stand_at_the_time_at_which_they_were_produced(api: Api) -> None:
    attempt = an_attempt(a_job(api.cluster))
    about = {"heimdallJobId": str(attempt.heimdall_id), "eventType": "note"}
    for key, after in (("third", 30), ("first", 10), ("second", 20), ("first", 10)):
        made = str(MICROS + after * 1_000_000)
        assert send(api, event(key, **about, eventProducedAt=made, payload={"sentence": key})).status == 200
    found = api.get(f"{PATH}?heimdallJobId={attempt.heimdall_id}&eventProducer=controller").json["items"]
    assert [one["payload"]["sentence"] for one in found] == ["first", "second", "third"]
    assert [int(one["eventProducedAt"]) - MICROS for one in found] == [10_000_000, 20_000_000, 30_000_000]
    assert all(one["receivedAt"] for one in found)
