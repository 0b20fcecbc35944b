"""Several workers judge one attempt with dumps at the same moment; prints what came of it.

Run by `test_dumps_at_once.py` in a process of its own: `python -m tests.detectors.dump_workers FOLDER`.
"""

import json
import os
import sys
import threading
from datetime import timedelta
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recovery_site.settings")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from audit.event_type import EventType  # noqa: E402
from audit.models import AuditEvent  # noqa: E402
from detectors.attribution.replaying import judged_again  # noqa: E402
from detectors.judging import judge  # noqa: E402
from detectors.models import Anomaly, Observation, Verdict  # noqa: E402
from tests.detectors.rows import again  # noqa: E402
from tests.detectors.test_dump_noting import NOW, leave, never_joined, site, standing  # noqa: E402
from workloads.models import Attempt  # noqa: E402

THREADS = 6
TURNS = 10


def sweep(gate: threading.Barrier, errors: list[str]) -> None:
    """What a worker does: judge whatever is due, again and again; what could not be stored is due still."""
    gate.wait(120)
    for turn in range(TURNS):
        now = NOW + timedelta(seconds=15 * turn)
        for attempt in Attempt.objects.filter(judge_due_at__lte=now):
            try:
                judge(again(attempt), now)
            except Exception as error:
                errors.append(f"{type(error).__name__}: {error}")
    connection.close()


def main() -> None:
    """All of it, printed as JSON."""
    call_command("migrate", verbosity=0)
    attempt, errors = site(Path(sys.argv[1])), list[str]()
    leave(attempt, never_joined)
    gate = threading.Barrier(THREADS)
    threads = [threading.Thread(target=sweep, args=(gate, errors)) for _thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    verdict = Verdict.objects.get(attempt=attempt)
    told = {
        "case": standing(attempt),
        "symptoms": Anomaly.objects.filter(attempt=attempt, key="fr_dump").count(),
        "told": AuditEvent.objects.filter(type=EventType.ANOMALY).count(),
        "observations": sorted(Observation.objects.filter(attempt=attempt).values_list("topic", flat=True)),
        "replayed": judged_again(verdict.body, verdict.judged_at).body == verdict.body,
        "errors": [one for one in errors if "lock" not in one.lower()],
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
