"""What is a repair system told of an exclusion, and when is it told?

Each record is made in the transaction of what it tells, once for each system by its key, and has its own timer. It
is a request to whoever repairs: Rekindle drains and resumes nothing. A node that still runs jobs is not handed over
(trap 12): until it is free its record says *busy*.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from advisor_api import outgoing
from advisor_api.models import Exclusion
from advisor_api.refusals import Stale
from advisor_api.repair_models import OPEN, RepairRecord, RepairSystem
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.masking import masked
from audit.trail import Actor, Entry, Subject
from detectors.models import Verdict
from schedulers.states import LIVE
from workloads.models import Attempt, Node
from workloads.stored_text import storable

FORM = "rekindle.handoff/1"
EVIDENCE, LONGEST = 10, 500  # quotes in one record, and characters of one
AT_ONCE = 50
LOOK_AGAIN = timedelta(seconds=15)  # about as often as the scheduler is asked
UNSEEN = timedelta(minutes=2)  # since a node was listed: nobody knows whether it is free
GIVEN_UP = timedelta(hours=24)
WORKS = frozenset({"allocated", "mixed", "completing", "alloc", "mix", "comp"})


def tell(exclusion: Exclusion, deed: str, now: datetime, *, stays_out: bool = False) -> None:
    """Make the records of an exclusion that was opened, renewed or lifted. Call it inside its transaction."""
    systems = list(RepairSystem.objects.filter(cluster_id=exclusion.cluster_id, enabled=True))
    if not systems:
        return
    body = _body(exclusion, deed, now, stays_out)
    for system in systems:
        key = f"{exclusion.uuid}:{deed}:{system.pk}"
        RepairRecord.objects.create(
            system=system,
            name=system.name,
            exclusion=exclusion,
            node=exclusion.node,
            deed=deed,
            key=key,
            body={**body, "key": key},
            made_at=now,
            due_at=now,
        )


def _body(exclusion: Exclusion, deed: str, now: datetime, stays_out: bool) -> dict[str, Any]:
    verdict = None
    if exclusion.verdict_id is not None:
        verdict = Verdict.objects.select_related("attempt__job").filter(uuid=exclusion.verdict_id).first()
    return {
        "form": FORM,
        "deed": deed,
        "request": "return" if deed == "lifted" else "drain",
        "at": now.isoformat(),
        "cluster": exclusion.cluster.name,
        "node": exclusion.node,
        "exclusion": str(exclusion.uuid),
        "reason": _line(exclusion.reason),
        "by": _line(exclusion.owner),
        "confidence": exclusion.confidence,
        "since": exclusion.since.isoformat(),
        "until": exclusion.until.isoformat(),
        "lifted_at": exclusion.lifted_at.isoformat() if exclusion.lifted_at else None,
        "lifted_by": exclusion.lifted_by,
        "stays_out": stays_out,
        "verdict": None if verdict is None else _verdict(verdict),
        "evidence": [] if verdict is None else list(_evidence(verdict, exclusion.node)),
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "id": str(verdict.uuid),
        "job": str(verdict.attempt.job.number),
        "attempt": verdict.attempt.index,
        "layer": verdict.layer,
        "signature": verdict.signature,
        "fingerprint": verdict.fingerprint,
        "sentence": _line(verdict.sentence),
        "happened_at": verdict.happened_at.isoformat(),
    }


def _evidence(verdict: Verdict, node: str) -> Iterable[dict[str, Any]]:
    """What the verdict quotes of this node, masked and bounded."""
    stored = verdict.body.get("evidence") if isinstance(verdict.body, dict) else None
    rows = [row for row in stored or () if isinstance(row, dict) and row.get("host") == node]
    for row in rows[:EVIDENCE]:
        yield {
            "source": _line(row.get("source")),
            "signature": _line(row.get("signature_id")),
            "at": row.get("event_time"),
            "line": _line(row.get("quote")),
        }


def _line(value: object) -> str:
    return masked(storable(str(value or ""), 4 * LONGEST))[:LONGEST]


def due_records(now: datetime) -> list[RepairRecord]:
    """What may be handed over now, the longest due first; what is busy or over is written down as that."""
    due = RepairRecord.objects.filter(due_at__lte=now).select_related("system", "exclusion__cluster")
    ready = []
    for row in due.order_by("due_at", "pk")[:AT_ONCE]:
        if row.system is None or not row.system.enabled:
            close(row, "failed", "Nobody is told there any more.", now)
        elif _overtaken(row, now):
            close(row, "overtaken", "The exclusion was over before its node was handed over.", now)
        elif row.deed == "lifted" and _told(row).filter(outcome__in=OPEN).exists():
            _later(row, row.outcome, row.said, now)
        elif row.deed != "lifted" and (why := why_busy(row, now)):
            _later(row, "busy", why, now)
        else:
            ready.append(row)
    return ready


def _told(row: RepairRecord) -> Any:
    """What the same system is told before a record that lifts."""
    return RepairRecord.objects.filter(system=row.system, exclusion=row.exclusion).exclude(deed="lifted")


def _overtaken(row: RepairRecord, now: datetime) -> bool:
    """An exclusion that is over asks for nothing; one that was never handed over is not taken back."""
    if row.deed != "lifted":
        return row.exclusion.lifted_at is not None or row.exclusion.until <= now
    told = _told(row)
    return told.exists() and not told.exclude(outcome="overtaken").exists()


def why_busy(row: RepairRecord, now: datetime) -> str:
    """Why the record's node may not be handed over yet; `""` when it is free of jobs. Unknown is not free."""
    cluster = row.exclusion.cluster
    node = Node.objects.filter(cluster=cluster, name=row.node).first()
    if cluster.cannot_see_since is not None or node is None or now - node.seen_at > UNSEEN:
        return f"Nobody sees at present whether {row.node} still runs jobs."
    if not WORKS.isdisjoint(node.state.lower().replace("*", "").split("+")):
        return f"{row.node} still runs jobs: the scheduler says {node.state}."
    live = Attempt.objects.filter(job__cluster=cluster, job__live=True, state__in=[one.value for one in LIVE])
    jobs = sorted(number for number, nodes in live.values_list("job__number", "nodes") if row.node in nodes)
    return f"{row.node} still runs job {', '.join(map(str, jobs[:4]))}." if jobs else ""


