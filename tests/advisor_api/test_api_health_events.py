"""Are pushed health events of both shapes understood, kept once, and refused with a sentence when they are not?"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from advisor_api import health_intake
from advisor_api.deciding import decide
from advisor_api.excluding import exclude
from advisor_api.health_shapes import MOST_EVENTS
from advisor_api.models import Exclusion, Sequence
from advisor_api.token_role import TokenRole
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.models import AuditEvent
from audit.trail import Actor
from detectors.health_events import take_in
from detectors.judging import judge
from detectors.models import HealthEvent
from detectors.reading import read_attempts
from schedulers.states import JobState
from tests.advisor_api.conftest import Api
from tests.advisor_api.world import a_job, a_token, an_attempt
from workloads.models import Attempt, Node

pytestmark = pytest.mark.django_db
PATH = "/v1/health-events"
NOTHING = {"accepted": 0, "stored": 0, "cleared": 0, "unknownNodes": 0, "passedOver": 0}


def ago(seconds: float) -> str:
    return (timezone.now() - timedelta(seconds=seconds)).isoformat()


def sentinel(**change: Any) -> dict[str, Any]:
    """NVSentinel's health event with all of its fields."""
    event: dict[str, Any] = {
        "version": 1,
        "agent": "gpu-health-monitor",
        "componentClass": "GPU",
        "checkName": "GpuXidError",
        "isFatal": True,
        "isHealthy": False,
        "message": "GPU has fallen off the bus",
        "recommendedAction": "RESTART_BM",
        "errorCode": ["79"],
        "entitiesImpacted": [
            {"entityType": "PCI", "entityValue": "0000:1b:00"},
            {"entityType": "GPU", "entityValue": "3"},
        ],
        "metadata": {"driver": "570.1"},
        "generatedTimestamp": "2026-11-20T12:00:00.123456789Z",
        "nodeName": "n03",
        "quarantineOverrides": {"force": False, "skip": False},
        "drainOverrides": {"force": False, "skip": False},
        "processingStrategy": "EXECUTE_REMEDIATION",
    }
    return {**event, **change}


def entry(status: str = "firing", **labels: str) -> dict[str, Any]:
    """One entry of an Alertmanager webhook."""
    return {
        "status": status,
        "labels": {
            "alertname": "GpuXidError",
            "severity": "critical",
            "node": "n03",
            "gpu": "3",
            "xid": "79",
            **labels,
        },
        "annotations": {"summary": "XID 79 on n03"},
        "startsAt": "2026-11-20T12:00:00.5Z",
        "endsAt": "0001-01-01T00:00:00Z" if status == "firing" else "2026-11-20T12:10:00Z",
        "generatorURL": "http://prometheus/graph",
        "fingerprint": "a1b2c3",
    }


def webhook(*entries: Any) -> dict[str, Any]:
    """What Alertmanager sends around its entries."""
    return {
        "version": "4",
        "groupKey": "{}:{}",
        "truncatedAlerts": 0,
        "status": "firing",
        "receiver": "rekindle",
        "groupLabels": {},
        "commonLabels": {},
        "commonAnnotations": {},
        "externalURL": "http://am",
        "alerts": list(entries),
    }


def push(api: Api, body: Any, as_: str = "ingest") -> Any:
    return api.post(PATH, body, as_)


def test_an_event_of_nvsentinel(api: Api) -> None:
    for stored in (1, 0):
        answer = push(api, sentinel())
        assert (answer.status, answer.json) == (200, {**NOTHING, "accepted": 1, "stored": stored})
    row = HealthEvent.objects.get()
    assert (row.cluster, row.node, row.check_name, row.component) == (api.cluster, "n03", "GpuXidError", "GPU")
    assert (row.fatal, row.healthy, row.codes, row.advised) == (True, False, ["79"], "RESTART_BM")
    assert (row.entity, row.source, row.agent) == ("GPU 3, PCI 0000:1b:00", "nvsentinel", "gpu-health-monitor")
    assert row.happened_at == datetime(2026, 11, 20, 12, 0, 0, 123456, UTC)
    assert row.received_from == "ingest"
    told = AuditEvent.objects.get(type=EventType.HEALTH.value)
    assert (told.node, told.actor) == ("n03", "ingest")
    assert told.sentence.startswith("GpuXidError on n03 (GPU 3, PCI 0000:1b:00): code 79, GPU has fallen off")


