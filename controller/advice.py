"""What does the Advisor say, in our words and within bounds?

Everything here arrives over the network or from the journal, so every field is checked before it becomes a
value: names cannot leave a node list, numbers stay numbers, and times carry their zone.
"""

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NODE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253})")
LARGEST_NUMBER = 2**63 - 1
MOST_NODES = 4096
TEXT_LIMIT = 1000  # characters of a free text field; the rest is cut
YEARS = range(2000, 2200)  # further away nobody can count, and our mark has no room for it


class BadAnswer(ValueError):
    """The Advisor said something that cannot be understood; the sentence names the field."""


class Operation(enum.StrEnum):
    """What should happen to the attempt. WAIT is never served (advisor-api: operations)."""

    RESTART = "RECOVERY_OPERATION_RESTART"
    TERMINATE = "RECOVERY_OPERATION_TERMINATE"
    RELEASE = "RECOVERY_OPERATION_DAG_RELEASE"


class Mode(enum.StrEnum):
    """What may be done on a cluster, in rising order. `observe` means the same as `monitor`."""

    MONITOR = "monitor"
    APPROVE = "approve"
    ACTION = "action"

    @classmethod
    def read(cls, text: object) -> "Mode":
        """The mode that `text` names; `ValueError` otherwise."""
        return cls.MONITOR if text == "observe" else cls(str(text))


class Disposition(enum.StrEnum):
    """What became of an advice; the values are the words of the public API."""

    CONVERGED = "ADVICE_RECONCILIATION_DISPOSITION_CONVERGED"
    ABANDONED = "ADVICE_RECONCILIATION_DISPOSITION_ABANDONED"


class Reason(enum.StrEnum):
    """Why it became so; sent with the prefix ADVICE_RECONCILIATION_REASON_."""

    DESIRED_STATE_OBSERVED = "DESIRED_STATE_OBSERVED"
    ALREADY_SATISFIED = "ALREADY_SATISFIED"
    ADVICE_EXPIRED = "ADVICE_EXPIRED"
    SUPERSEDED = "SUPERSEDED"
    JOB_GONE = "JOB_GONE"
    REFUSED_BY_SCHEDULER = "REFUSED_BY_SCHEDULER"
    GATE_CLOSED = "GATE_CLOSED"
    CANCELLED_BY_USER = "CANCELLED_BY_USER"


@dataclass(frozen=True)
class Advice:
    """One decision about one attempt. Times are aware UTC; `attempt` is the restart count it speaks of."""

    advice_id: str  # heimdallJobId
    generation: int
    job: int
    attempt: int
    cluster: str
    environment: str
    partition: str
    user: str
    operation: Operation
    excluded_nodes: tuple[str, ...]
    submitted_at: datetime | None
    not_before: datetime
    hold_until: datetime
    expires_at: datetime
    mode_at_decision: Mode
    may_be_acted_on: bool
    why_not: str
    sequence_id: str
    traceparent: str
    reason: str
    array_job: int | None = None  # the array whose waiting tasks should leave out the same nodes

    @property
    def key(self) -> tuple[str, int]:
        """Which advice this is: attempt and generation."""
        return self.advice_id, self.generation

    def __str__(self) -> str:
        return f"job {self.job}-{self.attempt} g{self.generation}"


@dataclass(frozen=True)
class Pause:
    """Nothing is done in this scope until then."""

    scope: str
    value: str
    until: datetime
    reason: str


@dataclass(frozen=True)
class ClusterGates:
    """What the Advisor's side allows on the cluster."""

    name: str
    environment: str
    mode: Mode
    acknowledged: bool
    partitions: tuple[str, ...]
    pauses: tuple[Pause, ...]


@dataclass(frozen=True)
class LeaseAnswer:
    """The lease as granted: its fencing number, how long it lasts, and the Advisor's clock."""

    holder: str
    fence: int
    seconds: float
    now: datetime


def read_advice(item: object) -> Advice:
    """One advice of the list, or of the journal. Raises `BadAnswer`."""
    fields = _table(item, "advice")
    observed = _table(fields.get("observedState") or {}, "observedState")
    constraints = _table(fields.get("nodeConstraints") or {}, "nodeConstraints")
    trace = _table(fields.get("traceContext") or {}, "traceContext")
    submitted, array = observed.get("submittedAt"), constraints.get("waitingTasksOf")
    return Advice(
        advice_id=_uuid(fields, "heimdallJobId"),
        generation=_whole(fields.get("generation"), "generation", lowest=1),
        job=_whole(fields.get("jobId"), "jobId", lowest=1),
        attempt=_whole(fields.get("attemptIndex", 0), "attemptIndex"),
        cluster=_text(fields, "cluster"),
        environment=_text(fields, "environment"),
        partition=_text(fields, "partition"),
        user=_text(fields, "user"),
        operation=_operation(fields.get("operation")),
        excluded_nodes=_nodes(constraints.get("excludedNodes") or []),
        submitted_at=None if submitted is None else read_time(submitted, "submittedAt"),
        not_before=read_time(fields.get("notBefore"), "notBefore"),
        hold_until=read_time(fields.get("holdUntil"), "holdUntil"),
        expires_at=read_time(fields.get("expiresAt"), "expiresAt"),
        mode_at_decision=_mode(fields.get("modeAtDecision"), "modeAtDecision"),
        may_be_acted_on=fields.get("mayBeActedOn") is True,
        why_not=_text(fields, "whyNot"),
        sequence_id=_uuid(fields, "sequenceId"),
        traceparent=_text(trace, "traceparent"),
        reason=_text(fields, "reason"),
        array_job=None if array is None else _whole(array, "waitingTasksOf", lowest=1),
    )


