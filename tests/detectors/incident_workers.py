"""Several workers judge failures of one cause at the same moment; prints how many incidents came of it.

Run by `test_incidents_at_once.py` in a process of its own: `python -m tests.detectors.incident_workers`.
"""

import json
import os
import threading
from datetime import timedelta

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recovery_site.settings")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.utils import timezone  # noqa: E402

from audit.event_type import EventType  # noqa: E402
from audit.models import AuditEvent  # noqa: E402
from detectors.judging import judge  # noqa: E402
from detectors.models import Anomaly, Incident, Stay, Verdict  # noqa: E402
from schedulers.states import JobState  # noqa: E402
from tests.detectors.incident_truth import miscounted  # noqa: E402
from tests.detectors.rows import again, make_attempt, make_cluster  # noqa: E402
from workloads.models import Attempt, Job  # noqa: E402

THREADS = 6
TURNS = 15


def one_cause(attempts: int) -> list[Attempt]:
    """Attempts of as many jobs that fail by the same within the minute, each on a node of its own."""
    cluster, now = make_cluster(), timezone.now()
    made = []
    for number in range(attempts):
        job = Job.objects.create(
            cluster=cluster, number=number + 1, name="t", user=f"u{number % 3}", created_at=now, seen_at=now
        )
        values = {"state": JobState.FAILED.value, "nodes": [f"n{number}"], "ended_at": now, "judge_due_at": now}
        attempt = make_attempt(cluster, job, started_at=now - timedelta(hours=1), **values)
        Anomaly.objects.create(
            attempt=attempt,
            key="fs.stale",
            kind="crash",
            signature="fs.stale",
            layer="system.filesystem",
            sentence="stale",
            fingerprint="stale",
            nodes=[f"n{number}"],
            happened_at=now,
            detected_at=now,
            basis="line",
            confidence=0.9,
        )
        made.append(attempt)
    return made


def sweep(gate: threading.Barrier, errors: list[str]) -> None:
    """What a worker does: judge whatever is due, again and again; what could not be stored is due still."""
    gate.wait(120)
    for _turn in range(TURNS):
        for attempt in Attempt.objects.filter(judge_due_at__lte=timezone.now()):
            try:
                judge(again(attempt), timezone.now())
            except Exception as error:
                errors.append(f"{type(error).__name__}: {error}")
    connection.close()


def main() -> None:
    """All of it, printed as JSON."""
    call_command("migrate", verbosity=0)
    attempts, errors = one_cause(8), list[str]()
    gate = threading.Barrier(THREADS)
    threads = [threading.Thread(target=sweep, args=(gate, errors)) for _thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    newest = Verdict.objects.filter(newer=None)
    print(
        json.dumps(
            {
                "open": Incident.objects.filter(ended_at=None).count(),
                "attempts in it": newest.filter(incident__ended_at=None, shared=True)
                .values("attempt")
                .distinct()
                .count(),
                "opened": AuditEvent.objects.filter(type=EventType.INCIDENT, action="opened").count()
                - Incident.objects.count(),
                "still due": Attempt.objects.filter(judge_due_at__lte=timezone.now()).count(),
                "stays": Stay.objects.filter(attempt__in=attempts).count(),
                "miscounted": miscounted(),
                "nodes": Incident.objects.get(ended_at=None).nodes.count(),
                "errors": [one for one in errors if "lock" not in one.lower()],
            }
        )
    )


if __name__ == "__main__":
    main()
