"""What stands in the configuration files of a private Slurm?"""

import os
import socket
from pathlib import Path

from lab.slurm.layout import Layout, Partition


def write(layout: Layout) -> None:
    """Make the folders, keys and configuration files of a new cluster."""
    folder = layout.folder
    for name in ("etc", "run", "log", "state", "spool", "db", "jobs", "ssh"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name).chmod(0o755)
    layout.jobs.chmod(0o1777)
    _private(folder / "etc" / "munge.key", os.urandom(128), 0o400)
    (folder / "etc" / "plugstack.conf").touch()  # else the machine's own would be read
    hosts = Path("/etc/hosts").read_text() + "".join(f"127.0.0.1 {name}\n" for name in layout.node_names)
    (folder / "etc" / "hosts").write_text(hosts)
    (folder / "etc" / "cgroup.conf").write_text(_CGROUPS if layout.memory_limits else "CgroupAutomount=no\n")
    layout.conf.write_text(slurm_conf(layout))
    if layout.prolog:
        (folder / "prolog").mkdir()
        (folder / "etc" / "prolog").write_text(_PROLOG.format(folder=folder / "prolog"))
        (folder / "etc" / "prolog").chmod(0o755)
    if layout.rest:
        _private(folder / "etc" / "jwt.key", os.urandom(32), 0o600)
    if layout.accounting:
        _private(folder / "etc" / "slurmdbd.conf", slurmdbd_conf(layout).encode(), 0o600)
        (folder / "etc" / "my.cnf").write_text(mariadb_conf(layout))
    if layout.ssh:
        (folder / "etc" / "sshd_config").write_text(sshd_conf(layout))
        (folder / "ssh" / "config").write_text(ssh_conf(layout))


def slurm_conf(layout: Layout) -> str:
    """slurm.conf. Traps: a key given twice makes every client print an error; `hostname -s` must be the host."""
    host, folder = socket.gethostname().partition(".")[0], layout.folder
    lines = [
        f"ClusterName={layout.name}",
        f"SlurmctldHost={host}(127.0.0.1)",
        f"SlurmctldPort={layout.port(0)}",
        "SlurmUser=root",
        "SlurmdUser=root",
        "AuthType=auth/munge",
        f"AuthInfo=socket={layout.socket},cred_expire={layout.cred_expire}",
        "CredType=cred/munge",
        "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny",
        f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/spool/%n",
        f"SlurmctldPidFile={folder}/run/slurmctld.own.pid",
        f"SlurmdPidFile={folder}/run/slurmd.%n.own.pid",
        f"SlurmctldLogFile={folder}/log/slurmctld.log",
        f"SlurmdLogFile={folder}/log/slurmd.%n.log",
        f"PlugStackConfig={folder}/etc/plugstack.conf",
        *_FIXED,
        f"MinJobAge={layout.min_job_age}",
        f"KillWait={layout.kill_wait}",
        f"SlurmdTimeout={layout.slurmd_timeout}",
        f"SrunPortRange={layout.port(200)}-{layout.port(399)}",
    ]
    lines += _accounting(layout) if layout.accounting else ["AccountingStorageType=accounting_storage/none"]
    lines += [
        f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={layout.port(10 + place)} "
        f"CPUS={layout.cpus} RealMemory={layout.memory} State=UNKNOWN"
        for place, name in enumerate(layout.node_names)
    ]
    lines += _extras(layout)
    lines.append(f"PartitionName=main Nodes={','.join(layout.node_names)} Default=YES MaxTime=INFINITE State=UP")
    lines += [_partition(partition) for partition in layout.partitions]
    if layout.preemption:
        lines.append(_partition(Partition("urgent", layout.node_names, "PriorityTier=10 PreemptMode=OFF")))
    return "\n".join(lines) + "\n"


def _extras(layout: Layout) -> list[str]:
    """What only some clusters have."""
    lines = [f"TaskPlugin=task/{'cgroup' if layout.memory_limits else 'none'}"]
    if layout.rest:
        lines += ["AuthAltTypes=auth/jwt", f"AuthAltParameters=jwt_key={layout.folder}/etc/jwt.key"]
    if layout.prolog:
        lines.append(f"Prolog={layout.folder}/etc/prolog")
    if layout.preemption:
        lines += ["PreemptType=preempt/partition_prio", "PreemptMode=REQUEUE"]
    return lines


