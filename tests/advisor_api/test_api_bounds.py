"""Does a full page cost as many queries as a short one?"""

from collections.abc import Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from advisor_api.models import Advice, PolicyVersion, Sequence
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.trail import Actor, Entry, record
from detectors.models import Anomaly, Verdict
from tests.advisor_api.conftest import Api
from workloads.identity import heimdall_id
from workloads.models import Attempt, Job, Node
from workloads.subjects import subject_of

pytestmark = pytest.mark.django_db
FULL = 250


def fill(api: Api, numbers: range) -> None:
    """Failed jobs with verdict, symptom, advice, recovery and event, in bulk."""
    now = timezone.now()
    cluster = api.cluster
    policy = PolicyVersion.objects.create(values={}, created_at=now)
    jobs = Job.objects.bulk_create(
        Job(
            cluster=cluster,
            number=number,
            workflow_id=f"w{number:04}",
            name="train",
            user="tess",
            partition="main",
            created_at=now,
            seen_at=now,
            opt_in={"mode": "action"},
        )
        for number in numbers
    )
    attempts = Attempt.objects.bulk_create(
        Attempt(
            job=job,
            index=0,
            heimdall_id=heimdall_id("demo", job.number, 0, 0),
            state="failed",
            nodes=["n01"],
            first_seen_at=now,
            changed_at=now,
        )
        for job in jobs
    )
    common = {"happened_at": now, "confidence": 0.9, "sentence": "s", "kind": "crash", "layer": "unknown"}
    verdicts = Verdict.objects.bulk_create(
        Verdict(
            attempt=attempt,
            evidence_status="unknown",
            action="restart",
            input_hash="x",
            judged_at=now,
            implicated=[{"host": "n01"}],
            **common,
        )
        for attempt in attempts
    )
    Anomaly.objects.bulk_create(
        Anomaly(attempt=attempt, key="k", basis="line", detected_at=now, **common) for attempt in attempts
    )
    advice = Advice.objects.bulk_create(
        Advice(
            attempt=verdict.attempt,
            generation=1,
            verdict=verdict,
            policy=policy,
            operation="restart",
            rule="r",
            because="b",
            mode_at_decision="action",
            not_before=now,
            hold_until=now,
            expires_at=now,
            created_at=now,
            state="pending",
            state_at=now,
        )
        for verdict in verdicts
    )
    Sequence.objects.bulk_create(
        Sequence(advice=each, trace_id="0" * 32, happened_at=now, detected_at=now, advised_at=now)
        for each in advice
    )
    who = Actor(ActorKind.RULE, "r")
    first = Attempt.objects.select_related("job__cluster").get(job__number=0)
    record([Entry(EventType.ADVICE, subject_of(first), who, "s") for _ in attempts], now)
    rows = (f"x{number:04}" for number in numbers)
    Node.objects.bulk_create(Node(cluster=cluster, name=name, state="idle", seen_at=now) for name in rows)


@pytest.fixture
def sizes(api: Api) -> Iterator[range]:
    return iter((range(3), range(3, FULL)))


@pytest.mark.parametrize(
    ("path", "most", "items"),
    [
        ("/v1/jobs?limit=250", 7, "jobs"),
        ("/v1/advice?onlyActive=true&limit=250", 7, "advice"),
        ("/v1/advice?limit=250", 7, "advice"),
        ("/v1/workflows?limit=250", 5, "workflows"),
        ("/v1/nodes?limit=250", 10, "nodes"),
        ("/v1/nodes/n01", 14, "attempts"),
        ("/v1/audit/events?jobId=0", 6, "items"),
    ],
)
def test_queries(api: Api, sizes: Iterator[range], path: str, most: int, items: str) -> None:
    api.get(path)  # the token's first use is written down
    counts, lengths = [], []
    for numbers in sizes:
        fill(api, numbers)
        with CaptureQueriesContext(connection) as queries:
            answer = api.get(path)
        assert answer.status == 200
        counts.append(len(queries))
        lengths.append(len(answer.json[items]))
    assert lengths[0] < lengths[1] <= FULL
    assert counts[0] == counts[1] <= most


def test_a_full_message_of_events(api: Api) -> None:
    fill(api, range(1))
    identity = str(heimdall_id("demo", 0, 0, 0))
    counts = []
    for size in (1, FULL):
        items = [
            {
                "heimdallJobId": identity,
                "eventProducer": "controller",
                "eventType": "note",
                "eventProducedAt": "1",
                "idempotencyKey": f"{size}-{i}",
            }
            for i in range(size)
        ]
        with CaptureQueriesContext(connection) as queries:
            assert api.post("/v1/audit/events", {"items": items}, "controller").json == {"accepted": size}
        counts.append(len(queries))
    assert counts[1] <= counts[0] + 8  # SQLite inserts in batches
