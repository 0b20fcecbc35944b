"""Can a secret get into a column of ours? Each text and each JSON is masked, or says why it holds nothing foreign.

A column is *masked* by its class: a secret is written through it here. A new column without a line fails.
"""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, models
from django.utils import timezone

from advisor_api.models import Advice, Exclusion, JobReport, Pause
from advisor_api.registering import Report, register
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.masked_fields import MaskedCharField, MaskedJSONField, MaskedTextField
from audit.masking import MASK, masked_comment
from audit.models import AuditEvent
from audit.trail import Actor, Entry, Subject, record
from detectors.models import HealthEvent
from schedulers.port import JobRow, NodeRow
from schedulers.states import JobState
from tests.advisor_api.conftest import Api, api, cluster  # noqa: F401  # fixtures
from tests.advisor_api.world import a_cluster, an_advice
from workloads.models import Node
from workloads.node_rows import compare_nodes
from workloads.rows import watched_rows

SECRET = "hunter2hunter2"
SAID = f"see https://anna:{SECRET}@example.org, password={SECRET}"
MASKED = (MaskedCharField, MaskedTextField, MaskedJSONField)
CHAIN = (
    "AuditUnsealed",
    "AuditSeal",
    "AuditChain",
    "AuditCheckpoint",
    "AuditArchive",
)  # digests, numbers and names
ROOMS = ("audit", "workloads", "detectors", "advisor_api", "console")

NAME = (
    "a name by which the scheduler, or an administrator, calls it: shown to everybody who may see it, and compared"
)
OURS = "made by us: a digest, a key, a word of an enum, a place in a text"
WORKS = "a setting that has to work as it is; secrets are in files, and an address with one is refused"
PATH = "a path or a label of a store, by which the log is read again: masked, nothing could be opened"
LOG = "of lines of a log, which are masked where they are quoted (tests/detectors/test_secrets.py)"
DOOR = "masked before it is compared with what is stored (the tests below)"
TRIED = "what an administrator types to be tried on logs, and reads again as it is"
DERIVED = "made of columns that are masked themselves, and of numbers"
KEY = "a client's own key, kept to know it again; hashed or bounded, and shown to nobody"