def _partition(partition: Partition) -> str:
    words = f"{partition.words} " if partition.words else ""
    return f"PartitionName={partition.name} Nodes={','.join(partition.nodes)} {words}MaxTime=INFINITE State=UP"


_PROLOG = """#!/bin/sh
cd {folder} || exit 0
node=$(hostname)
[ -e "$node.fails" ] || exit 0
date +%s.%N > "$node.failed"
rm "$node.fails"
exit 1
"""


_CGROUPS = """CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
ConstrainRAMSpace=yes
ConstrainSwapSpace=no
ConstrainCores=no
ConstrainDevices=no
"""


_FIXED = (
    "SlurmctldDebug=info",
    "SlurmdDebug=info",
    "MailProg=/bin/true",
    "ProctrackType=proctrack/linuxproc",
    "SwitchType=switch/none",
    "MpiDefault=none",
    "JobAcctGatherType=jobacct_gather/none",
    "SelectType=select/cons_tres",
    "SelectTypeParameters=CR_Core_Memory",
    "DefMemPerCPU=100",  # without it a job takes its nodes' whole memory: one job a node
    "SchedulerType=sched/backfill",
    # A requeued job is looked at by the next turn after its wait, a second later at most.
    "SchedulerParameters=batch_sched_delay=0,sched_min_interval=200000,sched_interval=1,bf_interval=1,max_rpc_cnt=0",
    "PriorityType=priority/basic",
    "SlurmdParameters=config_overrides",  # lets a node claim more CPUs than the machine has
    "ReturnToService=1",  # with 2, a node set down by an administrator is idle again at once
    "JobRequeue=1",
    "SlurmctldTimeout=10",
    "MessageTimeout=10",
    "InactiveLimit=0",
    "WaitTime=0",
    "BatchStartTimeout=10",
    "UnkillableStepTimeout=30",
    "MaxJobCount=30000",
    "LaunchParameters=disable_send_gids",
)


def _accounting(layout: Layout) -> list[str]:
    return [
        "AccountingStorageType=accounting_storage/slurmdbd",
        "AccountingStorageHost=127.0.0.1",
        f"AccountingStoragePort={layout.port(1)}",
        f"AccountingStoragePass={layout.socket}",
        "AccountingStoreFlags=job_comment",
    ]


def slurmdbd_conf(layout: Layout) -> str:
    """slurmdbd.conf; it creates its tables by itself."""
    folder = layout.folder
    return f"""AuthType=auth/munge
AuthInfo=socket={layout.socket}
DbdAddr=127.0.0.1
DbdHost={socket.gethostname().partition(".")[0]}
DbdPort={layout.port(1)}
CommunicationParameters=NoInAddrAny
SlurmUser=root
LogFile={folder}/log/slurmdbd.log
PidFile={folder}/run/slurmdbd.own.pid
DebugLevel=info
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={layout.port(4)}
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct
"""


def mariadb_conf(layout: Layout) -> str:
    """my.cnf of the accounting database: quick and forgetful, it is a test's."""
    folder = layout.folder
    return f"""[mariadbd]
datadir={folder}/db
socket={layout.database_socket}
pid-file={folder}/run/mysql.own.pid
port={layout.port(4)}
bind-address=127.0.0.1
skip-name-resolve
user=root
innodb_buffer_pool_size=64M
innodb_log_file_size=16M
innodb_lock_wait_timeout=900
innodb_flush_log_at_trx_commit=0
innodb_doublewrite=0
sync_binlog=0
performance_schema=off
max_connections=40
"""


def sshd_conf(layout: Layout) -> str:
    """sshd_config: its own keys, its own port, no password."""
    folder = layout.folder
    return f"""Port {layout.port(3)}
ListenAddress 127.0.0.1
HostKey {folder}/ssh/host_ed25519
PidFile {folder}/run/sshd.own.pid
AuthorizedKeysFile {folder}/ssh/authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM no
StrictModes no
PrintMotd no
UseDNS no
SetEnv SLURM_CONF={layout.conf}
"""


def ssh_conf(layout: Layout) -> str:
    """The client's configuration: `ssh -F FILE lab COMMAND`."""
    folder = layout.folder
    return f"""Host lab
  HostName 127.0.0.1
  Port {layout.port(3)}
  User root
  IdentityFile {folder}/ssh/id_ed25519
  IdentitiesOnly yes
  BatchMode yes
  UserKnownHostsFile {folder}/ssh/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  ConnectTimeout 5
"""


def _private(path: Path, content: bytes, mode: int) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)
    path.chmod(mode)
