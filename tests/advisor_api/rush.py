"""Several threads do the same thing at the same moment, on a database of its own; prints what came of it as JSON.

Run by `test_at_once.py` in a process of its own: `python -m tests.advisor_api.rush`.
"""

import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recovery_site.settings")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.utils import timezone  # noqa: E402

from advisor_api import deciding  # noqa: E402
from advisor_api.activating import activate, add_version  # noqa: E402
from advisor_api.approving import approve, newest_advice, reject  # noqa: E402
from advisor_api.deciding import decide, decide_all_due  # noqa: E402
from advisor_api.excluding import exclude, lift  # noqa: E402
from advisor_api.following import follow  # noqa: E402
from advisor_api.gathering import gather  # noqa: E402
from advisor_api.health_intake import take_events  # noqa: E402
from advisor_api.leasing import take_lease  # noqa: E402
from advisor_api.models import (  # noqa: E402
    Advice,
    ApiToken,
    ControllerLease,
    Exclusion,
    Milestone,
    Pause,
    PolicyActivation,
    PolicyVersion,
    Sequence,
)
from advisor_api.pausing import end_pause, pause  # noqa: E402
from advisor_api.policies import Place, policy_at  # noqa: E402
from advisor_api.policy.advice_state import AdviceState  # noqa: E402
from advisor_api.policy.facts import Facts  # noqa: E402
from advisor_api.policy.operation import Operation  # noqa: E402
from advisor_api.policy.reconciliation_reason import ReconciliationReason  # noqa: E402
from advisor_api.policy.scheduler_action import SchedulerAction  # noqa: E402
from advisor_api.policy.values import Policy  # noqa: E402
from advisor_api.registering import Report, register  # noqa: E402
from advisor_api.reporting import Done, milestone, reconcile  # noqa: E402
from advisor_api.switching import switch_mode  # noqa: E402
from advisor_api.token_role import TokenRole  # noqa: E402
from advisor_api.tokens import rotate  # noqa: E402
from advisor_api.trail_intake import Reported, Source, take_in  # noqa: E402
from audit.level import Level  # noqa: E402
from audit.models import AuditEvent  # noqa: E402
from detectors.health_events import Told  # noqa: E402
from detectors.models import HealthEvent, Verdict  # noqa: E402
from detectors.telling import Message, tell  # noqa: E402
from detectors.told_models import ToldLine  # noqa: E402
from schedulers.states import JobState  # noqa: E402
from tests.advisor_api.world import (  # noqa: E402
    CONTROLLER,
    OPERATOR,
    a_cluster,
    a_job,
    a_policy,
    a_token,
    a_verdict,
    an_advice,
    an_attempt,
    culprit,
)
from workloads.mode import Mode  # noqa: E402
from workloads.models import Attempt, Cluster  # noqa: E402

THREADS = 6


def at_once(act: Callable[[int], Any]) -> dict[str, int]:
    """How often each outcome came: the text of the answer, or the name of the refusal."""
    gate, outcomes = threading.Barrier(THREADS), []

    def run(number: int) -> None:
        try:
            gate.wait(120)
            outcomes.append(str(act(number)))
        except Exception as error:  # the outcome is what is looked at
            outcomes.append(type(error).__name__)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    return dict(Counter(outcomes))


def one_verdict() -> dict[str, Any]:
    verdict = a_verdict(an_attempt(a_job(a_cluster("verdict"))), timezone.now())
    answers = at_once(lambda _: decide(verdict, timezone.now()) is not None)
    return {"answers": answers, "advice": Advice.objects.count(), "excluded": Exclusion.objects.count()}


def sweeps() -> dict[str, Any]:
    cluster = a_cluster("sweeps", nodes=400)
    a_policy({"storm_restarts": 9, "max_user_restarts": 99}, cluster, timezone.now())
    for number in range(12):
        a_verdict(an_attempt(a_job(cluster, number)), timezone.now(), implicated=[])
    at_once(lambda _: decide_all_due(timezone.now()))
    made = Advice.objects.filter(attempt__job__cluster=cluster)
    return {"advice": made.count(), "restarts": made.filter(operation="restart").count()}


