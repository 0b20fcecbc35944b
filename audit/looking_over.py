"""Is the newest part of a chain as it was written? A bounded look, for a button; `verify_audit` follows all of it.

A long chain is followed from a checkpoint on that the key has signed: what lies before is not looked at, and the
checkpoint says how it ended. A chain that is short enough is followed from its beginning.
"""

from dataclasses import dataclass
from itertools import islice

from django.db.models import Exists, OuterRef

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.keyring import Keyring
from audit.level import Level
from audit.models import AuditChain, AuditCheckpoint, AuditEvent, AuditSeal, AuditUnsealed
from audit.trail import Actor, Entry, Subject
from audit.verifying import ChainReport, links_of, verify
from audit.walking import Broken, Walk

MOST = 100_000  # seals followed at once: some seconds
RUNS = 20  # of checkpoints by the same key, told in the event: the newest
STRANGERS = 5  # events that slipped in, told by number
ASKED, HOLDS, BROKEN = "asked", "holds", "broken"
VERIFIER = Actor(ActorKind.RULE, "verify")


@dataclass(frozen=True)
class Looked:
    """What was found. `begins`: after which seal the look began; `strangers`: events that no seal covers."""

    report: ChainReport
    begins: int
    strangers: tuple[int, ...]
    unsealed: int

    @property
    def holds(self) -> bool:
        """Whether everything that was looked at is as it was written."""
        return not self.report.problem and not self.strangers and not self.report.strange

    @property
    def sentence(self) -> str:
        """What is known now, and what is proved."""
        name = f"The trail of {self.report.cluster or 'the site'}"
        if self.report.problem:
            return f"{name} is NOT as it was written, after seal {self.report.seals}: {self.report.problem}."
        if self.strangers:
            numbers = ", ".join(map(str, self.strangers))
            return f"{name} is NOT as it was written: event {numbers} was slipped in, no seal covers it."
        if self.report.strange:
            run = self.report.strange[0]
            return (
                f"{name} is not known to be as it was written: checkpoint {run.first_seq} was signed by a key that "
                "the site does not know."
            )
        where = f"seals {self.begins + 1} to {self.report.seals}" if self.begins else f"{self.report.seals} seals"
        proved = "no signature proves it"
        if self.report.proved_at is not None:
            at = f"{self.report.proved_at:%Y-%m-%d %H:%M:%S} UTC"
            proved = f"proved by a signature up to seal {self.report.proved_seq} ({at}), consistent after it"
        waiting = f"; {self.unsealed} events wait for their seal" if self.unsealed else ""
        if self.unsealed == 1:
            waiting = "; 1 event waits for its seal"
        if self.report.doubts:
            waiting += f"; {self.report.doubts[0]}: verify_audit --archive reads its file"
        return f"{name} is as it was written: {where}, {proved}{waiting}."


def look_over(cluster: str, keys: Keyring, most: int = MOST) -> Looked:
    """Follow at most about `most` seals of a chain, its newest ones. `keys` as for `verify`."""
    end = AuditChain.objects.filter(cluster=cluster).values_list("seq", flat=True).first() or 0
    begin = None
    if AuditSeal.objects.filter(cluster=cluster, seq__lte=end - most).exists():
        signed = AuditCheckpoint.objects.filter(cluster=cluster)
        before = signed.filter(seq__lte=end - most).order_by("-seq")
        begin = before.filter(key_id__in=keys.sound()).first() or before.first() or signed.order_by("seq").first()
    report = verify(cluster, keys) if begin is None else _from(begin, keys, end)
    begins = begin.seq if begin else 0
    unsealed = AuditUnsealed.objects.filter(cluster=cluster).count()
    return Looked(report, begins, _strangers(cluster, begins), unsealed)


def event_of(looked: Looked, asked_by: str) -> Entry:
    """The event that tells what was found."""
    report = looked.report
    return Entry(
        type=EventType.VERIFIED,
        subject=Subject(cluster=report.cluster),
        actor=VERIFIER,
        sentence=looked.sentence,
        level=Level.INFO if looked.holds else Level.ERROR,
        action=HOLDS if looked.holds else BROKEN,
        payload={
            "asked_by": asked_by,
            "begins": looked.begins,
            "seals": report.seals,
            "proved_seq": report.proved_seq,
            "proved_at": report.proved_at.isoformat() if report.proved_at else None,
            "unsealed": looked.unsealed,
            "problem": report.problem,
            "strangers": list(looked.strangers),
            "runs": [vars(run) for run in report.runs[-RUNS:]],
        },
    )


def asked_for(cluster: str, actor: Actor) -> Entry:
    """The event that tells that somebody asked."""
    return Entry(
        type=EventType.VERIFIED,
        subject=Subject(cluster=cluster),
        actor=actor,
        sentence=f"{actor.name} asked whether the trail of {cluster or 'the site'} is as it was written.",
        action=ASKED,
    )


def _from(begin: AuditCheckpoint, keys: Keyring, end: int) -> ChainReport:
    later = AuditCheckpoint.objects.filter(cluster=begin.cluster, seq__gt=begin.seq, seq__lte=end)
    walk = Walk(begin.cluster, keys, {row.seq: row for row in later}, begin.seq, begin.digest)
    problem = ""
    try:
        walk.witness(begin)
        for part in links_of(begin.cluster, begin.seq, end):
            walk.follow(part)
        walk.ended(end)
    except Broken as broken:
        problem = str(broken)
    return ChainReport(begin.cluster, walk.seq, walk.proved, walk.proved_at, problem, runs=tuple(walk.runs))


def _strangers(cluster: str, begins: int) -> tuple[int, ...]:
    """Events of the part that was looked at which no seal covers and that do not wait for one."""
    first = AuditSeal.objects.filter(cluster=cluster, seq__gt=begins).order_by("seq").first()
    rows = AuditEvent.objects.filter(cluster=cluster, pk__gte=first.event if first else 0)
    sealed = AuditSeal.objects.filter(event=OuterRef("pk"))
    waiting = AuditUnsealed.objects.filter(event=OuterRef("pk"))
    alone = rows.filter(~Exists(sealed), ~Exists(waiting)).order_by("pk").values_list("pk", flat=True)
    return tuple(islice(alone.iterator(), STRANGERS))