WHY_NOT: dict[str, str] = {
    **dict.fromkeys(
        (
            *(f"AuditEvent.{name}" for name in ("cluster", "node", "user", "actor")),
            *("Cluster.name", "Cluster.environment", "RemovedCluster.name", "Node.name", "Node.partitions"),
            *("Node.reason_by", "Node.state", "Job.name", "Job.user", "Job.account", "Job.partition"),
            *("Attempt.nodes", "IncidentNote.author", "IncidentChoice.made_by", "IncidentChoice.undone_by"),
            *("AttributionProvider.name", "ProviderQuestion.name", "ProviderQuestion.kind", "ToldLine.told_by"),
            *("HealthEvent.node", "HealthEvent.received_from", "SiteSignature.name", "SiteSignature.created_by"),
            *("Anomaly.nodes", "Incident.acknowledged_by", "IncidentNode.node", "Stay.node", "RepairSystem.name"),
            *("RepairRecord.name", "RepairRecord.node", "NotificationRoute.name", "Delivery.name"),
            *("Delivery.cluster", "TrailPosition.cluster", "PolicyVersion.partition", "PolicyVersion.user"),
            *("PolicyVersion.created_by", "PolicyActivation.place", "PolicyActivation.activated_by"),
            *("Advice.excluded_nodes", "LeftAlone.excluded_nodes", "Exclusion.node", "Exclusion.owner"),
            *("Exclusion.user", "Exclusion.lifted_by", "Pause.value", "Pause.owner", "ControllerLease.holder"),
            *("ApiToken.name", "ApiToken.created_by", "JobReport.reported_by", "SavedView.name"),
            *("Silence.node", "Silence.partition", "Silence.owner", "Silence.made_by", "Silence.ended_by"),
            *("Cluster.scheduler_version", "ChosenPlace.value"),
        ),
        NAME,
    ),
    **dict.fromkeys(
        (
            "AuditEvent.trace_id",
            *("IncidentChoice.source_key", "IncidentChoice.target_key", "ChosenPlace.key"),
            *("ProviderQuestion.own_hash", "Feed.source", "Feed.stream_key", "Feed.position", "Watch.detector"),
            *("Watch.catalogue", "Observation.topic", "Observation.key", "HealthEvent.key", "HealthEvent.source"),
            *("SiteSignature.action", "Anomaly.key", "Anomaly.signature", "Anomaly.fingerprint", "Anomaly.ranks"),
            *("Anomaly.basis", "Incident.open_key", "Incident.fingerprint", "Verdict.signature"),
            *("Verdict.fingerprint", "Verdict.input_hash", "RepairRecord.key"),
            *("Delivery.key", "Delivery.path", "ToldSubject.key", "ToldSubject.subject"),
            *("Advice.rule", "LeftAlone.key", "LeftAlone.rule", "Sequence.trace_id", "ApiToken.digest"),
            *(
                "ProviderIdentity.digest",
                "SignInLink.digest",
                "SignInTry.name_hash",
                "SignInTry.address_hash",
                "Silence.fingerprint",
            ),
            "Silence.signature",
        ),
        OURS,
    ),
    **dict.fromkeys(
        (
            *(
                f"Cluster.{name}"
                for name in ("ssh_address", "ssh_credential", "scheduler_path", "scheduler_config")
            ),
            *(
                f"Cluster.{name}"
                for name in ("partitions", "log_roots", "dump_patterns", "log_patterns", "seen_by")
            ),
            "RemovedCluster.seen_by",
            *(f"Cluster.{name}" for name in ("detector_limits", "log_store_address", "log_store_job_lines")),
            *(f"Cluster.{name}" for name in ("log_store_node_lines", "log_store_labels", "log_store_tenant")),
            *(f"Cluster.{name}" for name in ("log_store_credential", "metrics_address", "metrics_selector")),
            *(f"Cluster.{name}" for name in ("metrics_labels", "metrics_credential")),
            *("AttributionProvider.address", "AttributionProvider.credential", "RepairSystem.file"),
            *(
                "RepairSystem.address",
                "RepairSystem.credential",
                "NotificationRoute.topics",
                "PolicyVersion.values",
            ),
            *("NotificationRoute.recipients", "NotificationRoute.address", "NotificationRoute.credential"),
            *("NotificationRoute.title", "NotificationRoute.text", "Delivery.whom"),
        ),
        WORKS,
    ),
    **dict.fromkeys(("Job.work_dir", "Job.stdout", "Job.stderr", "Feed.stream", "Excerpt.stream"), PATH),
    **dict.fromkeys(
        (
            "Watch.state",
            "Observation.value",
            "Excerpt.text",
            "Anomaly.evidence",
            "Verdict.implicated",
            "Verdict.body",
        ),
        LOG,
    ),
    **dict.fromkeys(
        (
            *("Node.reason", "Job.comment", "Job.opt_in", "Attempt.reason", "Attempt.scheduler_word"),
            *(f"HealthEvent.{name}" for name in ("check_name", "component", "entity", "codes", "advised", "agent")),
            "ToldLine.text",
        ),
        DOOR,
    ),
    **dict.fromkeys(
        (f"SiteSignature.{name}" for name in ("pattern", "unless", "names", "example", "must_not")), TRIED
    ),
    **dict.fromkeys(
        (*("Advice.judged_by", "Advice.facts", "Advice.trace", "LeftAlone.judged_by", "LeftAlone.facts"),),
        DERIVED,
    ),
    **dict.fromkeys(("AuditEvent.producer_key", "ToldLine.key", "Milestone.idempotency_key"), KEY),
}


