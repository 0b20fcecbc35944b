"""What does the policy know when it decides on one attempt?"""

from dataclasses import dataclass, field
from datetime import datetime

from detectors.attribution.action import VerdictAction
from detectors.attribution.ending import HOLD
from detectors.attribution.evidence_status import EvidenceStatus
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from schedulers.states import LIVE, WAITING, JobState
from workloads.mode import Mode


@dataclass(frozen=True)
class NamedNode:
    """A node of the attempt that the verdict names as a culprit and that may be excluded.

    `available`: the scheduler could place a job on it. `drained`: somebody has taken it out of use already.
    `witnessed`: something that the job cannot write says so as well.
    """

    host: str
    confidence: float
    available: bool = True
    drained: bool = False
    witnessed: bool = True


@dataclass(frozen=True)
class Excluded:
    """A node of the partition that is excluded at the moment. `weight`: see `policy/weights.py`.

    `by_own_log`: nothing but the logs of jobs of the same user as this one says why.
    """

    node: str
    available: bool = True
    weight: float = 1.0
    by_own_log: bool = False


@dataclass(frozen=True)
class Facts:
    """Everything the rules need. Built by `advisor_api.gathering`, stored as JSON with each advice."""

    # the attempt, in our words and in the scheduler's
    label: str
    state: JobState
    word: str = ""
    partition: str = ""
    node_count: int = 1  # nodes the job needs
    ended_at: datetime | None = None
    listed: bool = True  # the scheduler still lists the job
    newer_attempt: bool = False  # the scheduler, or somebody, has requeued it already
    command_given: bool = False  # a controller announced or did something for an earlier generation
    own: bool = False  # a job of Rekindle's own
    maintained: tuple[str, ...] = ()  # nodes of the attempt that are in a maintenance reservation now

    # what the verdict says
    kind: AnomalyKind = AnomalyKind.CRASH
    layer: Layer = Layer.UNKNOWN
    signature: str = ""
    action: VerdictAction = VerdictAction.RESTART
    evidence_status: EvidenceStatus = EvidenceStatus.UNKNOWN
    confidence: float = 0.0
    named: tuple[NamedNode, ...] = ()  # surest first
    newer_verdict: bool = False
    judged_seconds: float = 0.0  # since the verdict
    progressed_since: bool = False  # a step was seen after the verdict
    jobs_struck: int = 0  # by the shared cause that this failure belongs to; 0: it is no shared one

    # what earlier attempts came to (see policy/history.py)
    requeues: int = 0
    attempts_without_checkpoint: int = 0
    restarts_for_cause: int = 0
    failures_at_this_step: int = 0
    attempts_in_window: int = 0  # that began within the policy's window of attempts, this one included
    kill_failed: tuple[str, ...] = ()  # nodes of its attempts that the scheduler drained as a kill failed
    outer_retries: int = 0  # failed jobs of its name, user and folder before it, each replaced at once by the next
    resubmitted: bool = False  # another job of its name, user and folder was submitted after its end

    # the array that it is a task of (see policy/arrays.py): tasks that have started, and those that failed alike
    array_job: int | None = None
    array_tasks: int = 0
    array_failed: int = 0
    array_score: float = 0.0
    array_asked: bool = False  # a person is asked about the whole array already
    array_goes_on: bool = False  # a person was, and rejected to hold it

    # the checkpoint that it began from (see policy/history.py)
    checkpoint: int | None = None
    failures_at_loading: int = 0
    earlier_checkpoint: int | None = None  # the newest saved one before it

    # what the job wants
    requeue_allowed: bool = True
    max_requeue_times: int | None = None  # from its comment; only lowers the policy's cap

    # the cluster
    mode: Mode = Mode.MONITOR
    cannot_see: bool = False  # the scheduler does not answer
    blind: bool = False  # the attempt's log cannot be read
    min_job_age_seconds: int | None = None
    partition_size: int = 0
    partition_available: int = 0
    partition_restarts: int = 0  # in the partition within the policy's window: acted on, or handed out now
    user_restarts: int = 0  # the same for all jobs of its user
    excluded: tuple[Excluded, ...] = field(default=())  # active ones of the partition
    jitter: float = 0.0  # this attempt's own share of the ±20 % that keep restarts apart

    @property
    def live(self) -> bool:
        """Whether it still occupies nodes."""
        return self.state in LIVE

    @property
    def checkpoint_deaths(self) -> int:
        """How often it died alike at the same step, or before its first one."""
        return max(self.failures_at_loading, self.failures_at_this_step)

    @property
    def waiting(self) -> bool:
        """Whether it waits in the queue."""
        return self.state in WAITING

    @property
    def held_by_scheduler(self) -> bool:
        """Whether it waits because the scheduler itself holds it, and the verdict says so."""
        return self.state is JobState.HELD and self.signature == HOLD