def claim(row: RepairRecord, now: datetime) -> bool:
    """The record for us alone; false when somebody was first."""
    return outgoing.claim(row, row.system.timeout_seconds if row.system else 0, now, outcome="waiting")


def keep_trying(row: RepairRecord, said: str, now: datetime) -> None:
    """Nothing came, for a reason that may pass: once more after a pause, for a day."""
    if outgoing.is_given_up(row, GIVEN_UP, now):
        close(row, "failed", said, now)
    else:
        outgoing.try_later(row, said, now)


def close(row: RepairRecord, outcome: str, said: str, now: datetime) -> bool:
    """It is over, with one event of the trail; whether it was still ours."""
    return outgoing.close(row, outcome, said, _entry(row, outcome, said), now)


def send_again(row: RepairRecord, actor: Actor, now: datetime) -> RepairRecord:
    """A person has a record that was given up handed over once more, under its old key. Raises `Stale` otherwise.

    What no longer holds is still not handed over: the next sweep looks as at any other record.
    """
    sentence = f"{actor.name} has {row.name} told again that the exclusion of {row.node} is {row.deed}."
    entry = replace(_entry(row, "waiting", ""), actor=actor, sentence=sentence[:1000], producer_key=None)
    if not outgoing.open_again(row, entry, now):
        raise Stale(f"{row.name} was not given up on {row.node} ({row.deed}): nothing is sent again.")
    return row


def _later(row: RepairRecord, outcome: str, said: str, now: datetime) -> None:
    outgoing.mine(row).update(due_at=now + LOOK_AGAIN, outcome=outcome, said=storable(said, 500))


def _entry(row: RepairRecord, outcome: str, said: str) -> Entry:
    what = {
        "sent": f"{row.name} was told that the exclusion of {row.node} is {row.deed}.",
        "overtaken": f"{row.name} is not told of the exclusion of {row.node} ({row.deed}): {said}",
    }.get(outcome, f"{row.name} could not be told that the exclusion of {row.node} is {row.deed}: {said}")
    return Entry(
        type=EventType.EXCLUSION,
        subject=Subject(cluster=row.exclusion.cluster.name, node=row.node),
        actor=Actor(ActorKind.RULE, "hand_off"),
        sentence=what[:1000],
        level=Level.WARNING if outcome == "failed" else Level.INFO,
        action="hand_off",
        verdict_id=row.exclusion.verdict_id,
        payload={"system": row.name, "deed": row.deed, "key": row.key, "outcome": outcome, "tries": row.tries},
        producer_key=f"hand-off:{row.key}{f':{row.again_at.timestamp():.6f}' if row.again_at else ''}"[:128],
    )