def columns() -> "dict[str, models.Field[Any, Any]]":
    """Every column that may hold free text, by its name."""
    kinds = (models.CharField, models.TextField, models.JSONField)
    return {
        f"{model.__name__}.{field.name}": field
        for room in ROOMS
        for model in apps.get_app_config(room).get_models()
        if model.__name__ not in CHAIN
        for field in model._meta.concrete_fields
        if isinstance(field, kinds) and not field.choices
    }


COLUMNS = columns()


@pytest.mark.parametrize("name", [name for name, field in COLUMNS.items() if isinstance(field, MASKED)])
def test_a_masked_column_takes_no_secret(name: str) -> None:
    field = COLUMNS[name]
    said: Any = {"why": [SAID], "password": SECRET} if isinstance(field, MaskedJSONField) else SAID
    stored = str(field.get_db_prep_save(said, connection))
    assert MASK in stored
    assert SECRET not in stored


def test_every_column_is_masked_or_says_why_not() -> None:
    bare = {name for name, field in COLUMNS.items() if not isinstance(field, MASKED)}
    assert sorted(bare - set(WHY_NOT)) == [], "who can write what into these?"
    assert sorted(set(WHY_NOT) - bare) == [], "these are masked, or gone"


def test_a_mask_that_is_longer_than_its_secret_still_fits() -> None:
    field = Pause._meta.get_field("reason")
    said = "x" * (1000 - len(" pwd=a")) + " pwd=a"
    assert len(field.get_db_prep_save(said, connection)) == 1000


def test_to_mask_twice_changes_nothing() -> None:
    field = JobReport._meta.get_field("additional_properties")
    once = field.get_prep_value({"env": {"HF_TOKEN": SECRET, "note": SAID}, "n": 1})
    assert field.get_prep_value(once) == once
    assert SECRET not in str(once)


