"""One of each thing that any page speaks of, so that every page can be opened and looked at."""

from datetime import datetime, timedelta

from django.contrib.auth.models import User

from advisor_api.models import Exclusion, Pause, PolicyVersion
from advisor_api.notification_models import Delivery, NotificationRoute
from advisor_api.silence_models import Silence
from console.models import SavedView
from detectors.choice_models import IncidentChoice
from detectors.models import Incident
from tests.console import sample
from tests.console.browsing import EVERYBODY
from tests.console.incident_rows import tell_of_incidents
from workloads.models import Cluster, Node


def make_everything(now: datetime) -> User:
    """Beside what `sample.fill` has stored. Gives a person who may see and do all."""
    person = User.objects.create_superuser(EVERYBODY, password="a long password for root")
    cluster = Cluster.objects.get(name="demo")
    tell_of_incidents(now)
    sample.to_come(cluster, now)
    Exclusion.objects.create(
        cluster=cluster, node="n02", reason="Fell off the bus twice", owner="operator", since=now,
        until=now + timedelta(hours=20),
    )  # fmt: skip
    until = {"since": now - timedelta(minutes=9), "until": now + timedelta(hours=1)}
    Pause.objects.create(
        cluster=cluster, scope="user", value="ana", reason="Storage is being moved", owner="operator", **until
    )
    Silence.objects.create(
        cluster=cluster, node="n06", reason="Known, ticket 812", owner="operator", made_by="operator", **until
    )
    Node.objects.create(
        cluster=Cluster.objects.get(name="demo-monitor"), name="m01", state="allocated", available=True,
        partitions=["main"], seen_at=now,
    )  # fmt: skip
    _choice(cluster, now)
    SavedView.objects.create(owner=person, name="Mine that failed", query="?user=trainer", created_at=now)
    for values in ({}, {"max_restarts": 2}):
        PolicyVersion.objects.create(cluster=cluster, created_at=now, created_by="admin", values=values)
    _delivery(now)
    return person


def _choice(cluster: Cluster, now: datetime) -> None:
    source, target = Incident.objects.filter(cluster=cluster, ended_at=None).order_by("pk")[:2]
    IncidentChoice.objects.create(
        cluster=cluster, deed="merge", source=source, target=target, source_key=source.fingerprint,
        target_key=target.fingerprint, reason="The same file server", made_by="operator", made_at=now,
    )  # fmt: skip


def _delivery(now: datetime) -> None:
    route = NotificationRoute.objects.create(
        name="on-call", kind="hook", address="https://hook.example.org", since=now - timedelta(days=1)
    )
    Delivery.objects.create(
        route=route, name="on-call", kind="hook", whom="https://hook.example.org", key="k", topic="failed",
        level="warning", path="/jobs/demo/4711/0", title="The recovery of 4711 has failed", text="See the job.",
        made_at=now, first_at=now, last_at=now, outcome="sent", over_at=now,
    )  # fmt: skip
