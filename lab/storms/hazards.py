"""What goes wrong around the jobs of a run, and with the product itself? Drawn from a seed, as everything here."""

from dataclasses import dataclass
from random import Random

SECONDS = 420.0
LIES = ("listing_empty", "listing_slow", "listing_error", "listing_garbled", "listing_stale")
PEOPLE = ("cancel", "requeue", "hold", "release", "foreign_requeue", "user_hold", "suspend")
NODES = ("node_drain", "node_down", "node_resume")
PLACES = (
    "reading",
    "reading",
    "judging",
    "deciding",
    "deciding",
    "following",
    "observing",
    "answering",
    "answering",
)
WORKER_STEPS = ("write", "write", "commit", "commit", "statement")
CONTROLLER_STEPS = ("command", "command", "line", "line", "request", "look")
WATCHDOG_STEPS = ("command", "look")
JUMPS = (2.0, 30.0, 600.0, 7200.0)  # seconds, either way: a step of NTP, up to a wrong time zone
DOWN = (0.0, 0.0, 10.0, 60.0)  # seconds until a dead controller or watchdog is started again


@dataclass(frozen=True)
class Event:
    """Something at a second of the run: an act of `lab.simulate.outside`, or one of `lab.storms.acting`."""

    at: float
    do: str
    words: tuple[str, ...] = ()


def around(random: Random, nodes: int, jobs: int) -> list[Event]:
    """What happens to one cluster, its controller and its watchdog."""
    found = _lies(random) + _outside(random, nodes, jobs)
    for _ in range(random.randint(0, 3)):
        found.append(Event(random.uniform(20, 350), "kill_controller", _doom(random, CONTROLLER_STEPS)))
    if random.random() < 0.3:
        found.append(Event(random.uniform(20, 350), "kill_watchdog", _doom(random, WATCHDOG_STEPS)))
    if random.random() < 0.3:
        found.append(Event(random.uniform(20, 350), "lose_answer"))
    for do in ("clock_scheduler", "clock_controller"):
        if random.random() < 0.2:
            found += _jumps(random, do)
    return found


def on_site(random: Random) -> list[Event]:
    """What happens to the site, and so to every run on it."""
    found = []
    for _ in range(random.randint(20, 40)):
        words = (
            random.choice(PLACES),
            random.choice(WORKER_STEPS),
            _count(random),
            random.choice(("before", "after")),
        )
        found.append(Event(random.uniform(15, 400), "kill_worker", words))
    if random.random() < 0.5:
        found.append(Event(random.uniform(30, 300), "sleep", (f"{random.uniform(30, 120):.0f}",)))
    if random.random() < 0.5:
        found += _jumps(random, "clock_site")
    return sorted(found, key=lambda event: event.at)


def _lies(random: Random) -> list[Event]:
    found: list[Event] = []
    for _ in range(random.randint(0, 2)):
        found += _span(random, random.choice(LIES), "listing_normal")
    if random.random() < 0.2:
        found += _span(random, "stop_controller", "start_controller")
    if random.random() < 0.2:
        found += _span(random, "logs_stop", "logs_start")
    return found


def _outside(random: Random, nodes: int, jobs: int) -> list[Event]:
    found = [
        Event(random.uniform(20, 380), random.choice(PEOPLE), (str(random.randrange(jobs)),))
        for _ in range(random.randint(0, 3))
    ]
    for _ in range(random.randint(0, 2)):
        node = f"n{random.randint(1, nodes):02d}"
        found.append(Event(random.uniform(20, 380), random.choice(NODES), (node,)))
    return found + [Event(at, "approve") for at in sorted(random.uniform(30, 400) for _ in range(4))]


def _span(random: Random, begin: str, end: str) -> list[Event]:
    at = random.uniform(20, 300)
    return [Event(at, begin), Event(at + random.uniform(10, 90), end)]


def _doom(random: Random, steps: tuple[str, ...]) -> tuple[str, ...]:
    """Kind of step, how many from then on, before or after it or in its middle, seconds until there is another."""
    when = random.choice(("before", "after", "torn"))
    return random.choice(steps), _count(random), when, f"{random.choice(DOWN):.0f}"


def _count(random: Random) -> str:
    return str(min(30, 1 + int(random.expovariate(0.25))))


def _jumps(random: Random, do: str) -> list[Event]:
    """One or two: a clock that is wrong from then on, and may be set right again."""
    at = random.uniform(20, 250)
    found = [Event(at, do, (f"{random.choice(JUMPS) * random.choice((-1, 1)):g}",))]
    if random.random() < 0.5:
        found.append(Event(at + random.uniform(10, 120), do, ("0",)))
    return found
