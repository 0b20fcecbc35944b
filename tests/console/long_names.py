"""Long and hostile names of everything that has one, so that every table can be looked at with them."""

from datetime import datetime, timedelta

from advisor_api.models import Exclusion, Pause
from advisor_api.silence_models import Silence
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.trail import Actor, Entry, Subject, record
from schedulers.states import JobState
from tests.console import sample
from tests.console.named_long import NODE
from tests.console.sample import HOSTILE
from workloads.models import Cluster, Node

NAME = "pretrain_llama_" + "7b" * 60
USER = "firstname.lastname-of-a-long-kind@" + "d" * 29
WORDS = "a reason of many words " * 12


def name_at_length(now: datetime) -> None:
    """Beside what `sample.fill` has stored: jobs, nodes, silences, pauses, exclusions and events."""
    cluster = Cluster.objects.get(name="demo")
    until = {"since": now, "until": now + timedelta(hours=1)}
    for number, (node, name) in enumerate(((NODE, NAME), (HOSTILE, HOSTILE * 2)), 8800):
        Node.objects.create(
            cluster=cluster, name=node, state="DOWN+NOT_RESPONDING+DRAIN", available=False, reason=name + WORDS,
            reason_by=USER, reason_at=now, partitions=["p" * 64, "main"], seen_at=now,
        )  # fmt: skip
        job = sample.job(cluster, number * 10**12, now, name=name, user=USER, partition="p" * 64)
        sample.attempt(
            job, 0, JobState.RUNNING, now, nodes=[node], blind_since=now, blind_reason=name, started_at=now
        )
        Silence.objects.create(
            cluster=cluster,
            node=node,
            signature=f"site.{'s' * 100}",
            reason=WORDS,
            owner=USER,
            made_by=USER,
            **until,
        )
        Exclusion.objects.create(cluster=cluster, node=node, reason=name + WORDS, owner=USER, **until)
        Pause.objects.create(
            cluster=cluster, scope="user", value=f"{USER}{number}", reason=WORDS, owner=USER, **until
        )
        subject = Subject(cluster.name, job.number, 0, 0, None, node)
        actor = Actor(ActorKind.PERSON, USER)
        record(
            [Entry(EventType.EXCLUSION, subject, actor, f"{node} is left out: {name}{WORDS}", pattern=NAME)], now
        )
