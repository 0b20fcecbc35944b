"""Incidents for the tests of the console: shared causes with jobs that failed, and who may act on them."""

from datetime import datetime, timedelta

from django.contrib.auth.models import Permission, User
from django.db import transaction

from detectors.incident_counts import count_anew
from detectors.models import Incident, IncidentNode, Verdict
from tests.console import sample
from workloads.models import Cluster

RIGHTS = ("change_incident", "add_incidentnote", "add_incidentchoice", "add_silence", "change_silence")


def allow(*users: User) -> None:
    """Let them do all that is done about incidents."""
    for user in users:
        user.user_permissions.add(*Permission.objects.filter(codename__in=RIGHTS))


def make_incident(cluster: Cluster, now: datetime, key: str = "a", **changes: object) -> Incident:
    """An open one."""
    values = {
        "open_key": key,
        "fingerprint": key,
        "layer": "system.filesystem",
        "sentence": f"Storage {key} is in trouble",
        "first_seen_at": now - timedelta(minutes=5),
        "last_seen_at": now,
    }
    return Incident.objects.create(**{"cluster": cluster, **values, **changes})


def make_failures(
    cluster: Cluster, now: datetime, incident: Incident, number: int, mark: str = "stale"
) -> list[Verdict]:
    """That many jobs that failed within a minute by one shared cause."""
    first = 7000 + sample.Job.objects.count()
    made = []
    for n in range(number):
        attempt = sample.attempt(
            sample.job(cluster, first + n, now), 0, sample.JobState.FAILED, now, nodes=[f"n0{n % 6 + 1}"]
        )
        made.append(
            Verdict.objects.create(
                attempt=attempt,
                kind="crash",
                layer="system.filesystem",
                signature="fs.stale",
                fingerprint=mark,
                shared=True,
                sentence=f"Stale file handle {mark}",
                evidence_status="established",
                confidence=0.9,
                action="restart",
                implicated=[{"host": f"n0{n % 6 + 1}", "role": "victim"}],
                incident=incident,
                input_hash=f"{first}{n}{mark}",
                happened_at=now - timedelta(seconds=n),
                judged_at=now,
            )
        )
        IncidentNode.objects.get_or_create(incident=incident, node=f"n0{n % 6 + 1}")
    with transaction.atomic():  # also where a test commits each statement
        count_anew([incident.pk])
    return made


def tell_of_incidents(now: datetime) -> None:
    """Three open ones on the cluster `demo`, all others over, and operators who may act on them."""
    Incident.objects.filter(ended_at=None).update(ended_at=now, open_key=None)
    cluster = Cluster.objects.get(name="demo")
    allow(User.objects.get(username="operator"), User.objects.get(username="admin"))
    make_failures(cluster, now, make_incident(cluster, now, "home", shared=True), 4)
    other = make_incident(cluster, now, "scratch", shared=True)
    make_failures(cluster, now, other, 3, "full")
    make_incident(cluster, now, "hostile", sentence=sample.HOSTILE, layer="unknown")
