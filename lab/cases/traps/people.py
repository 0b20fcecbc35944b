"""What do users, administrators and the scheduler do on purpose? It is nobody's failure."""

from lab.cases.case import Act, Case, OnSlurm
from lab.cases.traps.making import job, prints, simulated, speaks, trap
from lab.simulate.play import Fault

PEOPLE: tuple[Case, ...] = (
    trap(
        "owner-requeues",
        "the owner of the job requeues it by hand",
        "it was requeued already, because somebody wanted it",
        simulated(job(), acts=(Act("foreign_requeue", ("0",), on_step=35),), seconds=480),
        slurm=OnSlurm(acts=(Act("user_requeue", ("0",), on_step=20),), seconds=40),
        short=("simulated", "slurm"),
        representative=True,
    ),
    trap(
        "administrator-holds",
        "an administrator holds a running job and requeues it: it stays held",
        "whose hold it is only its owner knows: what Rekindle does not hold it does not release",
        simulated(
            job(),
            acts=(Act("hold", ("0",), on_step=20), Act("requeue", ("0",), on_step=25)),
            seconds=600,
        ),
        slurm=OnSlurm(
            acts=(Act("hold", ("0",), on_step=15), Act("requeue", ("0",), on_step=20)),
            seconds=60,
        ),
        representative=True,
    ),
    trap(
        "user-holds",
        "a user holds a running job and requeues it: it stays held",
        "a hold of its user's is a wish",
        simulated(
            job(),
            acts=(Act("user_hold", ("0",), on_step=20), Act("foreign_requeue", ("0",), on_step=25)),
            seconds=600,
        ),
    ),
    trap(
        "drained-under-a-job",
        "an administrator drains a node of a job, which goes on to its end",
        "a drain flag is no failure, and a drain by others is never touched",
        simulated(job(steps=90), acts=(Act("node_drain", ("n01",), on_step=20),), seconds=600),
        slurm=OnSlurm(acts=(Act("node_drain", ("0",), on_step=20),), seconds=60),
        representative=True,
        trap=13,
    ),
    trap(
        "maintenance",
        "all nodes are drained for maintenance while the next job waits for 10 minutes",
        "a job that waits has run into nothing",
        simulated(
            job(steps=20),
            job(name="next"),
            acts=(
                Act("node_drain", ("n01",), at=40),
                Act("node_drain", ("n02",), at=41),
                Act("node_resume", ("n01",), at=640),
                Act("node_resume", ("n02",), at=641),
            ),
            seconds=780,
            node_names=("n01", "n02"),
        ),
        trap=12,
    ),
    trap(
        "chain-of-requeues",
        "a job that requeues itself at the end of its time, three times, and then completes",
        "the job continues its own chain; a second restart would double it",
        simulated(
            job(
                *(
                    Fault(
                        "requeue", step=step, attempt=attempt, lines=("Requeued SLURM job: by the time-limit trap",)
                    )
                    for attempt, step in enumerate((21, 41, 61))
                ),
                steps=80,
            ),
            seconds=660,
        ),
        slurm=OnSlurm(
            orders=({"kind": "requeue_self", "attempt": 0, "step": 20, "rank": 0},),
            training={"steps": 60},
            seconds=75,
        ),
        trap=18,
    ),
    trap(
        "preempted",
        "a job of a higher partition takes the nodes, and Slurm requeues the job",
        "the scheduler preempted the job and deals with it itself",
        simulated(job(Fault("preempt", step=35, attempt=0)), seconds=480),
        slurm=OnSlurm(acts=(Act("preempt", (), on_step=20),), seconds=75),
        trap=22,
    ),
    trap(
        "cancelled-with-xid-45",
        "a user cancels a job, and the driver prints XID 45 for every GPU of every node",
        "a cancel is a wish; XID 45 only cleans up behind it",
        simulated(
            job(
                speaks("alike_cancelled", step=30, attempt=0),
                speaks("cancelled_everywhere", step=30, attempt=0),
                Fault("cancel", step=30, attempt=0),
            ),
            seconds=360,
        ),
        slurm=OnSlurm(
            orders=(
                prints("cancelled_everywhere"),
                prints("alike_cancelled"),
            ),
            acts=(Act("cancel", ("0",), on_step=20),),
            seconds=50,
        ),
        short=("simulated", "slurm"),
        representative=True,
        trap=10,
    ),
    trap(
        "early-stopping",
        "a job stops early because the loss no longer falls, with exit 0",
        "it ended as it wanted, and the scheduler says COMPLETED",
        simulated(
            job(speaks("alike_ending", step=40), Fault("silent_exit", step=40, exit_code=0), steps=200), seconds=360
        ),
        slurm=OnSlurm(
            orders=(
                prints("alike_ending"),
                {"kind": "exit", "code": 0, "step": 20, "all": True},
            ),
            seconds=50,
        ),
        short=("simulated",),
    ),
)
