"""What do the scheduler and people do to a job?"""

from functools import partial

from lab.cases.case import NO_KIND, Act, Case, Did, Truth
from lab.cases.faults.making import STRIKE, fault, job, names, on_slurm, order, simulated
from lab.simulate.play import Fault

_fault = partial(fault, "scheduler")
NONE = (Did.NONE,)

SCHEDULING: tuple[Case, ...] = (
    _fault(
        "node-daemon-killed",
        "the daemon of one node is killed: the scheduler calls the node down and queues the job again by itself",
        Truth(
            "crash",
            ("hardware.host",),
            True,
            (Did.NONE, Did.RESTART_EXCLUDE),
            "Slurm has queued the job again and does not use the lost node: a second restart would be one too many",
        ),
        simulated(job(Fault("node_down", step=STRIKE, attempt=0, node=1)), node_timeout_seconds=60.0),
        slurm=on_slurm(acts=(Act("slurmd_kill", ("1",), on_step=12),), seconds=120),
        short=("simulated",),
        representative=True,
    ),
    _fault(
        "node-drained-then-killed",
        "an administrator drains a node and then kills the job's process on it",
        Truth(
            "crash",
            ("unknown", "framework", "scheduler"),
            False,
            (Did.RESTART,),
            "the drained node is out of use without us, and nothing says that another is to blame",
        ),
        simulated(
            job(Fault("sigkill", step=STRIKE, attempt=0, node=1)), acts=(Act("node_drain", ("n02",), at=156.0),)
        ),
        slurm=on_slurm(order("sigkill", step=16), acts=(Act("node_drain", ("1",), on_step=14),), seconds=100),
    ),
    _fault(
        "prolog-fails",
        "the prolog fails on one node: Slurm drains it and keeps the job in a hold of its own",
        Truth(
            "crash",
            ("scheduler", "hardware.host"),
            True,
            (Did.ASK,),
            "a hold that is not ours is not ours to release, and without a person the job waits for ever",
            held=True,
        ),
        simulated(job(Fault("prolog_failure", attempt=0, node=1)), seconds=200),
        slurm=on_slurm(acts=(Act("prolog_fail", ("1",)),), seconds=80),
        representative=True,
    ),
    _fault(
        "task-launch-fails",
        "srun cannot start the tasks of one node",
        Truth(
            "crash",
            ("hardware.host", "scheduler"),
            True,
            (Did.RESTART_EXCLUDE,),
            "the launch names the node that failed, and the job can go elsewhere",
        ),
        simulated(job(Fault("launch_failure", attempt=0, node=2), nodes=4), seconds=180, node_names=names("tl", 8)),
        slurm=on_slurm(acts=(Act("launch_fail", ("1",)),), seconds=100),
        representative=True,
    ),
    _fault(
        "time-limit",
        "the job reaches its time limit",
        Truth(NO_KIND, ("scheduler",), False, NONE, "the job got what it asked for"),
        simulated(job(Fault("timeout", step=STRIKE))),
        slurm=on_slurm(seconds=120, sbatch=("--time=1",), training={"steps": 100_000}),
    ),
    _fault(
        "cancelled-by-user",
        "the user cancels the job",
        Truth(NO_KIND, ("user", "scheduler"), False, NONE, "a cancel is a wish"),
        simulated(job(Fault("cancel", step=STRIKE), dialect="torchtitan")),
        slurm=on_slurm(acts=(Act("cancel", ("0",), on_step=12),), seconds=60),
        short=("simulated",),
    ),
    _fault(
        "preempted-and-requeued",
        "a job of higher priority takes the nodes; the scheduler queues the job again",
        Truth(NO_KIND, ("scheduler",), False, NONE, "the scheduler owns it: it queues the job again by itself"),
        simulated(job(Fault("preempt", step=STRIKE, attempt=0), dialect="nemo")),
        slurm=on_slurm(acts=(Act("preempt", ("0",), on_step=12),), seconds=90),
        representative=True,
    ),
    _fault(
        "requeued-by-slurm",
        "Slurm itself queues the job again",
        Truth(NO_KIND, ("scheduler",), False, NONE, "it is queued again already"),
        simulated(job(Fault("requeue", step=STRIKE, attempt=0))),
        slurm=on_slurm(order("requeue_self"), seconds=90),
    ),
)