def caps() -> dict[str, Any]:
    """Twenty nodes: one may be excluded, whoever names how many."""
    cluster = a_cluster("caps", nodes=20)
    verdicts = [
        a_verdict(
            an_attempt(a_job(cluster, i), nodes=[f"n0{i + 1}"]),
            timezone.now(),
            implicated=[culprit(f"n0{i + 1}")],
        )
        for i in range(THREADS)
    ]
    at_once(lambda i: decide(verdicts[i], timezone.now()) is not None)
    return {"excluded": Exclusion.objects.filter(cluster=cluster).count()}


def one_milestone() -> dict[str, Any]:
    sequence = an_advice(a_cluster("milestone"), now=timezone.now()).sequence
    done = Done("key", Operation.RESTART, SchedulerAction.SLURM_RELEASE, timezone.now())
    answers = at_once(lambda _: milestone(sequence, done, CONTROLLER, timezone.now())[1])
    return {
        "answers": answers,
        "stored": Milestone.objects.filter(sequence=sequence).count(),
        "events": AuditEvent.objects.filter(cluster="milestone", type="action").count(),
    }


def one_report() -> dict[str, Any]:
    advice = an_advice(a_cluster("report"), now=timezone.now())

    def act(_: int) -> str:
        mine = newest_advice(advice.attempt)
        reason = ReconciliationReason.DESIRED_STATE_OBSERVED
        found = reconcile(mine, 1, AdviceState.CONVERGED, reason, actor=CONTROLLER, now=timezone.now())
        return str(found.state)

    answers = at_once(act)
    moves = AuditEvent.objects.filter(cluster="report", type="advice_state").count()
    return {"answers": answers, "events": moves}


def events() -> dict[str, Any]:
    source = Source(a_cluster("events"), CONTROLLER, may_act=True)
    sent = [Reported(None, "controller", "note", Level.INFO, {}, 1, f"key-{i}") for i in range(20)]
    answers = at_once(lambda i: take_in(source, sent[i:] + sent[:i], timezone.now()).accepted)
    return {"answers": answers, "stored": AuditEvent.objects.filter(cluster="events").count()}


def lease() -> dict[str, Any]:
    cluster = a_cluster("lease")
    first = at_once(lambda i: take_lease(cluster, f"h{i}", 0, CONTROLLER, timezone.now()).fence)
    ControllerLease.objects.update(until=timezone.now() - timedelta(seconds=1))
    second = at_once(lambda i: take_lease(cluster, f"h{i}", 0, CONTROLLER, timezone.now()).fence)
    return {"first": first, "second": second, "fence": ControllerLease.objects.get(cluster=cluster).fence}


def approval() -> dict[str, Any]:
    advice = an_advice(a_cluster("approval", mode="approve"), now=timezone.now())
    answers = at_once(lambda _: approve(newest_advice(advice.attempt), 1, "go", OPERATOR, timezone.now()).state)
    excluded = Exclusion.objects.filter(cluster__name="approval").count()
    return {"answers": answers, "excluded": excluded}


def first_policy() -> dict[str, Any]:
    """Nothing was ever activated: all need the defaults at the same moment."""
    PolicyActivation.objects.all().delete()
    cluster, before = a_cluster("first"), PolicyVersion.objects.count()
    answers = at_once(lambda _: policy_at(cluster, "main", "tess", timezone.now()).version.pk)
    made = PolicyVersion.objects.count() - before
    return {"answers": len(answers), "made": made, "active": PolicyActivation.objects.count()}


def activation() -> dict[str, Any]:
    """Each activates a version of its own, and all saw that nothing was active."""
    place = Place(a_cluster("activation"))
    versions = [
        add_version(place, {"max_requeues": i}, "", actor=OPERATOR, now=timezone.now()) for i in range(THREADS)
    ]
    answers = at_once(lambda i: activate(versions[i], 0, "mine", actor=OPERATOR, now=timezone.now()).number)
    events = AuditEvent.objects.filter(cluster="activation", sentence__contains="the active one").count()
    return {
        "answers": answers,
        "stored": PolicyActivation.objects.filter(place=place.key).count(),
        "events": events,
    }


