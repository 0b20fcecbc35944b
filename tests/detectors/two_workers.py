"""Two worker processes with an attempt each, while a third changes a signature of the site; prints what they found.

Run by `test_two_workers.py` in a process of its own: `python -m tests.detectors.two_workers FOLDER`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recovery_site.settings")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.utils import timezone  # noqa: E402

from audit.actor_kind import ActorKind  # noqa: E402
from audit.trail import Actor  # noqa: E402
from detectors.models import Anomaly, SiteSignature  # noqa: E402
from detectors.reading import read_attempt  # noqa: E402
from detectors.site_signatures import disable, keep  # noqa: E402
from tests.detectors.catalogue.test_site import FAN  # noqa: E402
from tests.detectors.rows import Log, again, make_attempt, make_cluster  # noqa: E402
from workloads.models import Attempt  # noqa: E402

ANNA = Actor(ActorKind.PERSON, "anna")


class Worker:
    """A process that turns one attempt whenever it is asked."""

    def __init__(self, attempt: Attempt) -> None:
        self._log = Log.of(attempt)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.detectors.two_workers", "--worker", str(attempt.pk)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def turn(self, line: str) -> Any:
        """Write a line, have it read; how many lines with the signature the attempt has now."""
        assert self._process.stdin and self._process.stdout
        self._log.write(line)
        self._process.stdin.write("turn\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def end(self) -> None:
        """Stop it."""
        try:
            self._process.communicate(timeout=60)
        finally:
            self._process.kill()
            self._process.wait()


def work(attempt: int) -> None:
    """What a worker process does: a turn for every line of its input."""
    for _line in sys.stdin:
        assert read_attempt(again(Attempt.objects.get(pk=attempt)), timezone.now())
        found = Anomaly.objects.filter(attempt=attempt, signature=FAN["id"])
        sys.stdout.write(f"{json.dumps(sum(found.values_list('count', flat=True)))}\n")
        sys.stdout.flush()


def unsaved(**changes: Any) -> SiteSignature:
    """The signature, not stored yet."""
    values = {**FAN, "name": FAN["id"], "note": "fans", **changes}
    del values["id"]
    return SiteSignature(**values)


def story(folder: Path) -> dict[str, list[int]]:
    """What each of two workers has found after each step."""
    cluster = make_cluster(folder)
    workers = [Worker(make_attempt(cluster)) for _ in range(2)]

    def turns(line: str) -> list[int]:
        return [worker.turn(line) for worker in workers]

    stuck, stalled = "fanctl[12]: n02 fan 3 stuck", "fanctl[12]: n02 fan 3 stalled"
    told = {"before": turns(stuck)}
    row = keep(unsaved(), None, ANNA, timezone.now())
    told["added"] = turns(stuck)
    row = keep(
        unsaved(pattern=r"fanctl\[\d+\]: (?P<host>\S+) fan \d+ stalled", example=stalled), row, ANNA, timezone.now()
    )
    told["changed, the old line"] = turns(stuck)
    told["changed, the new line"] = turns(stalled)
    disable(row, "noise", ANNA, timezone.now())
    told["disabled"] = turns(stalled)
    for worker in workers:
        worker.end()
    return told


if __name__ == "__main__":
    if sys.argv[1] == "--worker":
        work(int(sys.argv[2]))
    else:
        call_command("migrate", verbosity=0)
        sys.stdout.write(json.dumps(story(Path(sys.argv[1]))))
