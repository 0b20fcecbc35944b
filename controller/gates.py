"""May anything be done at all? Every gate, with the sentence an operator reads when it is closed."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase

from controller.advice import Advice, ClusterGates, Mode, Pause
from controller.config import ControllerSettings, Settings, WatchdogSettings

LEASE_SECONDS = 25.0  # least time left when a command starts (decisions 22)
LONGEST_HOLD = timedelta(days=1)  # whatever an Advisor says, no job of ours stays held for longer


RIGHTS = (
    "Slurm lets its administrators alone write AdminComment, where a hold is marked as ours: SlurmUser, root, or a "
    "user with AdminLevel=Administrator; Operator is not enough"
)


@dataclass(frozen=True)
class Gate:
    """Open, or closed for the reason that `sentence` gives."""

    sentence: str = ""

    @property
    def open(self) -> bool:
        """Whether nothing speaks against acting."""
        return not self.sentence


OPEN = Gate()


def own_gate(own: ControllerSettings | WatchdogSettings, environment: str) -> Gate:
    """What this host's configuration alone allows."""
    return _first(
        (not own.enabled, "it is not enabled in its configuration (enabled = false)"),
        (own.mode is Mode.MONITOR, "its configuration allows monitor mode only"),
        (not own.acknowledge_scheduler_actions, "its configuration lacks acknowledgeSchedulerActions = true"),
        (
            not fnmatchcase(environment, own.environment_pattern),
            f"environment {environment!r} does not match environmentPattern {own.environment_pattern!r}",
        ),
    )


def carry_gate(settings: Settings, cluster: ClusterGates | None, advice: Advice, now: datetime) -> Gate:
    """Whether a job that we hold may be carried on. Without an Advisor our own gates count (decisions 22)."""
    own = own_gate(settings.controller, settings.environment)
    if not own.open or cluster is None:
        return own
    pause = next((pause for pause in cluster.pauses if pause.until > now and _covers(pause, advice)), None)
    return _first(
        (cluster.name != settings.cluster, f"the Advisor speaks of cluster {cluster.name!r}"),
        (advice.cluster != settings.cluster, f"the advice is for cluster {advice.cluster!r}"),
        (
            cluster.environment != settings.environment,
            f"the Advisor says that the environment is {cluster.environment!r}, the configuration "
            f"{settings.environment!r}",
        ),
        (cluster.mode is Mode.MONITOR, "the cluster is in monitor mode"),
        (not cluster.acknowledged, "acknowledgeSchedulerActions is not given for the cluster"),
        (pause is not None, f"paused: {pause.reason if pause else ''}"),
    )


def start_gate(settings: Settings, cluster: ClusterGates | None, advice: Advice, now: datetime) -> Gate:
    """Whether something new may be begun for this advice."""
    if cluster is None:
        return Gate("the Advisor does not answer, and nothing new is begun without it")
    carried = carry_gate(settings, cluster, advice, now)
    if not carried.open:
        return carried
    mode = min(settings.controller.mode, cluster.mode, key=list(Mode).index)
    return _first(
        (not advice.may_be_acted_on, f"the Advisor says no: {advice.why_not or 'without a reason'}"),
        (now >= advice.expires_at, "the advice has expired"),
        (
            advice.hold_until > now + LONGEST_HOLD,
            f"the advice would let it be held until {advice.hold_until:%Y-%m-%dT%H:%M:%SZ}, and more than a day is "
            "refused",
        ),
        (
            advice.environment != settings.environment,
            f"the advice is for environment {advice.environment!r}",
        ),
        (
            mode is Mode.APPROVE and advice.mode_at_decision is not Mode.APPROVE,
            f"only approved advice is carried out, and this one was decided in {advice.mode_at_decision} mode",
        ),
        (
            not _allowed(settings.controller.partitions, advice.partition),
            f"partition {advice.partition!r} is not in the configuration's list",
        ),
        (
            not _allowed(cluster.partitions, advice.partition),
            f"partition {advice.partition!r} is not in the cluster's list",
        ),
    )


def partition_gate(settings: Settings, partition: str) -> Gate:
    """Whether this host's list has the partition that the scheduler shows, whatever the advice says of it."""
    if _allowed(settings.controller.partitions, partition):
        return OPEN
    return Gate(f"the job's partition {partition!r} is not in the configuration's list")


def mark_gate(said: str) -> Gate:
    """Whether a hold can be marked as ours. `said`: how the scheduler refused the last mark, "" when it did not."""
    if not said:
        return OPEN
    return Gate(
        f"the scheduler refused to mark a job that we held ({said}). {RIGHTS}. "
        "Nothing new is begun until the controller is restarted"
    )


def lease_gate(seconds_left: float) -> Gate:
    """Whether enough of the lease is left to start a command."""
    if seconds_left >= LEASE_SECONDS:
        return OPEN
    return Gate(f"only {max(seconds_left, 0):.0f} s of the lease are left, a command needs {LEASE_SECONDS:.0f} s")


def _covers(pause: Pause, advice: Advice) -> bool:
    """Whether a pause touches this advice; a scope nobody knows touches everything."""
    values = {"partition": advice.partition, "user": advice.user, "job": str(advice.job)}
    return pause.value in values[pause.scope].split(",") if pause.scope in values else True


def _allowed(partitions: tuple[str, ...], asked: str) -> bool:
    """Whether all partitions a job asks for (`a` or `a,b`) are on the list; an empty list allows all."""
    return not partitions or set(asked.split(",")) <= set(partitions)


def _first(*reasons: tuple[bool, str]) -> Gate:
    return next((Gate(sentence) for closed, sentence in reasons if closed), OPEN)