def test_several_events_and_one_that_clears(api: Api) -> None:
    assert push(api, {"events": [sentinel(), sentinel(nodeName="n04")]}).json["stored"] == 2
    healthy = sentinel(isHealthy=True, isFatal=False, errorCode=[], generatedTimestamp="2026-11-20T13:00:00Z")
    assert push(api, {"events": [healthy]}, "controller").json["cleared"] == 1
    assert HealthEvent.objects.get(node="n03", healthy=False).cleared_at is not None
    assert HealthEvent.objects.get(node="n04").cleared_at is None
    assert push(api, healthy).json == {**NOTHING, "accepted": 1}


def test_a_webhook_of_alertmanager(api: Api) -> None:
    answer = push(
        api, webhook(entry(), entry(node="", alertname="QuotaLow"), entry(node="n04", severity="warning"))
    )
    assert answer.json == {**NOTHING, "accepted": 2, "stored": 2, "passedOver": 1}
    first, second = HealthEvent.objects.order_by("node")
    assert (first.node, first.fatal, first.codes, first.entity) == ("n03", True, ["79"], "gpu 3")
    assert (first.source, first.message, first.cleared_at) == ("alertmanager", "XID 79 on n03", None)
    assert (second.node, second.fatal) == ("n04", False)
    assert push(api, webhook(entry("resolved"))).json["cleared"] == 1
    assert push(api, webhook(entry("resolved"), entry())).json == {**NOTHING, "accepted": 2}
    first.refresh_from_db()
    assert first.cleared_at == datetime(2026, 11, 20, 12, 10, tzinfo=UTC)


def test_what_is_resolved_before_it_was_heard_of_is_over(api: Api) -> None:
    assert push(api, webhook(entry("resolved"))).json["stored"] == 1
    assert push(api, webhook(entry())).json["stored"] == 0
    assert HealthEvent.objects.get().cleared_at is not None


NODES = [
    ({"node": "", "instance": "n03:9400"}, ["n03"]),
    ({"node": "", "Hostname": "n03", "instance": "10.0.0.3:9400"}, ["n03"]),
    ({"node": "n03.cluster.local"}, ["n03"]),
    ({"node": "", "instance": "[fe80::1]:9400"}, []),
]


@pytest.mark.parametrize(("labels", "nodes"), NODES)
def test_where_the_node_is_read_from(api: Api, labels: dict[str, str], nodes: list[str]) -> None:
    assert push(api, webhook(entry(**labels))).status == 200
    assert [row.node for row in HealthEvent.objects.all()] == nodes


def test_a_node_that_nobody_knows_is_kept_and_counted(api: Api) -> None:
    assert push(api, sentinel(nodeName="n99")).json == {**NOTHING, "accepted": 1, "stored": 1, "unknownNodes": 1}
    assert "no node that the scheduler knows" in AuditEvent.objects.get(type=EventType.HEALTH.value).sentence


def test_an_exclusion_stays_and_the_trail_says_that_the_node_is_healthy(api: Api) -> None:
    now = timezone.now()
    person = Actor(ActorKind.PERSON, "olga")
    exclude(api.cluster, "n03", reason="broken", until=now + timedelta(hours=1), actor=person, now=now)
    push(api, sentinel())
    push(api, sentinel(isHealthy=True, isFatal=False, generatedTimestamp=ago(5)))
    assert Exclusion.objects.get().lifted_at is None
    event = AuditEvent.objects.filter(type=EventType.EXCLUSION.value).latest("id")
    assert event.sentence.startswith("n03 is told healthy again, and stays excluded until ")
    assert event.action == "healthy"


def test_a_node_shows_what_was_told_of_it(api: Api) -> None:
    push(api, sentinel())
    (told,) = api.get("/v1/nodes/n03").json["healthEvents"]
    assert (told["check"], told["codes"], told["fatal"], told["toldAs"]) == (
        "GpuXidError",
        ["79"],
        True,
        "nvsentinel",
    )
    assert api.get("/v1/nodes/n04").json["healthEvents"] == []


