"""What does squeue print?"""

from collections.abc import Sequence
from dataclasses import dataclass

from lab.simulate.hostlist import fold
from lab.simulate.jobs import FINAL, PENDING, RUNNING, SUSPENDED, Job
from lab.simulate.model import Cluster
from lab.simulate.slurm.columns import Field, Layout, long_layout, short_layout
from lab.simulate.slurm.options import VERSION, Answer, Options, read
from lab.simulate.times import moment, short_span

KNOWN = {
    "noheader": "h",
    "all": "a",
    "array": "r",
    "states=": "t",
    "jobs=": "j",
    "user=": "u",
    "partition=": "p",
    "name=": "n",
    "format=": "o",
    "Format=": "O",
    "version": "V",
}
DEFAULT = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
COMPACT = {
    "PENDING": "PD",
    "RUNNING": "R",
    "SUSPENDED": "S",
    "COMPLETING": "CG",
    "COMPLETED": "CD",
    "FAILED": "F",
    "CANCELLED": "CA",
    "TIMEOUT": "TO",
    "NODE_FAIL": "NF",
    "OUT_OF_MEMORY": "OOM",
    "PREEMPTED": "PR",
    "SPECIAL_EXIT": "SE",
}
OTHER_STATES = {
    "BOOT_FAIL": "BF",
    "DEADLINE": "DL",
    "CONFIGURING": "CF",
    "RESIZING": "RS",
    "RESV_DEL_HOLD": "RD",
    "REQUEUED": "RQ",
    "REQUEUE_FED": "RF",
    "REQUEUE_HOLD": "RH",
    "REVOKED": "RV",
    "SIGNALING": "SI",
    "STAGE_OUT": "SO",
    "STOPPED": "ST",
}
VALID_STATES = (
    "PENDING,RUNNING,SUSPENDED,COMPLETED,CANCELLED,FAILED,TIMEOUT,NODE_FAIL,PREEMPTED,BOOT_FAIL,DEADLINE,"
    "OUT_OF_MEMORY,COMPLETING,CONFIGURING,RESIZING,RESV_DEL_HOLD,REQUEUED,REQUEUE_FED,REQUEUE_HOLD,REVOKED,"
    "SIGNALING,SPECIAL_EXIT,STAGE_OUT,STOPPED"
)


@dataclass(frozen=True, slots=True)
class Seen:
    """A job as it is seen now by a client with this time format."""

    job: Job
    cluster: Cluster
    time_format: str

    @property
    def requeued_ending(self) -> bool:
        """COMPLETING after a requeue: its times belong half to the next attempt."""
        return self.job.completing and self.job.state == PENDING

    @property
    def starts_at(self) -> float | None:
        """Start, or planned start; the time itself while the processes of a requeued attempt end (observed)."""
        return self.cluster.now if self.requeued_ending else self.job.starts_at

    @property
    def ends_at(self) -> float | None:
        """End, or planned end when there is a time limit."""
        job, starts_at = self.job, self.starts_at
        if job.ended_at is not None or starts_at is None or not job.time_limit_seconds:
            return job.ended_at
        return starts_at + job.time_limit_seconds

    @property
    def run_seconds(self) -> int:
        """How long it runs or ran."""
        job = self.job
        if job.starts_at is None or job.state == PENDING or not job.nodes:
            return 0
        return (int(self.cluster.now) if job.ended_at is None else job.ended_at) - job.starts_at

    def time(self, at: float | None, nothing: str = "N/A") -> str:
        """A time in the client's format."""
        return moment(at, self.time_format, nothing)

    def end_time(self) -> str:
        """A job without time limit shows NONE, one without any plan N/A (observed)."""
        return self.time(self.ends_at, "N/A" if self.starts_at is None else "NONE")

    def nodes(self) -> str:
        """The node list."""
        return fold(self.job.shown_nodes)

    def nodes_or_reason(self) -> str:
        """The reason in brackets while it waits."""
        waits = self.job.state == PENDING and not self.job.completing
        return f"({self.job.reason})" if waits else self.nodes()

    def left(self) -> str:
        """What is left of the time limit."""
        limit = self.job.time_limit_seconds
        return short_span(limit - self.run_seconds) if limit else "UNLIMITED"

    def output(self) -> str:
        """The pattern, not expanded (observed)."""
        return f"{self.cluster.logs.folder}/{self.job.play.output}"


