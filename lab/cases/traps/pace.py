"""Which slow or strange steps are no fault? Work that takes longer, and clocks that are wrong."""

from lab.cases.case import Case, OnSlurm
from lab.cases.traps.making import job, simulated, speaks, trap
from lab.simulate.play import Fault

OWN_LOG = {"steps": 0, "checkpoint_every": 0}

PACE: tuple[Case, ...] = (
    trap(
        "moe-imbalance",
        "every fourth step takes 1.8 times as long, because its experts are unevenly loaded",
        "the work differs from step to step, and no node is slower than the others",
        simulated(job(Fault("slow", step=20, factor=1.8, every=4)), seconds=1200),
        slurm=OnSlurm(orders=({"kind": "slow", "step": 15, "factor": 1.8, "every": 4, "all": True},), seconds=60),
    ),
    trap(
        "longer-sequences",
        "the sequences become twice as long: a step takes twice the time",
        "the work per second is the same on all nodes",
        simulated(job(speaks("longer_sequences"), **OWN_LOG), seconds=1320),
    ),
    trap(
        "steps-go-back",
        "the framework goes back to its checkpoint by itself, and counts on from there",
        "the step counter of a job may fall: it moves",
        simulated(job(speaks("rollback"), **OWN_LOG), seconds=660),
        trap=21,
    ),
    trap(
        "clock-off",
        "the clock of the host that writes the log is 30 s in front",
        "durations come from one clock, and the job makes its steps",
        simulated(job(speaks("clock_off"), **OWN_LOG), seconds=420),
        trap=33,
    ),
    trap(
        "summer-time",
        "local time jumps back by an hour, and later forward",
        "durations come from one clock, and the job makes its steps",
        simulated(job(speaks("summer_time"), **OWN_LOG), seconds=600),
        trap=33,
    ),
)
