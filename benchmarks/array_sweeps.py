"""After how many failed tasks is a bug in a job array seen, and how often is chance taken for one?

`python -m benchmarks.array_sweeps [--repeat N] [--seed N] [--bound]` plays arrays of 100 to 10,000 tasks: no
database, no scheduler, only the test of `advisor_api.policy.arrays` and the tasks that it looks at. Every line of
the table is made by its own seed, which is printed.
"""

import argparse
import random
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from math import comb
from statistics import median

from advisor_api.policy.arrays import ENOUGH, FALSE_STOPS, TASKS_LOOKED_AT, Task, score_of

RANDOM_SHARE = 0.01
HOSTS = 64
INNOCENT_TIMES = 10  # so much rarer is what is counted there
NAMES = [frozenset({f"n{host}"}) for host in range(256)]
LIFE = 600.0  # seconds a task runs when nothing happens, ± a third


@dataclass(frozen=True)
class Sweep:
    """One kind of array. `share` of the tasks die of the bug, at `early` or at any time of their life.

    `bad_hosts` kill every task on them within two seconds; of all tasks `chance` die at some time alike.
    """

    name: str
    tasks: int
    share: float = 0.0
    early: bool = True
    bad_hosts: int = 0
    chance: float = RANDOM_SHARE
    from_task: int = 0  # the bug strikes from this task on
    hosts: int = HOSTS


@dataclass
class _Row:
    host: int
    began: float
    ends: float
    fails: bool
    failed: bool = False


def play(sweep: Sweep, seed: int) -> tuple[bool, int]:
    """Whether it was stopped, and how many tasks had failed alike since the bug began then, or in all."""
    chance = random.Random(seed)
    rows: list[_Row] = []
    ends: list[tuple[float, int]] = []
    free = [(chance.random(), host) for host in range(sweep.hosts)]
    free.sort()
    failed = 0
    while True:
        while free and len(rows) < sweep.tasks:
            at, host = free.pop(0)
            row = _begun(sweep, len(rows), host, at, chance)
            heappush(ends, (row.ends, len(rows)))
            rows.append(row)
        if not ends:
            return False, failed
        now, place = heappop(ends)
        ended = rows[place]
        free.append((now + 0.5 + chance.random(), ended.host))
        if not ended.fails:
            continue
        ended.failed, failed = True, failed + (place >= sweep.from_task)
        seen = [_as_task(row, now) for row in rows[-TASKS_LOOKED_AT:]]
        if score_of(seen, RANDOM_SHARE, of_program=False) >= ENOUGH:
            return True, failed


def _begun(sweep: Sweep, place: int, host: int, at: float, chance: random.Random) -> _Row:
    life = LIFE * chance.uniform(2 / 3, 4 / 3)
    if host < sweep.bad_hosts:
        return _Row(host, at, at + chance.uniform(0.5, 2), fails=True)
    if place >= sweep.from_task and chance.random() < sweep.share:
        return _Row(host, at, at + (chance.uniform(20, 40) if sweep.early else life * chance.random()), fails=True)
    if chance.random() < sweep.chance:
        return _Row(host, at, at + life * chance.random(), fails=True)
    return _Row(host, at, at + life, fails=False)


def _as_task(row: _Row, now: float) -> Task:
    over = row.ends <= now
    return Task(NAMES[row.host], row.failed, min(now, row.ends) - row.began, over and not row.fails)


BUGS = (
    *(
        Sweep(f"bug in {share:.0%}, {'early' if early else 'any time'}", tasks, share, early)
        for share in (1.0, 0.5, 0.3, 0.2)
        for early in (True, False)
        for tasks in (100, 1000, 10_000)
    ),
    Sweep("bug from the middle on, any time", 1000, 1.0, False, from_task=500),
    *(Sweep(f"bug in all, early, {hosts} hosts", 1000, 1.0, hosts=hosts) for hosts in (2, 8, 256)),
)
INNOCENT = (
    *(Sweep("chance strikes 1 %", tasks) for tasks in (100, 1000, 10_000)),
    *(Sweep(f"{bad} bad of 64 hosts, and chance", 300, bad_hosts=bad) for bad in (1, 2, 4)),
    Sweep("1 bad of 8 hosts, and chance", 300, bad_hosts=1, hosts=8),
    Sweep("1 bad of 2 hosts, and chance", 300, bad_hosts=1, hosts=2),
)


def lines(repeat: int, seed: int) -> Iterator[str]:
    """The table in Markdown, line by line."""
    yield "| array | tasks | runs | stopped | failed tasks at the stop: median | p95 | seed |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for number, sweep in enumerate(BUGS + INNOCENT):
        first = seed + number * 1_000_000
        count = repeat if sweep in BUGS or sweep.bad_hosts else INNOCENT_TIMES * repeat
        runs = [play(sweep, first + one) for one in range(count)]
        at_stop = sorted(failed for stopped, failed in runs if stopped)
        shown = (f"{median(at_stop):g}", f"{at_stop[int(0.95 * (len(at_stop) - 1))]}") if at_stop else ("–", "–")
        share = f"{len(at_stop) / count:.2%}"
        yield f"| {sweep.name} | {sweep.tasks} | {count} | {share} | {shown[0]} | {shown[1]} | {first} |"


def fewest(at_once: int, tasks: int) -> int:
    """The fewest failures after which any test may stop and be wrong in 1 % of arrays of `tasks` at most.

    Of arrays whose tasks run in rounds of `at_once`, and whose failures by chance come as early as those of a bug:
    then how many of a round have failed is all that there is to know.
    """
    rounds = -(-tasks // at_once)
    few, wrong = 0, 1.0
    while 1 - (1 - wrong) ** rounds > FALSE_STOPS:
        wrong -= comb(at_once, few) * RANDOM_SHARE**few * (1 - RANDOM_SHARE) ** (at_once - few)
        few += 1
    return few


def main() -> None:
    """Print the table, or with `--bound` what no test can do better."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--bound", action="store_true")
    told = parser.parse_args()
    if told.bound:
        for at_once, tasks in ((64, 1000), (64, 10_000), (256, 1000), (256, 10_000)):
            print(f"{at_once} at once, {tasks} tasks: {fewest(at_once, tasks)}")
        return
    for line in lines(told.repeat, told.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
