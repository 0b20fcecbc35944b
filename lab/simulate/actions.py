"""What may an administrator do to a job or a node, and when does Slurm refuse it?

Each function does the whole of it or raises `Refused` and changes nothing. The sentences are Slurm's own.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence

from lab.simulate.hostlist import expand
from lab.simulate.jobs import PENDING, REQUEUED_HELD, RUNNING, SUSPENDED, Job
from lab.simulate.model import Cluster
from lab.simulate.nodes import Node
from lab.simulate.play import LONGEST_COMMENT
from lab.simulate.scheduling import BAD_CONSTRAINTS

ANSWER_SECONDS = 0.5  # a resumed node is `idle*` until it answers
INVALID_JOB = "Invalid job id specified"
FINISHED = "Job has already finished"
NOT_PENDING = "Job is no longer pending execution"
INVALID_NODE = "Invalid node name specified"
UNITS = {"": 1, "second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}


class Refused(Exception):
    """Slurm says no; the text is its reason."""


class Unreadable(Exception):
    """The client itself refuses the arguments; the text is all it prints."""


def is_number(word: str) -> bool:
    """Whether it is a job's number, or a task's `900_3`."""
    return re.fullmatch(r"[0-9]{1,18}(_[0-9]{1,18})?", word) is not None


def job_called(cluster: Cluster, word: str) -> Job | None:
    """The job with this number, or the newest task with this place in its array."""
    if "_" not in word:
        return cluster.jobs.get(int(word))
    number, _, place = word.partition("_")
    wanted = int(number), int(place)
    tasks = [job for job in cluster.jobs.values() if (job.play.array_job, job.play.array_task) == wanted]
    return tasks[-1] if tasks else None


def jobs_called(cluster: Cluster, word: str) -> list[Job]:
    """The job, or the whole array, with this number."""
    whole = [job for job in cluster.jobs.values() if "_" not in word and job.array_job == int(word)]
    job = job_called(cluster, word)
    return whole or ([job] if job else [])


def named(words: Sequence[str]) -> list[str]:
    """The jobs that arguments like `7,900_[4-6,9]` name, one by one."""
    found = []
    for word in ",".join(words).replace("[", "\0[").split("\0"):
        inside, bracket, behind = word.partition("]")
        if not bracket:
            found += [part for part in word.split(",") if part]
            continue
        head = found.pop() if found else ""
        for span in inside.removeprefix("[").split(","):
            first, _, last = span.partition("-")
            if not first.isdigit() or not (last or first).isdigit():
                raise Refused(INVALID_JOB)
            found += [
                f"{head}{place}" for place in range(int(first), min(int(last or first), int(first) + 99_999) + 1)
            ]
        found += [part for part in behind.split(",") if part]
    return found


def find(cluster: Cluster, word: str) -> Job:
    """The job that an argument names."""
    job = job_called(cluster, word) if is_number(word) else None
    if job is None:
        raise Refused(INVALID_JOB)
    return job


def requeue(cluster: Cluster, job: Job, *, hold: bool, special: bool, incomplete: bool) -> None:
    """`scontrol requeue` and `requeuehold`. With `incomplete` only a running job is touched (observed)."""
    if incomplete and job.state not in (RUNNING, SUSPENDED):
        return
    if not job.requeue_allowed:
        raise Refused("Requested operation is presently disabled")
    if job.state == PENDING:
        raise Refused("Job is pending execution")
    cluster.requeue(job, hold=hold, special=special)


def hold(cluster: Cluster, job: Job, reason: str) -> None:
    """`scontrol hold` and `uhold`. On top of a requeuehold it leaves no trace (decisions 12)."""
    if job.finished:
        raise Refused(FINISHED)
    if job.priority == 0 and job.reason == REQUEUED_HELD:
        return
    job.priority, job.reason, job.eligible_at = 0, reason, None


def release(cluster: Cluster, job: Job) -> None:
    """`scontrol release`: without effect on a job that is not held."""
    if job.finished:
        raise Refused(FINISHED)
    if job.priority:
        return
    job.priority, job.reason, job.special_exit = cluster.next_priority(), "None", False
    job.kept_priority = job.exit_code = job.exit_signal = 0
    if job.eligible_at is None and not job.completing:
        job.eligible_at = int(cluster.now)
    cluster.request_cycle()


def update_job(cluster: Cluster, job: Job, changes: Mapping[str, str]) -> None:
    """`scontrol update JobId=…`; keys in lower case. One refused change refuses all."""
    if job.finished:
        raise Refused(FINISHED)
    for key, value in changes.items():
        CHANGES[key][0](cluster, job, value)
    for key, value in changes.items():
        CHANGES[key][1](cluster, job, value)
    cluster.request_cycle()


def _anything(cluster: Cluster, job: Job, value: str) -> None:
    return


def _fits(cluster: Cluster, job: Job, value: str) -> None:
    if len(value.encode("utf-8", "replace")) > LONGEST_COMMENT:
        raise Refused("Pathname of a file, directory or other parameter too long")


def _waits(cluster: Cluster, job: Job, value: str) -> None:
    if job.state != PENDING:
        raise Refused(NOT_PENDING)


def _known_nodes(cluster: Cluster, job: Job, value: str) -> None:
    _waits(cluster, job, value)
    names = _expanded(value)
    if names is None or not set(names) <= set(cluster.nodes):
        raise Refused(INVALID_NODE)


def _not_held(cluster: Cluster, job: Job, value: str) -> None:
    if int(value) and not job.priority:
        raise Refused("Job is in held state, pending scheduler release")


def _set_comment(cluster: Cluster, job: Job, value: str) -> None:
    job.comment = value


def _set_admin_comment(cluster: Cluster, job: Job, value: str) -> None:
    job.admin_comment = value


def _set_excluded(cluster: Cluster, job: Job, value: str) -> None:
    job.excluded = value
    _think_again(job)


def _set_required(cluster: Cluster, job: Job, value: str) -> None:
    job.required = value
    _think_again(job)


def _think_again(job: Job) -> None:
    if job.reason == BAD_CONSTRAINTS:
        job.priority, job.kept_priority, job.reason = job.kept_priority, 0, "None"


def _set_requeue(cluster: Cluster, job: Job, value: str) -> None:
    job.requeue_allowed = bool(int(value))


def _set_name(cluster: Cluster, job: Job, value: str) -> None:
    job.name = value


def _set_start(cluster: Cluster, job: Job, value: str) -> None:
    job.begin_at = begin_time(value, cluster.clock_at(cluster.now)) - cluster.ahead
    job.eligible_at = int(job.begin_at)
    job.starts_at = job.eligible_at if job.begin_at > cluster.now else None
    # So soon after the requeue the node still holds the revoked credential of the old attempt (slurm.md 0.2).
    job.rushed = job.restarts > 0 and not job.completing and job.begin_at < job.began_at + 1


def _set_limit(cluster: Cluster, job: Job, value: str) -> None:
    job.time_limit_seconds = limit_seconds(value)
    cluster.watch_limit(job)


def _set_priority(cluster: Cluster, job: Job, value: str) -> None:
    if int(value):
        job.priority = int(value)
    else:
        hold(cluster, job, "JobHeldAdmin")


Change = Callable[[Cluster, Job, str], None]
CHANGES: dict[str, tuple[Change, Change]] = {
    "excnodelist": (_known_nodes, _set_excluded),
    "reqnodelist": (_known_nodes, _set_required),
    "comment": (_fits, _set_comment),
    "admincomment": (_anything, _set_admin_comment),
    "requeue": (_anything, _set_requeue),
    "starttime": (_waits, _set_start),
    "timelimit": (_anything, _set_limit),
    "priority": (_not_held, _set_priority),
    "jobname": (_anything, _set_name),
    "name": (_anything, _set_name),
}


def readable(key: str, value: str, now: float) -> None:
    """Raises `Unreadable` for a value that scontrol does not even send."""
    if key in ("requeue", "priority") and not re.fullmatch(r"[0-9]{1,9}", value):
        raise Unreadable(f"Invalid numeric value '{value[:80]}'\nRequest aborted\n")
    try:
        if key == "starttime":
            begin_time(value, now)
        elif key == "timelimit":
            limit_seconds(value)
    except ValueError as error:
        raise Unreadable(f"{error}\nNo changes specified\n") from None


def begin_time(text: str, now: float) -> float:
    """`now`, `now+2`, `now+5minutes`, `uts1777622400` or `2026-05-01T10:00:00` in epoch seconds."""
    if since_1970 := re.fullmatch(r"uts([0-9]{1,10})", text):
        return float(since_1970[1])
    told = re.fullmatch(r"now(?:\+([0-9]{1,9}) ?([a-z]*?)s?)?", text)
    if told and (told[2] or "") in UNITS:
        return now + int(told[1] or 0) * UNITS[told[2] or ""]
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))
    except (ValueError, OverflowError):
        raise ValueError(f"Invalid time specification (pos=0): {text[:80]}") from None


def limit_seconds(text: str) -> int:
    """`5` (minutes), `1:30` (minutes, seconds), `1:00:00`, or `UNLIMITED`, which is 0."""
    if text.lower() in ("unlimited", "infinite", "-1"):
        return 0
    if not re.fullmatch(r"[0-9]{1,6}(?::[0-9]{1,2}){0,2}", text):
        raise ValueError(f"Invalid TimeLimit value '{text[:80]}'")
    parts = [int(part) for part in text.split(":")]
    if len(parts) == 3:
        return parts[0] * 3600 + parts[1] * 60 + parts[2]
    return parts[0] * 60 + (parts[1] if len(parts) == 2 else 0)


def update_nodes(cluster: Cluster, listed: str, state: str, reason: str | None) -> None:
    """`scontrol update NodeName=…`; `state` in upper case or empty when only the reason changes."""
    names = _expanded(listed)
    if not names or not set(names) <= set(cluster.nodes):
        raise Refused(INVALID_NODE)
    nodes = [cluster.nodes[name] for name in names]
    if state == "RESUME" and not all(node.down or node.drained or node.failing for node in nodes):
        raise Refused("Invalid node state specified")
    for node in nodes:
        if state:
            NODE_STATES[state](cluster, node)
        if reason is not None and state not in ("RESUME", "UNDRAIN"):
            node.reason, node.reason_at = reason, int(cluster.now)
    cluster.request_cycle()


def _drain(cluster: Cluster, node: Node) -> None:
    node.drained = True


def _fail(cluster: Cluster, node: Node) -> None:
    node.failing = True


def _down(cluster: Cluster, node: Node) -> None:
    node.down = True
    cluster.fail_jobs(node, 0)


def _resume(cluster: Cluster, node: Node) -> None:
    node.down = node.drained = node.failing = False
    _ask(cluster, node)


def _undrain(cluster: Cluster, node: Node) -> None:
    if node.drained:
        node.drained = False
        _ask(cluster, node)


def _ask(cluster: Cluster, node: Node) -> None:
    node.reason, node.reason_at, node.responding = "", 0, False
    cluster.agenda.after(ANSWER_SECONDS, _answer, cluster, node)


def _answer(cluster: Cluster, node: Node) -> None:
    if not node.lost:
        node.responding = True
        cluster.request_cycle()


NODE_STATES: dict[str, Callable[[Cluster, Node], None]] = {
    "DRAIN": _drain,
    "DOWN": _down,
    "FAIL": _fail,
    "RESUME": _resume,
    "UNDRAIN": _undrain,
}
NEED_REASON = frozenset({"DRAIN", "DOWN", "FAIL"})


def _expanded(listed: str) -> Sequence[str] | None:
    try:
        return expand(listed)
    except ValueError:
        return None
