"""What happens in one run? All is drawn from its seed: cluster, jobs, faults, lies, people, and what is killed."""

from dataclasses import dataclass
from random import Random

from lab.simulate.demo import opt_in
from lab.simulate.play import Fault, Play
from lab.simulate.settings import Settings
from workloads.mode import Mode

SECONDS = 420.0
SIZES = (4, 4, 8, 8, 16)
MODES = (Mode.ACTION, Mode.ACTION, Mode.ACTION, Mode.APPROVE, Mode.MONITOR)
LIES = ("listing_empty", "listing_slow", "listing_error", "listing_garbled", "listing_stale")
ENDS = (
    "ecc",
    "ecc",
    "exit",
    "sigkill",
    "oom",
    "hang",
    "nan",
    "silent_exit",
    "node_down",
    "cancel",
    "preempt",
    "requeue",
)
KILLS = ("before", "after")  # the effect of a command
LIMITS = {"hang_floor_seconds": 20.0, "hang_cold_seconds": 60.0}


@dataclass(frozen=True)
class Event:
    """Something at a second of the run: an act of `lab.simulate.outside`, or `kill` and `sleep` of the product."""

    at: float
    do: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """A run: its cluster, its jobs with their seconds, and its events in their order."""

    seed: int
    mode: Mode
    nodes: int
    jobs: tuple[tuple[float, Play], ...]
    events: tuple[Event, ...]

    @property
    def name(self) -> str:
        """Of its cluster, for the product and in what is printed."""
        return f"storm-{self.seed}"

    def settings(self, user_id: int) -> Settings:
        """The installation."""
        names = tuple(f"n{number:02d}" for number in range(1, self.nodes + 1))
        return Settings(cluster_name=self.name, node_names=names, user_id=user_id, jobs_per_node=1)


def draw(seed: int) -> Plan:
    """The run of this seed, always the same."""
    random = Random(f"storm {seed}")
    nodes = random.choice(SIZES)
    lemon = f"n{random.randint(1, nodes):02d}" if random.random() < 0.3 else ""
    storm = random.random() < 0.25
    jobs = tuple(
        _job(random, number, nodes, lemon, f"storm-{seed}", storm=storm) for number in range(_count(random, nodes))
    )
    events = sorted(_events(random, nodes, len(jobs)), key=lambda event: event.at)
    return Plan(seed, random.choice(MODES), nodes, jobs, tuple(events))


def _count(random: Random, nodes: int) -> int:
    return random.randint(1, max(2, nodes // 2))


def _job(random: Random, number: int, nodes: int, lemon: str, name: str, *, storm: bool) -> tuple[float, Play]:
    wants = random.choices(("in", "out", "none"), (8, 1, 1))[0]
    comment = {"in": opt_in(name), "out": '{"nvidia-recovery": {"mode": "monitor"}}', "none": ""}[wants]
    play = Play(
        name=f"job-{number}",
        user=random.choice(("ann", "ben")),
        nodes=random.randint(1, max(1, min(3, nodes - 1))),
        comment=comment,
        requeue=random.random() > 0.1,
        steps=random.choice((200, 400, 100_000)),
        step_seconds=0.5,
        checkpoint_every=random.choice((0, 10, 50)),
        time_limit_seconds=random.choice((0, 0, 0, 120)),
        faults=_faults(random, lemon, storm=storm),
    )
    return round(random.uniform(0, 60), 1), play


def _faults(random: Random, lemon: str, *, storm: bool) -> tuple[Fault, ...]:
    found = [Fault("ecc", step=random.randint(5, 80), node_name=lemon)] if lemon else []
    if storm:
        found.append(Fault("exit", step=60, exit_code=1))
    for attempt in range(random.randint(0, 3)):
        kind = random.choice(ENDS)
        each = None if random.random() < 0.15 else attempt
        found.append(Fault(kind, step=random.randint(5, 120), attempt=each))
    return tuple(found)


def _events(random: Random, nodes: int, jobs: int) -> list[Event]:
    found: list[Event] = []
    for _ in range(random.randint(0, 2)):
        at, lasts = random.uniform(20, 300), random.uniform(10, 90)
        found += [Event(at, random.choice(LIES)), Event(at + lasts, "listing_normal")]
    for _ in range(random.randint(0, 3)):
        at, job = random.uniform(20, 380), str(random.randrange(jobs))
        found.append(Event(at, random.choice(("cancel", "requeue", "hold", "release", "foreign_requeue")), (job,)))
    for _ in range(random.randint(0, 2)):
        node = f"n{random.randint(1, nodes):02d}"
        found.append(
            Event(random.uniform(20, 380), random.choice(("node_drain", "node_down", "node_resume")), (node,))
        )
    if random.random() < 0.2:
        at = random.uniform(30, 250)
        found += [Event(at, "stop_controller"), Event(at + random.uniform(10, 60), "start_controller")]
    for _ in range(random.randint(0, 3)):
        found.append(Event(random.uniform(20, 350), "kill", (random.choice(KILLS),)))
    if random.random() < 0.2:
        found.append(Event(random.uniform(30, 300), "sleep", (f"{random.uniform(30, 120):.0f}",)))
    return found
