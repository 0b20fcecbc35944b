"""What is known of a cluster's sources before anybody judges it? Shapes only; times are aware, spans in seconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from detectors.signals.mapping import Mapped


@dataclass(frozen=True)
class Lines:
    """What a bounded sample of one job's lines shows.

    `count` is of lines that are not blank; `stamped` of those with a time, `zoned` with a time that names a zone.
    `backwards`: stamps more than a few seconds before the one before in the same stream. `shifts`: seconds by
    which the newest stamps of the streams stand ahead of the clock, as zones: `zone_shifts` where the lines name
    a zone themselves, `shifts` where they do not. `late`: what is left of that, so how old a stamp is when its
    line arrives. `ranked`, `hosted`: lines that tell their rank or host. `mapped`: ranks whose host is known.
    `dialect`: the counter that is believed; `steps` its lines that rose, `step` the newest. `saved`, `loaded`:
    steps of checkpoints. `gap`: usual seconds between step lines; `burst`: seconds whose lines lately came all at
    once. `odd`: a line that looks like progress in a form that nobody knows.
    """

    count: int = 0
    stamped: int = 0
    zoned: int = 0
    backwards: int = 0
    shifts: tuple[int, ...] = ()
    zone_shifts: tuple[int, ...] = ()
    late: float | None = None
    ranked: int = 0
    hosted: int = 0
    mapped: int = 0
    dialect: str = ""
    step: int | None = None
    steps: int = 0
    gap: float | None = None
    saved: int | None = None
    loaded: int | None = None
    burst: float = 0.0
    odd: str = ""


@dataclass(frozen=True)
class Stream:
    """One file or stream of a job: whether it can be read, and when it last grew."""

    name: str
    trouble: str = ""
    written_at: datetime | None = None


@dataclass(frozen=True)
class Labelled:
    """Labels of the lines of one job in a store, by what they are mapped to.

    `present`: lines that have the label; `fitting`: lines whose value fits the scheduler; `strange`: values that do
    not, a few of them.
    """

    label: str
    present: int = 0
    fitting: int = 0
    strange: tuple[str, ...] = ()


@dataclass(frozen=True)
class JobFacts:
    """One attempt.

    `tried`: every place looked at; `trouble`: why nothing could be looked at; `cut`: not all lines were looked at,
    as time or bytes were used up; `more`: streams beside those looked at.
    """

    number: int
    index: int
    running: bool
    started_at: datetime | None
    node_count: int
    streams: tuple[Stream, ...] = ()
    tried: tuple[str, ...] = ()
    trouble: str = ""
    cut: bool = False
    more: int = 0
    lines: Lines = field(default_factory=Lines)
    newest_at: datetime | None = None
    labels: Mapping[str, Labelled] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """`12345-0`."""
        return f"{self.number}-{self.index}"


@dataclass(frozen=True)
class SchedulerFacts:
    """What the scheduler said now.

    `ahead`: seconds by which its clock is ahead of ours; `trouble`: why it said nothing. `listed_at`: when its
    jobs were last listed; `unseen`: why they cannot be listed.
    """

    trouble: str = ""
    ahead: float | None = None
    listed_at: datetime | None = None
    unseen: str = ""


@dataclass(frozen=True)
class StoreFacts:
    """What the log store of a cluster shows. Empty `trouble`: it answered.

    `lines`: of the last minutes by the selector, `named` those with the mapped job label. `ahead_at`: a line that
    is dated in the future; `last_at`: the newest one of the last day where the last minutes are empty.
    `node_lines`: lines of nodes in the last hour, `None` when none are asked for; `node_known` those of a node of
    the scheduler, `node_strange` some values that are none.
    """

    title: str
    trouble: str = ""
    lines: int = 0
    named: int = 0
    cut: bool = False
    job_label: str = ""
    ahead_at: datetime | None = None
    last_at: datetime | None = None
    node_lines: int | None = None
    node_known: int = 0
    node_strange: tuple[str, ...] = ()
    node_label: str = ""
    node_trouble: str = ""
    mapped: Mapped | None = None


@dataclass(frozen=True)
class MetricFacts:
    """What a cluster's metrics show, in words. `answered`: anything at all; `whole`: all that is needed."""

    sentence: str
    answered: bool
    whole: bool


@dataclass(frozen=True)
class ClusterFacts:
    """A cluster and the jobs looked at.

    `roots`: log roots that cannot be read, each with the reason.
    `left_out`: running jobs that were not looked at; `metrics`: `None` where the cluster has none. `limits`: those
    of `workloads.limits`.
    """

    name: str
    now: datetime
    scheduler: SchedulerFacts
    limits: Mapping[str, float]
    jobs: tuple[JobFacts, ...] = ()
    left_out: int = 0
    rooted: bool = False
    roots: tuple[tuple[str, str], ...] = ()
    store: StoreFacts | None = None
    metrics: MetricFacts | None = None