def _text(value: str | None) -> str:
    return "(null)" if value is None else value


LONG: dict[str, Field[Seen]] = {
    "account": Field("ACCOUNT", lambda seen: seen.job.play.account),
    "admin_comment": Field("ADMIN_COMMENT", lambda seen: _text(seen.job.admin_comment)),
    "arrayjobid": Field("ARRAY_JOB_ID", lambda seen: str(seen.job.array_job)),
    "arraytaskid": Field("ARRAY_TASK_ID", lambda seen: seen.job.array_task),
    "batchflag": Field("BATCH_FLAG", lambda seen: "1"),
    "batchhost": Field("EXEC_HOST", lambda seen: seen.job.batch_host or "n/a"),
    "command": Field("COMMAND", lambda seen: "(null)"),
    "comment": Field("COMMENT", lambda seen: _text(seen.job.comment)),
    "dependency": Field("DEPENDENCY", lambda seen: "(null)"),
    "eligibletime": Field("ELIGIBLE_TIME", lambda seen: seen.time(seen.job.eligible_at)),
    "endtime": Field("END_TIME", Seen.end_time),
    "exit_code": Field("EXIT_CODE", lambda seen: str(seen.job.exit_code << 8 | seen.job.exit_signal)),
    "groupname": Field("GROUP", lambda seen: seen.job.play.user),
    "hetjobid": Field("HET_JOB_ID", lambda seen: "N/A"),
    "hetjoboffset": Field("HET_JOB_OFFSET", lambda seen: "N/A"),
    "jobarrayid": Field("JOBID", lambda seen: seen.job.shown_number),
    "jobid": Field("JOBID", lambda seen: str(seen.job.number)),
    "name": Field("NAME", lambda seen: seen.job.name),
    "nice": Field("NICE", lambda seen: "0"),
    "nodelist": Field("NODELIST", Seen.nodes),
    "numcpus": Field("CPUS", lambda seen: str(seen.job.shown_node_count)),
    "numnodes": Field("NODES", lambda seen: str(seen.job.shown_node_count)),
    "numtasks": Field("TASKS", lambda seen: str(seen.job.shown_node_count)),
    "partition": Field("PARTITION", lambda seen: seen.job.partition),
    "priority": Field("PRIORITY", lambda seen: f"{seen.job.priority / 2**32:.14f}"),
    "prioritylong": Field("PRIORITY", lambda seen: str(seen.job.priority)),
    "qos": Field("QOS", lambda seen: "normal"),
    "reason": Field("REASON", lambda seen: seen.job.reason),
    "reasonlist": Field("NODELIST(REASON)", Seen.nodes_or_reason),
    "reqnodes": Field("REQ_NODES", lambda seen: seen.job.required),
    "requeue": Field("REQUEUE", lambda seen: str(int(seen.job.requeue_allowed))),
    "restartcnt": Field("RESTART_COUNT", lambda seen: str(seen.job.restarts)),
    "starttime": Field("START_TIME", lambda seen: seen.time(seen.starts_at)),
    "state": Field("STATE", lambda seen: seen.job.word),
    "statecompact": Field("ST", lambda seen: COMPACT[seen.job.word]),
    "stderr": Field("STDERR", Seen.output),
    "stdin": Field("STDIN", lambda seen: "/dev/null"),
    "stdout": Field("STDOUT", Seen.output),
    "submittime": Field("SUBMIT_TIME", lambda seen: seen.time(seen.job.submitted_at)),
    "system_comment": Field("SYSTEM_COMMENT", lambda seen: "(null)"),
    "timeleft": Field("TIME_LEFT", Seen.left),
    "timelimit": Field(
        "TIME_LIMIT",
        lambda seen: short_span(seen.job.time_limit_seconds) if seen.job.time_limit_seconds else "UNLIMITED",
    ),
    "timeused": Field("TIME", lambda seen: short_span(seen.run_seconds)),
    "userid": Field("UID", lambda seen: str(seen.job.user_id)),
    "username": Field("USER", lambda seen: seen.job.play.user),
    "wckey": Field("WCKEY", lambda seen: "(null)"),
    "workdir": Field("WORK_DIR", lambda seen: seen.cluster.logs.folder),
}
SHORT: dict[str, Field[Seen]] = {
    letter: LONG[name]
    for letter, name in {
        "A": "jobid",
        "B": "batchhost",
        "C": "numcpus",
        "D": "numnodes",
        "E": "dependency",
        "F": "arrayjobid",
        "K": "arraytaskid",
        "L": "timeleft",
        "M": "timeused",
        "N": "nodelist",
        "P": "partition",
        "Q": "prioritylong",
        "R": "reasonlist",
        "S": "starttime",
        "T": "state",
        "U": "userid",
        "V": "submittime",
        "Z": "workdir",
        "a": "account",
        "e": "endtime",
        "g": "groupname",
        "i": "jobarrayid",
        "j": "name",
        "k": "comment",
        "l": "timelimit",
        "n": "reqnodes",
        "o": "command",
        "p": "priority",
        "q": "qos",
        "r": "reason",
        "t": "statecompact",
        "u": "username",
        "y": "nice",
    }.items()
} | {"x": Field("EXC_NODES", lambda seen: seen.job.excluded)}