BAD: list[tuple[str, Any, str]] = [
    ("nothing known", {}, "Send one health event (nodeName, checkName, …)"),
    ("no node", sentinel(nodeName=" "), "nodeName: is needed."),
    ("a path", sentinel(nodeName="../etc"), "nodeName: '../etc' is no name of a node."),
    ("a command", sentinel(nodeName="n03;reboot"), "nodeName: 'n03;reboot' is no name"),
    ("a node list", sentinel(nodeName="n[01-99]"), "is no name of a node."),
    ("two lines", sentinel(nodeName="n03\nn04"), "is no name of a node."),
    ("a NUL byte", sentinel(nodeName="n0\u00003"), "is no name of a node."),
    ("no check", sentinel(checkName=None), "checkName: is needed."),
    ("a check that is no text", sentinel(checkName=["x"]), "checkName: must be a text."),
    ("no time", sentinel(generatedTimestamp=None), "generatedTimestamp: must be a time such as"),
    ("no zone", sentinel(generatedTimestamp="2026-11-20T12:00:00"), "generatedTimestamp: has no zone"),
    ("a time in the future", sentinel(generatedTimestamp="2199-01-01T00:00:00Z"), "lies in the future."),
    ("a time before all", sentinel(generatedTimestamp="0001-01-01T00:00:00Z"), "generatedTimestamp: "),
    ("seconds without end", sentinel(generatedTimestamp={"seconds": 10**30}), "must be a time such as"),
    ("a yes", sentinel(isFatal="yes"), "isFatal: must be true or false."),
    ("a code that is none", sentinel(errorCode=[{}]), "errorCode: must be a list of codes."),
    ("a part that is none", sentinel(entitiesImpacted=["GPU"]), "entitiesImpacted.0: must be an object."),
    ("an advice that is none", sentinel(recommendedAction=[]), "recommendedAction: must be a name or a number."),
    ("events that are no list", {"events": {}}, "events: must be a list."),
    ("no events", {"events": []}, "events: must hold 1 to 500 entries, and holds 0."),
    ("the second is bad", {"events": [sentinel(), sentinel(nodeName="")]}, "events.1.nodeName: is needed."),
    ("too many", {"events": [1] * (MOST_EVENTS + 1)}, "events: must hold 1 to 500 entries, and holds 501."),
    ("an entry that is none", webhook("x"), "alerts.0: must be an object."),
    ("no state", webhook({}), "alerts.0.status: is needed."),
    ("an unknown state", webhook(entry("burning")), "alerts.0.status: must be firing or resolved."),
    ("no name", webhook(entry(alertname="")), "alerts.0.labels.alertname: is needed."),
    ("labels that are none", webhook({**entry(), "labels": []}), "alerts.0.labels: must be an object."),
    ("a label that is none", webhook(entry(gpu=3)), "alerts.0.labels.gpu: must be a text."),  # type: ignore[arg-type]
    ("an end before the start", webhook({**entry("resolved"), "endsAt": "2026-11-20T11:00:00Z"}), "lies before"),
    ("an end that is none", webhook({**entry("resolved"), "endsAt": None}), "alerts.0.endsAt: must be a time"),
]


@pytest.mark.parametrize(("body", "sentence"), [pytest.param(*row[1:], id=row[0]) for row in BAD])
def test_400_changes_nothing(api: Api, body: Any, sentence: str) -> None:
    answer = push(api, body)
    assert answer.status == 400
    assert sentence in answer.message
    assert not HealthEvent.objects.exists()
    assert not AuditEvent.objects.filter(type=EventType.HEALTH.value).exists()


def test_hostile_texts_are_bounded_and_stored(api: Api) -> None:
    evil = "<script>\u0000\ud800 %s {x} " * 60
    body = sentinel(
        message=evil,
        checkName=evil,
        componentClass=evil,
        agent=evil,
        errorCode=[evil] * 100,
        recommendedAction=evil,
        entitiesImpacted=[{"entityType": evil, "entityValue": evil}] * 100,
    )
    body["generatedTimestamp"] = {"seconds": 1764000000, "nanos": 5}
    assert push(api, body).status == 200
    row = HealthEvent.objects.get()
    assert (len(row.message), len(row.check_name), len(row.entity), len(row.codes)) == (1000, 128, 193, 16)
    assert "\0" not in row.message
    assert len(AuditEvent.objects.get(type=EventType.HEALTH.value).sentence) <= 1000


def test_415(api: Api) -> None:
    headers = {"Authorization": f"Bearer {api.secrets['ingest']}"}
    assert Client().generic("POST", PATH, b"{}", "text/plain", headers=headers).status_code == 415


