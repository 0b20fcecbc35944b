"""What happens next by itself, when, and what holds it?

Open advice that may be carried out, questions that end unanswered, decisions that were put off, nodes that may be
used again, pauses that end. Everything has a moment, or comes as soon as a controller looks.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max
from django.utils.translation import gettext as _

from advisor_api.models import Advice, ControllerLease, Exclusion, Pause
from advisor_api.pausing import covers
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from console.advice_lines import AdviceLine, without
from console.pause_words import name_of
from console.recovery import sequence_of
from detectors.models import Verdict
from schedulers.words import Word
from workloads.models import Cluster, Job

SHOWN = 30
READ = 100  # of each kind, the soonest
SOON = timedelta(hours=1)  # nodes whose exclusion ends
TODAY = timedelta(days=1)  # pauses that end


class StepKind(Word):
    """What kind of thing happens by itself."""

    RESTART = "restart", "Restart", "primary"
    TERMINATE = "terminate", "Stop", "danger"
    RELEASE = "release", "Release", "info"
    HELD = "held", "Held by a person", "warning"
    ANSWER = "answer", "Question ends", "warning"
    DECISION = "decision", "Decision", "info"
    NODE = "node", "Node comes back", "secondary"
    PAUSE = "pause", "Pause ends", "secondary"


@dataclass(frozen=True)
class NextStep:
    """One thing that happens by itself at `at`, or as soon as a controller looks.

    `advice` can be held, `pause` is what holds it or what ends; `ends_at`: when nobody tries it any more.
    """

    kind: StepKind
    cluster: Cluster
    sentence: str
    at: datetime | None = None
    job: Job | None = None
    advice: Advice | None = None
    pause: Pause | None = None
    node: str = ""
    note: str = ""
    ends_at: datetime | None = None

    @property
    def key(self) -> str:
        """Tells it apart from the others on the page."""
        of = (
            self.advice.pk
            if self.advice
            else self.pause.pk
            if self.pause
            else self.job.pk
            if self.job
            else self.node
        )
        return f"step-{self.kind}-{self.cluster.pk}-{of}"


def next_steps(now: datetime, advice: Iterable[AdviceLine]) -> tuple[list[NextStep], int]:
    """The soonest first, and how many more there are. `advice`: what is to come. A fixed number of queries."""
    pauses = list(Pause.objects.select_related("cluster").filter(until__gt=now).order_by("until")[:READ])
    leased = set(ControllerLease.objects.filter(until__gt=now).values_list("cluster", flat=True))
    steps = list(_of_advice(now, advice, pauses, leased))
    told = {step.pause.pk for step in steps if step.pause is not None}
    others = [pause for pause in pauses if pause.pk not in told]
    steps += [*_of_decisions(now), *_of_nodes(now), *_of_pauses(now, others)]
    steps.sort(key=lambda step: (step.at is not None, step.at or now))
    return steps[:SHOWN], max(0, len(steps) - SHOWN)


def step_sentence(line: AdviceLine) -> str:
    """What the controller does about one advice, in words."""
    sequence = sequence_of(line.advice)
    if line.operation is Operation.TERMINATE:
        said = _("Stop %(attempt)s")
    elif line.operation is Operation.RELEASE:
        said = _("Release the held job %(attempt)s")
    elif sequence is not None and sequence.commanded_at is not None:
        said = _("Let %(attempt)s start again%(without)s: it waits in the queue already")
    else:
        said = _("Put %(attempt)s back into the queue and start it again%(without)s")
    return said % {"attempt": line.advice.attempt.label, "without": without(line.advice)}


def _of_advice(
    now: datetime, lines: Iterable[AdviceLine], pauses: list[Pause], leased: set[int]
) -> Iterator[NextStep]:
    for line in lines:
        job, advice = line.job, line.advice
        if line.operation is Operation.WAIT:
            continue
        if line.state is AdviceState.AWAITING_APPROVAL:
            yield NextStep(StepKind.ANSWER, job.cluster, _unanswered(line), advice.expires_at, job, advice)
        elif line.may:
            later = advice.not_before > now
            note = "" if job.cluster_id in leased else _("No controller is connected: it waits for one.")
            at = advice.not_before if later else None
            kind = StepKind(line.operation.value)
            yield NextStep(
                kind, job.cluster, step_sentence(line), at, job, advice, note=note, ends_at=advice.expires_at
            )
        elif (pause := _pause_of(job, pauses)) is not None:
            over = pause.until >= advice.expires_at
            held = (
                _("%(step)s: held and given up then, as the advice ends")
                if over
                else _("%(step)s: held until then")
            )
            said = held % {"step": step_sentence(line)}
            note = f"{pause.owner}: {pause.reason}"
            yield NextStep(
                StepKind.HELD,
                job.cluster,
                said,
                min(pause.until, advice.expires_at),
                job,
                advice,
                pause,
                note=note,
                ends_at=None if over else advice.expires_at,
            )


def _of_decisions(now: datetime) -> Iterator[NextStep]:
    waiting = Verdict.objects.filter(decide_due_at__gt=now).order_by("decide_due_at").defer("body")
    for verdict in waiting.select_related("attempt__job__cluster")[:READ]:
        job = verdict.attempt.job
        names = {"attempt": verdict.attempt.label, "verdict": verdict.sentence.rstrip(".")}
        said = _("Decide again on %(attempt)s: %(verdict)s") % names
        yield NextStep(StepKind.DECISION, job.cluster, said, verdict.decide_due_at, job)


def _of_nodes(now: datetime) -> Iterator[NextStep]:
    """A node may be used again when none of its exclusions holds any more."""
    holding = Exclusion.objects.filter(until__gt=now, lifted_at=None).order_by().values("cluster", "node")
    ending = list(holding.annotate(last=Max("until")).filter(last__lte=now + SOON).order_by("last")[:READ])
    clusters = Cluster.objects.in_bulk({row["cluster"] for row in ending}) if ending else {}
    for row in ending:
        said = _("%(node)s is not left out any more") % {"node": row["node"]}
        yield NextStep(StepKind.NODE, clusters[row["cluster"]], said, row["last"], node=row["node"])


def _of_pauses(now: datetime, pauses: Iterable[Pause]) -> Iterator[NextStep]:
    for pause in pauses:
        if pause.until <= now + TODAY:
            what = name_of(pause.scope, pause.value, pause.cluster.name)
            said = _("Rekindle goes on with %(what)s") % {"what": what}
            note = f"{pause.owner}: {pause.reason}"
            yield NextStep(StepKind.PAUSE, pause.cluster, said, pause.until, pause=pause, note=note)


def _pause_of(job: Job, pauses: Iterable[Pause]) -> Pause | None:
    return next((one for one in pauses if one.cluster_id == job.cluster_id and covers(one, job)), None)


def _unanswered(line: AdviceLine) -> str:
    said = _("Nobody has answered whether to %(deed)s %(attempt)s: then nothing is done to it")
    return said % {"deed": _(line.operation.label).lower(), "attempt": line.advice.attempt.label}
