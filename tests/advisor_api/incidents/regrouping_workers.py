"""Workers judge failures while people join and split incidents at the same moment; prints what came of it.

Run by `test_regrouping_at_once.py` in a process of its own.
"""

import json
import os
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recovery_site.settings")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.utils import timezone  # noqa: E402

from advisor_api.incident_acts import acknowledge  # noqa: E402
from advisor_api.refusals import Refusal  # noqa: E402
from advisor_api.regrouping import merge, split  # noqa: E402
from advisor_api.regrouping_told import Act  # noqa: E402
from audit.actor_kind import ActorKind  # noqa: E402
from audit.models import AuditEvent  # noqa: E402
from audit.trail import Actor  # noqa: E402
from detectors.choice_models import IncidentChoice  # noqa: E402
from detectors.judging import judge  # noqa: E402
from detectors.models import Anomaly, Incident, Verdict  # noqa: E402
from schedulers.states import JobState  # noqa: E402
from tests.detectors.incident_truth import miscounted  # noqa: E402
from tests.detectors.rows import again, make_attempt, make_cluster  # noqa: E402
from workloads.models import Attempt, Cluster, Job  # noqa: E402

TURNS = 4
PEOPLE = 3


def failures(cluster: Cluster, mark: str, jobs: int) -> list[Attempt]:
    """Attempts of as many jobs that fail by one cause, far apart so that it is no shared one."""
    made = []
    for _job in range(jobs):
        number = Job.objects.count() + 1
        at = timezone.now() - timedelta(minutes=17 * number)
        job = Job.objects.create(
            cluster=cluster, number=number, name="t", user=f"u{number % 3}", created_at=at, seen_at=at
        )
        values = {"state": JobState.FAILED.value, "nodes": [f"n{job.number}"], "ended_at": at, "judge_due_at": at}
        attempt = make_attempt(cluster, job, started_at=at - timedelta(hours=1), **values)
        Anomaly.objects.create(
            attempt=attempt, key=mark, kind="crash", signature=mark, layer="application", sentence=mark,
            fingerprint=mark, nodes=[f"n{job.number}"], happened_at=at, detected_at=at, basis="line",
            confidence=0.9,
        )  # fmt: skip
        made.append(attempt)
    return made


def at_once(*acts: Callable[[], None]) -> list[str]:
    """All of them in threads of their own; what went wrong."""
    gate, errors = threading.Barrier(len(acts)), list[str]()

    def go(act: Callable[[], None]) -> None:
        gate.wait(120)
        try:
            act()
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")
        finally:
            connection.close()

    threads = [threading.Thread(target=go, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def sweep() -> None:
    """What a worker does: what could not be stored for a lock is due still."""
    for _turn in range(TURNS):
        for attempt in Attempt.objects.filter(judge_due_at__lte=timezone.now()):
            try:
                judge(again(attempt), timezone.now())
            except Exception as error:
                if "lock" not in str(error).lower():
                    raise


def of(name: str) -> Act:
    """A person's choice."""
    return Act(Actor(ActorKind.PERSON, name), "one cause", timezone.now())


def people(act: Callable[[str], None]) -> tuple[list[Callable[[], None]], list[str]]:
    """The same by several people, who try again when others were writing; who was refused."""
    refused: list[str] = []

    def by(name: str) -> Callable[[], None]:
        def go() -> None:
            for _try in range(40):
                try:
                    act(name)
                    return
                except Refusal as error:
                    if "try again" not in str(error):
                        refused.append(name)
                        return
            refused.append(f"{name} never came to it")

        return go

    return [by(f"p{number}") for number in range(PEOPLE)], refused


def where(attempts: Sequence[Attempt]) -> int:
    """In how many incidents they stand."""
    return Verdict.objects.filter(attempt__in=attempts, newer=None).order_by().values("incident").distinct().count()


def main() -> None:
    """All of it, printed as JSON."""
    call_command("migrate", verbosity=0)
    cluster = make_cluster()
    early = failures(cluster, "one", 2), failures(cluster, "two", 2)
    sweep()
    left, into = [Verdict.objects.get(attempt=one[0], newer=None).incident for one in early]
    assert left and into
    late = failures(cluster, "one", 3), failures(cluster, "two", 2)
    seen, goal = (left.pk, left.version), (into.pk, into.version)
    acts, refused = people(lambda name: void(merge(seen, goal, of(name))))
    errors = at_once(sweep, sweep, *acts)
    sweep()
    together = where([*early[0], *early[1], *late[0], *late[1]])
    into.refresh_from_db()
    first = Verdict.objects.get(attempt=early[0][0], newer=None)
    acts, not_split = people(lambda name: void(split((into.pk, into.version), [first.pk], [], of(name))))
    more = failures(cluster, "two", 2)
    errors += at_once(sweep, sweep, *acts)
    sweep()
    into.refresh_from_db()
    acts, too_late = people(
        lambda name: void(acknowledge(into, into.version, "mine", of(name).actor, timezone.now()))
    )
    errors += at_once(*acts)
    told = {
        "in one incident": together,
        "merges": IncidentChoice.objects.filter(deed="merge").count(),
        "splits": IncidentChoice.objects.filter(deed="split").count(),
        "refused": [len(refused), len(not_split), len(too_late)],
        "after the split": where([*early[0], *early[1], *late[0], *late[1], *more]),
        "open": Incident.objects.filter(ended_at=None).count(),
        "acknowledged": AuditEvent.objects.filter(action="acknowledged").count(),
        "still due": Attempt.objects.filter(judge_due_at__lte=timezone.now()).count(),
        "miscounted": miscounted(),
        "errors": errors,
    }
    print(json.dumps(told))


def void(_row: object) -> None:
    """Nothing."""


if __name__ == "__main__":
    main()
