"""Does the trail hold, as far as is known? Each chain with its seals, last signature and last verification."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Max

from audit.event_type import EventType
from audit.looking_over import ASKED, BROKEN
from audit.models import AuditArchive, AuditChain, AuditEvent, AuditUnsealed

PATIENCE = timedelta(minutes=2)
"""A verification that was asked for and is not over by then did not come: it may be asked for again."""


@dataclass(frozen=True)
class ChainLine:
    """One chain. `asked_at`: somebody asked after the last answer. `late`: and no answer came in time."""

    chain: AuditChain
    unsealed: int
    archived: int
    verified: AuditEvent | None
    asked_at: datetime | None
    late: bool

    @property
    def broken(self) -> bool:
        """Whether the last verification found it changed."""
        return self.verified is not None and self.verified.action == BROKEN


def chain_lines(now: datetime) -> list[ChainLine]:
    """Every chain by the name of its cluster; the site's own first. Five queries, however many there are."""
    chains = list(AuditChain.objects.order_by("cluster"))
    names = [chain.cluster for chain in chains]
    waiting = dict(
        AuditUnsealed.objects.order_by().values_list("cluster").annotate(number=Count("pk")).order_by("cluster")
    )
    stones = dict(AuditArchive.objects.order_by().values_list("cluster").annotate(last=Max("last_seq")))
    asked, answers = _newest(names)
    lines = []
    for chain in chains:
        answer, question = answers.get(chain.cluster), asked.get(chain.cluster)
        is_open = question is not None and (answer is None or question.pk > answer.pk)
        asked_at = question.at if question is not None and is_open else None
        late = asked_at is not None and now - asked_at > PATIENCE
        lines.append(
            ChainLine(chain, waiting.get(chain.cluster, 0), stones.get(chain.cluster, 0), answer, asked_at, late)
        )
    return lines


def is_asked(cluster: str, now: datetime) -> bool:
    """Whether a verification of the chain was asked for and may still come."""
    asked, answers = _newest([cluster])
    question, answer = asked.get(cluster), answers.get(cluster)
    if question is None or now - question.at > PATIENCE:
        return False
    return answer is None or question.pk > answer.pk


def _newest(names: Sequence[str]) -> tuple[dict[str, AuditEvent], dict[str, AuditEvent]]:
    """By cluster the newest question and the newest answer. Two queries."""
    rows = AuditEvent.objects.filter(cluster__in=names, type=EventType.VERIFIED.value).order_by()
    keys = rows.values("cluster", "action").annotate(last=Max("pk")).values_list("last", flat=True)
    asked: dict[str, AuditEvent] = {}
    answers: dict[str, AuditEvent] = {}
    for event in AuditEvent.objects.filter(pk__in=list(keys)).order_by("pk"):
        (asked if event.action == ASKED else answers)[event.cluster] = event
    return asked, answers