def squeue(cluster: Cluster, argv: Sequence[str], time_format: str) -> Answer:
    """The answer of `squeue` with these arguments."""
    options = read("squeue", argv, KNOWN)
    if options.has("version"):
        return 0, f"slurm-wlm {VERSION}\n", ""
    if wrong := _wrong_values(cluster, options):
        return 1, "", wrong
    layout = _layout(options)
    jobs = [job for job in cluster.jobs.values() if _wanted(job, options)]
    jobs.sort(key=lambda job: (job.partition, job.word, -job.priority))
    rows = [Seen(job, cluster, time_format) for job in jobs]
    return 0, layout.table(rows, not options.has("noheader")), "".join(layout.complaints)


def _layout(options: Options) -> Layout[Seen]:
    if options.has("Format"):
        return long_layout(options.get("Format"), LONG, "squeue")
    return short_layout(options.get("format", DEFAULT), SHORT, "squeue")


def _wrong_values(cluster: Cluster, options: Options) -> str:
    known = {*COMPACT, *COMPACT.values(), *OTHER_STATES, *OTHER_STATES.values(), "ALL"}
    for word in options.listed("states"):
        if word.upper() not in known:
            return (
                f"squeue: error: Invalid job state specified: {word}\n"
                f"squeue: error: Valid job states include: {VALID_STATES}\n\n"
            )
    numbers = options.listed("jobs")
    for word in numbers:
        if not (word.isascii() and word.isdigit() and len(word) <= 18):
            return f"squeue: error: Invalid job id: {word}\n"
    known_ones = (*cluster.jobs, *(job.array_job for job in cluster.jobs.values()))
    if len(numbers) == 1 and int(numbers[0]) not in known_ones:  # several at once stay silent (observed)
        return "slurm_load_jobs error: Invalid job id specified\n"
    return ""


def _wanted(job: Job, options: Options) -> bool:
    states = {word.upper() for word in options.listed("states")}
    if not states:
        by_state = job.completing or job.state in (PENDING, RUNNING, SUSPENDED)
    else:
        by_state = bool({job.word, COMPACT[job.word], "ALL"} & states)
        by_state = by_state or (job.completing and job.state in FINAL and job.state in states)
    return (
        by_state
        and (
            not options.has("jobs") or not {str(job.number), str(job.array_job)}.isdisjoint(options.listed("jobs"))
        )
        and (not options.has("user") or job.play.user in options.listed("user"))
        and (not options.has("partition") or job.partition in options.listed("partition"))
        and (not options.has("name") or job.name in options.get("name").split(","))
    )
