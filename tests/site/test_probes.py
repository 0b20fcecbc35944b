"""Do the probes and the metrics say what is stored, and only to those who may know?"""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.db import DatabaseError
from django.test import Client

from advisor_api.models import Advice, Sequence
from detectors.models import Anomaly
from recovery_site import health
from workloads.models import Attempt, Cluster, Job

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.fixture
def recovery(db) -> Sequence:
    """A recovery: detected after 4 s, advised 1 s later, commanded 3 s later, progress after 40 s."""
    cluster = Cluster.objects.create(name="demo")
    job = Job.objects.create(cluster=cluster, number=7, name="train", user="trainer", created_at=NOW, seen_at=NOW)
    attempt = Attempt.objects.create(
        job=job, index=0, heimdall_id=uuid4(), state="failed", first_seen_at=NOW, changed_at=NOW
    )
    Anomaly.objects.create(
        attempt=attempt,
        key="x",
        kind="crash",
        sentence="ECC error",
        happened_at=NOW,
        basis="line",
        detected_at=NOW + timedelta(seconds=4),
    )
    advice = Advice.objects.create(
        attempt=attempt,
        generation=1,
        operation="restart",
        rule="named_node",
        because="because",
        mode_at_decision="action",
        not_before=NOW,
        hold_until=NOW,
        expires_at=NOW,
        created_at=NOW,
        state="pending",
        state_at=NOW,
    )
    return Sequence.objects.create(
        advice=advice,
        trace_id="0" * 32,
        happened_at=NOW,
        detected_at=NOW + timedelta(seconds=4),
        advised_at=NOW + timedelta(seconds=5),
        commanded_at=NOW + timedelta(seconds=8),
        restarted_at=NOW + timedelta(seconds=20),
        resumed_at=NOW + timedelta(seconds=40),
    )


def test_alive(client: Client) -> None:
    assert client.get("/healthz").json() == {"status": "alive"}


@pytest.mark.django_db
def test_ready(client: Client) -> None:
    assert client.get("/readyz").status_code == 200


def test_not_ready_without_a_database(client: Client, monkeypatch) -> None:
    def broken(_connection: object) -> None:
        raise DatabaseError("gone")

    monkeypatch.setattr(health, "MigrationExecutor", broken)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["reason"]) == (503, "the database does not answer")


def test_latencies_of_a_recovery(client: Client, recovery: Sequence) -> None:
    text = client.get("/metrics").content.decode()
    detection = 'rekindle_detection_latency_seconds_bucket{basis="line",cluster="demo",kind="crash",le='
    assert f'{detection}"2.0"}} 0.0' in text
    assert f'{detection}"5.0"}} 1.0' in text
    assert 'rekindle_advice_latency_seconds_sum{cluster="demo"} 1.0' in text
    assert 'rekindle_action_latency_seconds_sum{cluster="demo"} 3.0' in text
    assert 'rekindle_restart_latency_seconds_sum{cluster="demo"} 12.0' in text
    assert 'rekindle_time_to_progress_seconds_sum{cluster="demo"} 40.0' in text
    assert 'rekindle_recoveries_total{cluster="demo",outcome="resumed"} 1.0' in text


@pytest.mark.django_db
def test_the_number_of_queries_does_not_grow(
    client: Client, recovery: Sequence, django_assert_max_num_queries
) -> None:
    with django_assert_max_num_queries(12):
        client.get("/metrics")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("token", "address", "header", "status"),
    [
        ("", "127.0.0.1", "", 200),
        ("", "192.0.2.7", "", 403),
        ("secret", "127.0.0.1", "", 403),
        ("secret", "192.0.2.7", "Bearer secret", 200),
        ("secret", "192.0.2.7", "Bearer sécret", 403),
    ],
)
def test_who_may_read_metrics(client: Client, settings, token: str, address: str, header: str, status: int) -> None:
    settings.REKINDLE = {**settings.REKINDLE, "REKINDLE_METRICS_TOKEN": token}
    answer = client.get("/metrics", REMOTE_ADDR=address, headers={"Authorization": header} if header else {})
    assert answer.status_code == status


@pytest.mark.django_db
@pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Real-IP", "Forwarded", "X-Forwarded-Proto", "Via"])
def test_a_proxy_on_the_machine_is_not_the_machine(client: Client, header: str) -> None:
    assert client.get("/metrics", REMOTE_ADDR="127.0.0.1", headers={header: "127.0.0.1"}).status_code == 403


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
@pytest.mark.parametrize("host", ["127.0.0.1:8001", "10.0.0.7:8001", "[::1]:8002", "web01"])
def test_a_probe_asks_a_process_by_its_address(client: Client, settings, path: str, host: str) -> None:
    settings.ALLOWED_HOSTS = ["rekindle.example.org"]
    settings.REKINDLE = {**settings.REKINDLE, "REKINDLE_METRICS_TOKEN": "secret"}
    assert client.get(path, headers={"Host": host, "Authorization": "Bearer secret"}).status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8001", 200),
        ("localhost:8001", 200),
        ("[::1]:8001", 200),
        ("rekindle.example.org", 200),
        ("somebody.example.net:8001", 403),
        ("10.0.0.7:8001", 403),
        ("", 403),
        ("a b", 403),
    ],
)
def test_no_name_of_a_stranger_leads_to_metrics_without_a_token(
    client: Client, settings, host: str, status: int
) -> None:
    settings.ALLOWED_HOSTS = ["rekindle.example.org"]
    assert client.get("/metrics", headers={"Host": host}).status_code == status


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/sign-in", "/healthz/", "/metrics/x", "//healthz", "/v1/clusters"])
def test_nothing_else_answers_to_another_host(client: Client, settings, path: str) -> None:
    settings.ALLOWED_HOSTS = ["rekindle.example.org"]
    assert client.get(path, headers={"Host": "127.0.0.1:8001"}).status_code == 400
