"""Six workers at the same moment, again and again, while things happen; prints what they sent as JSON.

Run by `test_two_workers.py` in a process of its own: `python -m tests.advisor_api.notifying.two_workers`.
"""

import json
import os
import sys
import threading
from collections import Counter
from datetime import datetime, timedelta

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recovery_site.settings")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import OperationalError, connection  # noqa: E402
from django.utils import timezone  # noqa: E402

from advisor_api.notification_models import Delivery, ToldSubject  # noqa: E402
from advisor_api.notifying import collecting  # noqa: E402
from audit.event_type import EventType  # noqa: E402
from audit.level import Level  # noqa: E402
from audit.models import AuditEvent  # noqa: E402
from audit.sealing import seal_waiting  # noqa: E402
from audit.trail import record  # noqa: E402
from tests.advisor_api.notifying.world import AGE, Receiver, a_receiver, a_route, an_event, sweep  # noqa: E402
from tests.advisor_api.world import a_cluster  # noqa: E402

THREADS = 6
THINGS = 56
EACH = 8


def main() -> None:
    """Two clusters, two routes."""
    now = timezone.now()
    clusters = [a_cluster("one", nodes=1, now=now), a_cluster("two", nodes=1, now=now)]
    collecting.AT_ONCE = 7
    broken: list[str] = []
    with a_receiver() as address:
        a_route(None, now, name="all", kind="receiver", address=f"{address}/all")
        a_route(clusters[0], now, name="one", kind="receiver", address=f"{address}/one")
        gate = threading.Barrier(THREADS)

        def work(number: int) -> None:
            try:
                for turn in range(THINGS // EACH):
                    gate.wait(120)
                    at = now + timedelta(seconds=3 * turn)
                    if number == 0:
                        for cluster in clusters:
                            record([entry(cluster, turn * EACH + n) for n in range(EACH)], at)
                    one_turn(at)
            except Exception as error:
                broken.append(repr(error))
                gate.abort()
            finally:
                connection.close()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
        end = now + timedelta(minutes=20)
        seal_waiting(end)
        while collecting.collect(AGE, end):
            pass
        sweep(end + timedelta(minutes=10))
    report(broken)


def one_turn(at: datetime) -> None:
    """What a worker does each second. A deadlock undoes one step, as it would of a task: the next turn does it."""
    for step in (seal_waiting, lambda now: collecting.collect(AGE, now), sweep):
        try:
            step(at)
        except OperationalError as error:
            if error.args[:1] != (1213,):
                raise


def entry(cluster: object, number: int) -> object:
    """A failure that comes twice: as two events of the same generation."""
    sentence = f"The recovery of {number} failed."
    return an_event(
        cluster, EventType.RECOVERY_FAILED, sentence, action="restart", level=Level.ERROR,
        advice_generation=number // 2,
    )  # type: ignore[arg-type]  # fmt: skip


def report(broken: list[str]) -> None:
    """What arrived: how often each message, and of how many things they speak."""
    keys = Counter(headers["Idempotency-Key"] for _, headers, _ in Receiver.got)
    counted: Counter[str] = Counter()
    for path, _headers, body in Receiver.got:
        told = json.loads(body)
        counted[path] += len(told["alerts"]) + told["truncatedAlerts"]
    found = {
        "broken": broken,
        "repeated": [key for key, times in keys.items() if times > 1],
        "counted": dict(counted),
        "subjects": ToldSubject.objects.count(),
        "outcomes": sorted(set(Delivery.objects.values_list("outcome", flat=True))),
        "events": AuditEvent.objects.filter(type=EventType.NOTIFICATION.value).count() == len(keys),
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    main()