def mode() -> dict[str, Any]:
    a_cluster("mode")

    def act(_: int) -> str:
        return switch_mode(Cluster.objects.get(name="mode"), Mode.MONITOR, 1, "r", OPERATOR, timezone.now()).mode

    answers = at_once(act)
    stored = Cluster.objects.get(name="mode").mode_version
    return {"answers": answers, "version": stored}


def registration() -> dict[str, Any]:
    cluster = a_cluster("registration")
    report = Report("w", None, 7, 0, name="n", user="u")
    answers = at_once(lambda _: register(cluster, report, CONTROLLER, timezone.now())[1])
    return {"answers": answers, "stored": Attempt.objects.filter(job__cluster=cluster).count()}


def outcomes() -> dict[str, Any]:
    advice = an_advice(a_cluster("outcomes"), now=timezone.now())
    an_attempt(
        advice.attempt.job, 1, JobState.COMPLETED, now=timezone.now(), last_step=5, last_step_at=timezone.now()
    )
    at_once(lambda _: follow(timezone.now()))
    types = AuditEvent.objects.filter(cluster="outcomes", type__in=["allocation_restarted", "training_completed"])
    closed = Sequence.objects.filter(advice=advice, closed_at__isnull=False).count()
    return {"events": sorted(types.values_list("type", flat=True)), "closed": closed}


def health() -> dict[str, Any]:
    """Half of the threads tell of twenty faults, the others that they are over: all are cleared."""
    cluster = a_cluster("health")
    now = timezone.now()
    faults, healthy = (
        [
            Told(f"n{i:02}", "GpuXidError", now - timedelta(seconds=ago), f"{i}-{over}", "nvsentinel", healthy=over)
            for i in range(1, 21)
        ]
        for over, ago in ((False, 60), (True, 30))
    )
    answers = at_once(lambda i: take_events(cluster, (faults, healthy)[i % 2], CONTROLLER, now) is not None)
    rows = HealthEvent.objects.filter(cluster=cluster)
    return {
        "answers": answers,
        "stored": rows.count(),
        "open": rows.filter(healthy=False, cleared_at=None).count(),
        "told": AuditEvent.objects.filter(cluster="health", type="health", action="").count(),
    }


def exclusion() -> dict[str, Any]:
    """The same wish, sent by all at once, and then taken back by all at once."""
    cluster, until = a_cluster("exclusion"), timezone.now() + timedelta(hours=1)
    answers = at_once(
        lambda _: exclude(cluster, "n05", reason="r", until=until, actor=OPERATOR, now=timezone.now()).pk
    )
    row = Exclusion.objects.select_related("cluster").get(cluster=cluster)
    lifted = at_once(lambda _: bool(lift(row, OPERATOR, timezone.now())))
    events = AuditEvent.objects.filter(cluster="exclusion", type="exclusion")
    return {"answers": sorted(answers.values()), "lifted": lifted, "events": events.count()}


def pausing() -> dict[str, Any]:
    """The same as of exclusions."""
    cluster, until = a_cluster("pausing"), timezone.now() + timedelta(hours=1)
    answers = at_once(
        lambda _: pause(cluster, "user", "x", reason="r", until=until, actor=OPERATOR, now=timezone.now()).pk
    )
    rows = Pause.objects.select_related("cluster").filter(cluster=cluster)
    ended = at_once(lambda _: bool(end_pause(rows.get(), OPERATOR, timezone.now())))
    events = AuditEvent.objects.filter(cluster="pausing", type="pause")
    return {"answers": sorted(answers.values()), "ended": ended, "events": events.count()}