def test_503_and_nothing_is_stored(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr(health_intake, "take_in", busy)
    answer = push(api, sentinel())
    assert (answer.status, answer.headers["Retry-After"]) == (503, "2")
    assert not HealthEvent.objects.exists()


def test_two_deadlocks_are_not_told(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def unlucky(*told: Any) -> Any:
        tries.append(1)
        if len(tries) < 3:
            raise OperationalError(1213, "Deadlock found")
        return take_in(*told)

    monkeypatch.setattr(health_intake, "take_in", unlucky)
    assert push(api, sentinel()).json["stored"] == 1
    assert len(tries) == 3


@pytest.mark.parametrize("member", ["viewer", "operator", "admin"])
def test_403_changes_nothing(api: Api, member: str) -> None:
    assert push(api, sentinel(), member).status == 403
    assert not HealthEvent.objects.exists()


def test_413(api: Api) -> None:
    assert api.ask("POST", PATH, "ingest", raw=b'{"events": "' + b"x" * (1 << 20) + b'"}').status == 413
    assert api.ask("POST", PATH, "ingest", raw=b'{"a":' * 40 + b"1" + b"}" * 40).status == 413


def test_405(api: Api) -> None:
    assert api.ask("GET", PATH, "ingest").status == 405


def test_a_token_for_two_clusters_says_which(api: Api) -> None:
    assert push(api, sentinel(), "ingest").status == 200
    api.secrets["ingest"] = a_token(TokenRole.INGEST, [api.cluster, api.other], "both", timezone.now())[0]
    assert push(api, sentinel(nodeName="n02")).message.startswith("Say which cluster: add cluster=NAME")
    assert api.post(f"{PATH}?cluster=second", sentinel(nodeName="n02"), "ingest").status == 200
    assert [row.cluster.name for row in HealthEvent.objects.order_by("pk")] == ["demo", "second"]


def test_a_live_attempt_gets_a_proposal_and_nothing_is_done(api: Api) -> None:
    attempt = an_attempt(a_job(api.cluster), state=JobState.RUNNING, nodes=["n03", "n04"], now=timezone.now())
    push(api, sentinel(generatedTimestamp=ago(0)))
    read_attempts([Attempt.objects.select_related("job__cluster").get(pk=attempt.pk)], timezone.now())
    verdict = judge(Attempt.objects.select_related("job__cluster").get(pk=attempt.pk), timezone.now())
    assert verdict is not None
    advice = decide(verdict, timezone.now())
    assert advice is not None
    assert (advice.operation, advice.excluded_nodes, advice.rule) == ("wait", ["n03"], "early_warning")
    assert not Sequence.objects.exists()
    assert not Exclusion.objects.exists()
    assert api.get("/v1/advice", "controller").json["advice"] == []


def test_the_checker_that_names_a_node_gives_it_back(api: Api) -> None:
    """From the fault by the verdict and its exclusion to the event that clears it, each made by what makes it."""
    Node.objects.bulk_create(
        Node(cluster=api.cluster, name=f"x{i}", state="idle", partitions=["main"], seen_at=timezone.now())
        for i in range(40)
    )
    attempt = an_attempt(a_job(api.cluster), now=timezone.now())
    push(api, sentinel(generatedTimestamp=ago(2)))
    verdict = judge(Attempt.objects.select_related("job__cluster").get(pk=attempt.pk), timezone.now())
    assert verdict is not None
    advice = decide(verdict, timezone.now())
    assert advice is not None
    assert (advice.operation, advice.excluded_nodes) == ("restart", ["n03"])
    push(api, sentinel(checkName="DiskFull", isHealthy=True, isFatal=False, generatedTimestamp=ago(-1)))
    assert Exclusion.objects.get().lifted_at is None
    healthy = {"isHealthy": True, "isFatal": False, "errorCode": [], "generatedTimestamp": ago(-1)}
    assert push(api, sentinel(**healthy)).json["cleared"] == 1
    row = Exclusion.objects.get()
    assert (row.lifted_at is not None, row.lifted_by) == (True, "ingest")
    event = AuditEvent.objects.filter(type=EventType.EXCLUSION.value).latest("id")
    assert event.sentence == "n03 may be used again: what it was excluded for is cleared (GpuXidError)."