@pytest.mark.django_db
class TestDoors:
    """However a row is stored."""

    def test_every_way_of_storing(self) -> None:
        rows = a_cluster()
        values = {
            "cluster": rows,
            "scope": "cluster",
            "owner": "o",
            "since": timezone.now(),
            "until": timezone.now(),
        }
        one = Pause.objects.create(reason=SAID, **values)
        Pause.objects.bulk_create([Pause(reason=SAID, **values)])
        assert not Pause.objects.filter(reason__contains=SECRET).exists()
        Pause.objects.filter(pk=one.pk).update(reason=f"token={SECRET}")
        one.refresh_from_db()
        assert one.reason == f"token={MASK}"
        assert Pause.objects.filter(reason=f"token={SECRET}").get() == one, "the same is found again"
        one.reason = SAID
        Pause.objects.bulk_update([one], ["reason"])
        one.refresh_from_db()
        assert SECRET not in one.reason

    def test_the_trail(self) -> None:
        entry = Entry(
            type=EventType.PAUSE,
            subject=Subject(cluster="c"),
            actor=Actor(ActorKind.PERSON, "olga"),
            sentence=SAID,
            action=f"token={SECRET}",
            payload={"reason": SAID, "deep": [{"api_key": SECRET}]},
        )
        record([entry], timezone.now())
        assert SECRET not in str(AuditEvent.objects.values().get())

    def test_what_people_say_to_the_api(self, api: Api) -> None:  # noqa: F811  # the fixture
        """A pause, an exclusion, a ruling, a mode: each with a reason that holds a secret."""
        until = (timezone.now() + timedelta(hours=1)).isoformat()
        advice = an_advice(api.cluster, now=timezone.now(), action="ask")
        path = f"/v1/advice/{advice.attempt.heimdall_id}"
        ruling = {"generation": str(advice.generation), "reason": SAID}
        asked = [
            api.post("/v1/pauses", {"scope": "user", "value": "x", "reason": SAID, "until": until}),
            api.post("/v1/exclusions", {"node": "n05", "reason": SAID, "until": until}),
            api.post(f"{path}:reject", ruling),
            api.ask("PATCH", "/v1/clusters/demo", "admin", {"mode": "monitor", "modeVersion": "1", "reason": SAID}),
            api.post("/v1/jobs", {"workflowId": SAID, "jobId": "9", "additionalProperties": {"k": SAID}}, "ingest"),
            api.post(
                "/v1/health-events",
                {
                    "nodeName": "n03",
                    "checkName": SAID,
                    "message": SAID,
                    "agent": SAID,
                    "componentClass": SAID,
                    "errorCode": [SAID],
                    "recommendedAction": f"pwd={SECRET}",
                    "entitiesImpacted": [{"entityType": "GPU", "entityValue": SAID}],
                    "generatedTimestamp": "2026-11-01T00:00:00Z",
                },
                "ingest",
            ),
            api.post(
                "/v1/health-events",
                {
                    "alerts": [
                        {
                            "status": "firing",
                            "labels": {"alertname": SAID, "node": "n04", "xid": SAID, "job": SAID},
                            "annotations": {"summary": SAID},
                            "startsAt": "2026-11-01T00:00:00Z",
                        }
                    ]
                },
                "ingest",
            ),
        ]
        assert [answer.status for answer in asked if answer.status not in {200, 201}] == [], asked
        assert (Pause.objects.count(), Exclusion.objects.filter(node="n05").count()) == (1, 1)
        assert HealthEvent.objects.count() == 2
        assert Advice.objects.get(pk=advice.pk).state == "abandoned"
        found = [
            f"{model._meta.label} {row}"
            for room in ROOMS
            for model in apps.get_app_config(room).get_models()
            for row in model._default_manager.values()
            if SECRET in str(row)
        ]
        assert found == []

    def test_a_report_that_is_repeated_is_no_news(self) -> None:
        rows, actor = a_cluster(), Actor(ActorKind.TOKEN, "ingest")
        report = Report("w", None, 5, 0, additional_properties={"password": SECRET})
        for _time in range(3):
            register(rows, report, actor, timezone.now())
        assert AuditEvent.objects.filter(type=EventType.CLIENT).count() == 0
        assert JobReport.objects.get().additional_properties == {"password": MASK}

    def test_what_a_scheduler_lists(self) -> None:
        """Masked in the row, so that the next listing shows the same."""
        row = listed(comment=json.dumps({"APS": {"token": SECRET}, "mode": "action"}), reason=SAID)
        found = watched_rows([row], (), ())[1]
        assert SECRET not in str(found)
        assert found.comment == '{"APS": {"token": "[masked]"}, "mode": "action"}'
        rows = a_cluster(nodes=0)
        node = NodeRow(name="n1", states=("drain",), reason=SAID)
        compare_nodes(rows, [node], timezone.now()).save(rows, timezone.now())
        assert SECRET not in Node.objects.get().reason
        assert not compare_nodes(rows, [node], timezone.now()).changed


@pytest.mark.parametrize(
    ("comment", "stored"),
    [
        ("", ""),
        ('{"mode":"action"}', '{"mode":"action"}'),
        ('{"key": 1}', '{"key": 1}'),
        (f'{{"password":"{SECRET}","n":1}}', '{"password": "[masked]", "n": 1}'),
        (f"password={SECRET}", "password=[masked]"),
        (f'{{"password":"{SECRET}"', '{"password":[masked]'),
        ("[" * 5000 + "token", "[" * 5000 + "token"),
    ],
)
def test_a_comment_stays_json(comment: str, stored: str) -> None:
    assert masked_comment(comment) == stored
    assert masked_comment(stored) == stored


def listed(**values: Any) -> JobRow:
    empty = dict.fromkeys(("submitted_at", "started_at", "ended_at"))
    usual = {"number": 1, "name": "train", "user": "tess", "partition": "main", "state": JobState.RUNNING}
    told = {"word": "RUNNING", "reason": "", "restarts": 0, "exit_code": 0, "exit_signal": 0, "nodes": ()}
    return JobRow(**{**empty, **usual, **told, "node_count": 1, **values})
