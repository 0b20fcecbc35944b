"""What does `scontrol show job` print?"""

from lab.simulate.jobs import PENDING, Job
from lab.simulate.logs import expand_output
from lab.simulate.model import Cluster
from lab.simulate.slurm.squeue import Seen
from lab.simulate.times import span


def job_record(cluster: Cluster, job: Job, time_format: str, one_line: bool) -> str:
    """One job, on one line or on many; the blanks at line ends are Slurm's."""
    seen = Seen(job, cluster, time_format)
    between = " " if one_line else "\n   "
    if one_line:
        return f"{between.join(_lines(seen))}\n"
    return f"{between.join([*_lines(seen), ''])}\n\n"


def _lines(seen: Seen) -> list[str]:
    job = seen.job
    user, number = job.play.user, job.user_id
    limit = span(job.time_limit_seconds) if job.time_limit_seconds else "UNLIMITED"
    count = job.shown_node_count
    array = f"ArrayJobId={job.array_job} ArrayTaskId={job.array_task} " if job.play.array_job else ""
    never_ran = job.restarts == 0 and job.state == PENDING
    output = f"{seen.cluster.logs.folder}/{expand_output(job.play.output, job.output_facts())}"
    lines = [
        f"JobId={job.number} {array}JobName={job.name}",
        f"UserId={user}({number}) GroupId={user}({number}) MCS_label=N/A",
        f"Priority={job.priority} Nice=0 Account={job.play.account} QOS=normal",
        f"JobState={job.word} Reason={job.reason.replace(' ', '_')} Dependency=(null)",
        f"Requeue={int(job.requeue_allowed)} Restarts={job.restarts} BatchFlag=1 Reboot=0 "
        f"ExitCode={job.exit_code}:{job.exit_signal}",
        f"RunTime={span(seen.run_seconds)} TimeLimit={limit} TimeMin=N/A",
        f"SubmitTime={_time(seen, job.submitted_at)} EligibleTime={_time(seen, job.eligible_at)}",
        f"AccrueTime={_time(seen, job.accrued_at)}",
        f"StartTime={_time(seen, seen.starts_at)} EndTime={_time(seen, seen.ends_at)} Deadline=N/A",
        f"SuspendTime=None SecsPreSuspend=0 LastSchedEval={_time(seen, seen.cluster.now)} Scheduler=Main",
        f"Partition={job.partition} AllocNode:Sid=localhost:1",
        f"ReqNodeList={job.required or '(null)'} ExcNodeList={job.excluded or '(null)'}",
        f"NodeList={seen.nodes()}",
        *([f"BatchHost={job.batch_host}"] if job.nodes else []),
        f"NumNodes={f'{count}-{count}' if never_ran else count} NumCPUs={count} NumTasks={count} CPUs/Task=1 "
        "ReqB:S:C:T=0:0:*:*",
        f"TRES=cpu={count},node={count},billing={count}",
        "Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*",
        "MinCPUsNode=1 MinMemoryNode=0 MinTmpDiskNode=0",
        "Features=(null) DelayBoot=00:00:00",
        "OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)",
        "Command=(null)",
        f"WorkDir={seen.cluster.logs.folder}",
    ]
    if job.admin_comment is not None:
        lines.append(f"AdminComment={job.admin_comment} ")
    if job.comment is not None:
        lines.append(f"Comment={job.comment} ")
    return [*lines, f"StdErr={output}", "StdIn=/dev/null", f"StdOut={output}", "Power="]


def _time(seen: Seen, at: float | None) -> str:
    return seen.time(at, "Unknown")
