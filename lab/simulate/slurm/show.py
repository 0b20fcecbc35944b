"""What does `scontrol show …` print?"""

from collections.abc import Callable, Sequence

from lab.simulate.actions import is_number, jobs_called
from lab.simulate.client import HOST
from lab.simulate.hostlist import expand, fold
from lab.simulate.model import Cluster
from lab.simulate.nodes import Node
from lab.simulate.slurm.options import VERSION, Answer
from lab.simulate.slurm.show_job import job_record
from lab.simulate.times import stamp

NO_SUCH_JOB = "slurm_load_jobs error: Invalid job id specified\n"


def show(cluster: Cluster, words: Sequence[str], time_format: str, one_line: bool) -> Answer:
    """The answer of `scontrol show` with these words behind it."""
    if not words:
        return 1, "", "too few arguments for keyword:show\n"
    shown = SHOWN.get(words[0].lower())
    if shown is None:
        return 1, "", f"invalid entity:{words[0]} for keyword:show \n"
    return shown(cluster, words[1] if len(words) > 1 else "", time_format, one_line)


def _jobs(cluster: Cluster, word: str, time_format: str, one_line: bool) -> Answer:
    if not word:
        jobs = list(cluster.jobs.values())
        if not jobs:
            return 0, "No jobs in the system\n", ""
    elif not is_number(word):
        return 1, "", "scontrol_print_job error: Invalid job id specified\n"
    elif not (jobs := jobs_called(cluster, word)):
        return 1, "", NO_SUCH_JOB
    return 0, "".join(job_record(cluster, job, time_format, one_line) for job in jobs), ""


def _nodes(cluster: Cluster, word: str, time_format: str, one_line: bool) -> Answer:
    try:
        names = expand(word) if word else list(cluster.nodes)
    except ValueError:
        names = [word]
    records, rc = [], 0
    for name in names:
        node = cluster.nodes.get(name)
        if node is None:
            records.append(f"Node {name} not found\n")  # on stdout, with rc 1 (observed)
            rc = 1
        else:
            records.append(_node_record(cluster, node, time_format, one_line))
    return rc, "".join(records), ""


def _node_record(cluster: Cluster, node: Node, time_format: str, one_line: bool) -> str:
    used, gpus = len(node.jobs), cluster.settings.gpus_per_node
    partitions = ",".join(name for name, nodes in cluster.partitions.items() if node.name in nodes)
    booted = stamp(node.booted_at, time_format)
    lines = [
        f"NodeName={node.name} Arch=x86_64 CoresPerSocket=1 ",
        f"CPUAlloc={used} CPUEfctv={node.slots} CPUTot={node.slots} CPULoad=0.10",
        "AvailableFeatures=(null)",
        "ActiveFeatures=(null)",
        f"Gres=gpu:{gpus}",
        f"NodeAddr=127.0.0.1 NodeHostName={node.name} Version={VERSION}",
        "OS=Linux ",
        f"RealMemory=4000 AllocMem=0 FreeMem=4000 Sockets={node.slots} Boards=1",
        f"State={node.word} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A",
        f"Partitions={partitions} ",
        f"BootTime={booted} SlurmdStartTime={booted}",
        f"LastBusyTime={stamp(node.busy_at or node.booted_at, time_format)}",
        f"CfgTRES=cpu={node.slots},mem=4000M,billing={node.slots}",
        f"AllocTRES={f'cpu={used}' if used else ''}",
        "CapWatts=n/a",
        "CurrentWatts=0 AveWatts=0",
        "ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s",
    ]
    if node.reason:
        lines.append(f"Reason={node.reason} [root@{stamp(node.reason_at, time_format)}]")
    return _joined(lines, one_line)


def _joined(lines: Sequence[str], one_line: bool) -> str:
    return " ".join(lines) + "\n" if one_line else "\n   ".join(lines) + "\n\n"


def _partitions(cluster: Cluster, word: str, time_format: str, one_line: bool) -> Answer:
    names = [word] if word else list(cluster.partitions)
    if word and word not in cluster.partitions:
        return 1, f"Partition {word} not found\n", ""
    first = next(iter(cluster.partitions))
    records = []
    for name in names:
        nodes = cluster.partitions[name]
        lines = [
            f"PartitionName={name}",
            "AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL",
            f"AllocNodes=ALL Default={'YES' if name == first else 'NO'} QoS=N/A",
            "DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO",
            "MaxNodes=UNLIMITED MaxTime=UNLIMITED MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED",
            f"Nodes={fold(nodes)}",
            f"State=UP TotalCPUs={len(nodes) * cluster.settings.jobs_per_node} TotalNodes={len(nodes)}",
        ]
        records.append(_joined(lines, one_line))
    return 0, "".join(records), ""


def _config(cluster: Cluster, word: str, time_format: str, one_line: bool) -> Answer:
    settings = cluster.settings
    values = {
        "AccountingStorageType": "accounting_storage/slurmdbd",
        "AccountingStoreFlags": "job_comment",
        "AuthInfo": f"cred_expire={settings.requeue_wait_seconds - 1}",  # a requeued job waits one second more
        "AuthType": "auth/munge",
        "BOOT_TIME": stamp(cluster.booted_at, time_format),
        "ClusterName": settings.cluster_name,
        "CompleteWait": "0 sec",
        "InactiveLimit": "0 sec",
        "JobFileAppend": "0",
        "JobRequeue": "1",
        "KillWait": f"{settings.kill_wait_seconds} sec",
        "MaxJobCount": "10000",
        "MessageTimeout": "10 sec",
        "MinJobAge": f"{settings.min_job_age_seconds} sec",
        "NEXT_JOB_ID": str(cluster.next_number),
        "PriorityType": "priority/basic",
        "RequeueExit": "(null)",
        "RequeueExitHold": "(null)",
        "ReturnToService": "1",
        "SchedulerType": "sched/backfill",
        "SelectType": "select/cons_tres",
        "SlurmctldHost[0]": HOST,
        "SlurmdTimeout": f"{int(settings.node_timeout_seconds)} sec",
        "SLURM_VERSION": VERSION,
    }
    lines = [f"Configuration data as of {stamp(cluster.now, time_format)}"]
    lines += [f"{name:<23} = {value}" for name, value in values.items()]
    return 0, "\n".join([*lines, "", f"Slurmctld(primary) at {HOST} is UP", ""]), ""


def _hostnames(cluster: Cluster, word: str, time_format: str, one_line: bool) -> Answer:
    if not word:
        return 0, "", "scontrol: error: host list is empty\n"
    try:
        return 0, "".join(f"{name}\n" for name in expand(word)), ""
    except ValueError:
        return 1, "", f"Invalid hostlist: {word[:200]}\n"


def _hostlist(cluster: Cluster, word: str, time_format: str, one_line: bool) -> Answer:
    return 0, f"{fold(word.split(','))}\n", ""


Shown = Callable[[Cluster, str, str, bool], Answer]
SHOWN: dict[str, Shown] = {
    "job": _jobs,
    "jobs": _jobs,
    "node": _nodes,
    "nodes": _nodes,
    "partition": _partitions,
    "partitions": _partitions,
    "config": _config,
    "hostname": _hostnames,
    "hostnames": _hostnames,
    "hostlist": _hostlist,
}