def rulings() -> dict[str, Any]:
    """Half say yes, the others no: one word holds, and only a yes excludes."""
    advice = an_advice(a_cluster("rulings", mode="approve"), now=timezone.now())
    acts = (approve, reject)
    answers = at_once(lambda i: acts[i % 2](newest_advice(advice.attempt), 1, "r", OPERATOR, timezone.now()).state)
    advice.refresh_from_db()
    excluded = Exclusion.objects.filter(cluster__name="rulings", lifted_at=None).count()
    return {"answers": answers, "state": advice.state, "excluded": excluded}


def rotation() -> dict[str, Any]:
    """One new token, and the old one ends once."""
    _, token = a_token(TokenRole.CONTROLLER, [a_cluster("rotation")], "rotated", timezone.now())

    def act(_: int) -> bool:
        mine = ApiToken.objects.get(pk=token.pk)
        return bool(rotate(mine, overlap=timedelta(hours=1), now=timezone.now(), actor=OPERATOR))

    answers = at_once(act)
    return {"answers": answers, "stored": ApiToken.objects.filter(clusters__name="rotation").count()}


def stale_generation() -> list[dict[str, Any]]:
    """Controllers begin with an advice while a newer verdict would replace it: one of both comes to nothing."""
    return [_stale(f"stale-{at}", deciders) for at, deciders in enumerate((1, 1, 3, 5))]


def _stale(name: str, deciders: int, before_it_begins: Callable[[], object] = bool) -> dict[str, Any]:
    cluster = a_cluster(name)
    advice = an_advice(cluster, now=timezone.now())
    newer = a_verdict(advice.attempt, timezone.now(), implicated=[culprit("n02")], fingerprint="f-newer")
    source = Source(cluster, CONTROLLER, may_act=True)

    def act(number: int) -> str:
        now = timezone.now()
        if number < deciders:
            return f"decided {decide(newer, now) is not None}"
        before_it_begins()
        payload = {"generation": "1", "action": "requeue"}
        micros, key = int(now.timestamp() * 1_000_000), f"{advice.pk}-{number}"
        told = Reported(advice.attempt.heimdall_id, "controller", "intent", Level.INFO, payload, micros, key)
        return f"begun {take_in(source, [told], now).accepted}"

    answers = at_once(act)
    generations = Advice.objects.filter(attempt=advice.attempt).count()
    return {"answers": answers, "generations": generations, "begun": answers.get("begun 1", 0)}


def begun_meanwhile() -> dict[str, Any]:
    """A controller begins after the facts of a newer verdict were read, and before it replaces the advice."""
    read = threading.Event()

    def slowly(verdict: Verdict, policy: Policy, now: datetime) -> Facts:
        found = gather(verdict, policy, now)
        if threading.current_thread() is not threading.main_thread():  # which made the first advice
            read.set()
            time.sleep(0.5)  # the time that the other one has
        return found

    deciding.gather = slowly  # type: ignore[attr-defined]
    try:
        return _stale("meanwhile", 1, lambda: read.wait(120))
    finally:
        deciding.gather = gather  # type: ignore[attr-defined]


def telling() -> dict[str, Any]:
    """One message told by all, and one by each: stored once, one after the other."""
    attempt = an_attempt(a_job(a_cluster("telling")), state=JobState.RUNNING)
    message = Message(step=7)
    same = at_once(lambda _: tell(attempt, "same", message, "ingest", timezone.now())[1])
    each = at_once(lambda n: tell(attempt, str(n), message, "ingest", timezone.now())[1])
    offsets = list(ToldLine.objects.filter(attempt=attempt).order_by("offset").values_list("offset", flat=True))
    return {"same": same, "each": each, "offsets": offsets}


RACES = (
    one_verdict,
    sweeps,
    caps,
    one_milestone,
    one_report,
    events,
    lease,
    approval,
    activation,
    first_policy,
    mode,
    registration,
    outcomes,
    health,
    exclusion,
    pausing,
    rulings,
    rotation,
    stale_generation,
    begun_meanwhile,
    telling,
)

if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    sys.stdout.write(json.dumps({race.__name__: race() for race in RACES}))