def as_record(advice: Advice) -> dict[str, Any]:
    """The advice in the Advisor's own shape, so that `read_advice` reads it back."""
    submitted = advice.submitted_at
    return {
        "heimdallJobId": advice.advice_id,
        "generation": str(advice.generation),
        "jobId": str(advice.job),
        "attemptIndex": advice.attempt,
        "cluster": advice.cluster,
        "environment": advice.environment,
        "partition": advice.partition,
        "user": advice.user,
        "operation": advice.operation.value,
        "nodeConstraints": {
            "excludedNodes": list(advice.excluded_nodes),
            "waitingTasksOf": None if advice.array_job is None else str(advice.array_job),
        },
        "observedState": {"submittedAt": submitted and write_time(submitted)},
        "notBefore": write_time(advice.not_before),
        "holdUntil": write_time(advice.hold_until),
        "expiresAt": write_time(advice.expires_at),
        "modeAtDecision": advice.mode_at_decision.value,
        "mayBeActedOn": advice.may_be_acted_on,
        "whyNot": advice.why_not,
        "sequenceId": advice.sequence_id,
        "traceContext": {"traceparent": advice.traceparent},
        "reason": advice.reason,
    }


def read_excluded(item: object) -> str:
    """The node of one exclusion of the Advisor's list. Raises `BadAnswer`."""
    (node,) = _nodes([_table(item, "exclusion").get("node")])
    return node


def read_cluster(item: object) -> ClusterGates:
    """The cluster with its gates. Raises `BadAnswer`."""
    fields = _table(item, "cluster")
    partitions = fields.get("partitions") or []
    if not isinstance(partitions, list) or not all(isinstance(name, str) for name in partitions):
        raise BadAnswer("partitions is no list of names")
    pauses = fields.get("pauses") or []
    if not isinstance(pauses, list):
        raise BadAnswer("pauses is no list")
    return ClusterGates(
        name=_text(fields, "name"),
        environment=_text(fields, "environment"),
        mode=_mode(fields.get("mode"), "mode"),
        acknowledged=fields.get("acknowledgeSchedulerActions") is True,
        partitions=tuple(partitions),
        pauses=tuple(_pause(pause) for pause in pauses),
    )


def read_lease(item: object) -> LeaseAnswer:
    """The lease just granted. Raises `BadAnswer`; its length never counts as more than 60 s (decisions 22)."""
    fields = _table(item, "lease")
    now = read_time(fields.get("now"), "now")
    seconds = (read_time(fields.get("until"), "until") - now).total_seconds()
    fence = _whole(fields.get("fence"), "fence", lowest=1)
    return LeaseAnswer(_text(fields, "holder"), fence, min(seconds, 60.0), now)


def read_time(text: object, name: str) -> datetime:
    """An RFC 3339 time with its zone, in one of `YEARS`, as UTC. Raises `BadAnswer`."""
    try:
        moment = datetime.fromisoformat(text if isinstance(text, str) else "")
        if moment.tzinfo is None or moment.year not in YEARS:
            raise ValueError(name)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise BadAnswer(f"{name} is no time with a zone, or beyond all years that count") from error


def write_time(moment: datetime) -> str:
    """RFC 3339 in UTC with "Z"."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _pause(item: object) -> Pause:
    fields = _table(item, "pause")
    until = read_time(fields.get("until"), "pause until")
    return Pause(_text(fields, "scope"), _text(fields, "value"), until, _text(fields, "reason"))


def _table(item: object, name: str) -> Mapping[str, Any]:
    if not isinstance(item, dict):
        raise BadAnswer(f"{name} is no object")
    return item


def _text(fields: Mapping[str, Any], name: str) -> str:
    text = fields.get(name)
    if text is not None and not isinstance(text, str):
        raise BadAnswer(f"{name} is no text")
    return (text or "")[:TEXT_LIMIT]


def _uuid(fields: Mapping[str, Any], name: str) -> str:
    text = _text(fields, name).lower()
    if not UUID.fullmatch(text):
        raise BadAnswer(f"{name} is no UUID")
    return text


def _whole(number: object, name: str, lowest: int = 0) -> int:
    if isinstance(number, str) and len(number) < 20 and number.isascii() and number.isdigit():
        number = int(number)
    if isinstance(number, bool) or not isinstance(number, int) or not lowest <= number <= LARGEST_NUMBER:
        raise BadAnswer(f"{name} is no whole number of {lowest} or more")
    return number


def _nodes(names: object) -> tuple[str, ...]:
    if not isinstance(names, list) or len(names) > MOST_NODES:
        raise BadAnswer(f"excludedNodes is no list of at most {MOST_NODES} names")
    for name in names:
        if not isinstance(name, str) or not NODE.fullmatch(name):
            raise BadAnswer("excludedNodes holds something that is no node name")
    return tuple(sorted(set(names)))


def _operation(text: object) -> Operation:
    try:
        return Operation(str(text))
    except ValueError as error:
        raise BadAnswer(f"operation is none of {', '.join(Operation)}") from error


def _mode(text: object, name: str) -> Mode:
    try:
        return Mode.read(text)
    except ValueError as error:
        raise BadAnswer(f"{name} is none of {', '.join(Mode)}") from error
