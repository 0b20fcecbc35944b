"""What cannot be seen for a while? A scheduler that lies or is silent, a stopped collector, changed files."""

from collections.abc import Iterable

from lab.cases.case import Act, Case, OnSlurm, Simulated
from lab.cases.traps.making import COMMENT, job, simulated, trap
from lab.simulate.play import Fault, Play

FROM, UNTIL = 150.0, 390.0  # four minutes of a scheduler that cannot be believed
SECONDS = 540.0
OLD_ERROR = ("[rank2]: RuntimeError: CUDA error: an illegal memory access was encountered",)
UNKNOWN = "unknown is not failed: the jobs run on, and are seen again"


def _lie(name: str, act: str, says: str, **more: object) -> Case:
    """Two running jobs, and a third that has ended before the listing lies."""
    acts = (Act(act, (), at=FROM), Act("listing_normal", (), at=UNTIL))
    script = simulated(job(), job(name="other"), job(name="done", steps=10), acts=acts, seconds=SECONDS)
    return trap(name, says, UNKNOWN, script, **more)  # type: ignore[arg-type]


def _all_at_once(faults: Iterable[Fault]) -> tuple[Play, ...]:
    return tuple(
        Play(
            name=f"train-{place}",
            nodes=2,
            steps=100_000,
            step_seconds=5.0,
            startup_seconds=20.0,
            comment=COMMENT,
            faults=(fault,),
        )
        for place, fault in enumerate(faults)
    )


BLINDNESS: tuple[Case, ...] = (
    _lie(
        "listing-empty", "listing_empty", "the listing of jobs is empty for four minutes, and says success", trap=4
    ),
    _lie("listing-slow", "listing_slow", "the listing of jobs takes longer than anybody waits for four minutes"),
    _lie("listing-error-inside", "listing_error", "an error text inside a success for four minutes", trap=3),
    _lie("listing-garbled", "listing_garbled", "listings whose bytes are garbled for four minutes"),
    _lie("listing-stale", "listing_stale", "for four minutes the listing is the same old one"),
    trap(
        "controller-down",
        "the scheduler's controller is down for four minutes; jobs run on",
        UNKNOWN,
        simulated(
            job(),
            job(name="other"),
            acts=(Act("stop_controller", (), at=FROM), Act("start_controller", (), at=UNTIL)),
            seconds=SECONDS,
        ),
        slurm=OnSlurm(
            acts=(Act("slurmctld_stop", (), on_step=15), Act("slurmctld_start", (), on_step=75)), seconds=75
        ),
        short=("simulated",),
        representative=True,
        trap=4,
    ),
    trap(
        "controller-hangs",
        "the scheduler's controller hangs for a while and answers again",
        UNKNOWN,
        simulated(
            job(steps=120),
            acts=(Act("listing_slow", (), at=FROM), Act("listing_normal", (), at=UNTIL + 180)),
            seconds=UNTIL + 330,
        ),
        slurm=OnSlurm(
            acts=(Act("slurmctld_hang", (), on_step=15), Act("slurmctld_start", (), on_step=75)), seconds=75
        ),
    ),
    trap(
        "collector-stopped",
        "the collector of logs stops for ten minutes and comes back",
        "nobody hears the jobs, and silence that nobody can hear proves nothing",
        simulated(
            job(),
            job(name="other"),
            acts=(Act("logs_stop", (), at=240), Act("logs_start", (), at=840)),
            seconds=990,
        ),
        trap=32,
    ),
    trap(
        "slow-file-system",
        "a shared file system stalls four jobs at once for four minutes",
        "one cause for all of them, which passes: one incident, no mass restart",
        simulated(
            *_all_at_once(Fault("pause", step=40 + place, seconds=240.0 - 5 * place) for place in range(4)),
            seconds=660,
        ),
        ask=True,
        trap=34,
    ),
    trap(
        "log-rotated",
        "the log is renamed and a new one begun in the middle",
        "the job goes on in the new file",
        simulated(job(), acts=(Act("rotate_logs", (), on_step=35),), seconds=480),
        slurm=OnSlurm(acts=(Act("logs_rotate", (), on_step=20),), seconds=60),
        short=("simulated",),
        representative=True,
    ),
    trap(
        "log-truncated",
        "the log is cut to nothing in the middle (copytruncate)",
        "the job goes on behind the cut",
        simulated(job(), acts=(Act("truncate_logs", (), on_step=35),), seconds=480),
        trap=6,
    ),
    trap(
        "number-reused",
        "the controller has lost its state: a new job gets the number of one that had printed an error",
        "the error belongs to the other job",
        Simulated(
            (
                (0.0, job(Fault("lines", step=8, lines=OLD_ERROR), Fault("cancel", step=9), name="before")),
                (210.0, job(name="after")),
            ),
            600.0,
            (Act("lose_state", (), at=200),),
        ),
        trap=5,
    ),
)
