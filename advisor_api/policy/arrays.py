"""Do the tasks of a job array fail alike by chance, by bad hosts, or all for one reason?

A sequential test over one fingerprint. In the order of their start each task is a trial: it failed alike, or it did
not. A cumulated log likelihood ratio weighs a systemic failure that strikes `SYSTEMIC_SHARE` of the tasks against
chance that strikes the policy's `array_random_share`; it never falls below 0, so that a failure that begins in the
middle of a long array is found as soon. It stops at `ENOUGH`.

False stops: where tasks fail independently, all fingerprints together at the random share p0, an array of `TASKS`
tasks is stopped with a probability of at most `FALSE_STOPS`. A rise begins with a failure, of which `TASKS` p0 are
to be expected; it begins at p1/p0 and reaches A with at most p1/p0/A (Ville), so that A = `TASKS` p1/`FALSE_STOPS`
is enough. Misses: nothing is ever accepted as chance for good, so an array that goes on failing is found sooner or
later; how soon is measured (`benchmarks/README.md`). A task that completed counts against the failure fully; one
that still runs, or ended otherwise, as far as it has outlived those that failed.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log

SYSTEMIC_SHARE = 0.2
FALSE_STOPS = 0.01
TASKS = 10_000
ENOUGH = log(TASKS * SYSTEMIC_SHARE / FALSE_STOPS)
"""12.2: with the defaults five failures in a row, or six on six hosts, since one host is left out."""
HOSTS_LEFT_OUT = 8  # the hosts with most failures, one at a time: without any other one the score is higher
FAILURES_WANTED = 10  # that all hosts together may add; so a host of many adds one, and one of two adds five
LEAST_SHARE = 1e-6
TASKS_LOOKED_AT = 1000  # the latest: what lies far back is forgotten by then


@dataclass(frozen=True)
class Task:
    """One task that has started. `seconds`: how long it ran until it failed, ended, or until now."""

    hosts: frozenset[str]
    failed_alike: bool
    seconds: float
    completed: bool = False


def score_of(tasks: Sequence[Task], random_share: float, *, of_program: bool) -> float:
    """How much speaks for a systemic failure, to be compared with `ENOUGH`; `tasks` in the order of their start.

    Bad hosts are no reason to stop: a host adds only its latest failures, fewer the more hosts there are, and the
    score is what remains when the one host is left out that most speaks for it. Where only one host was ever tried
    nobody can tell, unless the failure is the program's own word (`of_program`).
    """
    counted = _latest_of_each_host(tasks)
    score = _cumulated(counted, random_share)
    if score < ENOUGH:
        return score
    if len({host for task in tasks for host in task.hosts}) < 2:
        return score if of_program else 0.0
    struck = Counter(host for task in counted if task.failed_alike for host in task.hosts)
    without = (
        _cumulated([task for task in counted if host not in task.hosts], random_share)
        for host, _count in struck.most_common(HOSTS_LEFT_OUT)
    )
    return min(score, *without)


def _latest_of_each_host(tasks: Sequence[Task]) -> list[Task]:
    """Without the failures that one of their hosts has added too many later ones to."""
    hosts = {host for task in tasks for host in task.hosts}
    places = sum(len(task.hosts) for task in tasks)
    side_by_side = max(1.0, len(hosts) * len(tasks) / max(1, places))  # tasks that the hosts hold at once
    most = ceil(FAILURES_WANTED / side_by_side)
    added: Counter[str] = Counter()
    kept = []
    for task in reversed(tasks):
        if task.failed_alike:
            if any(added[host] >= most for host in task.hosts):
                continue
            added.update(task.hosts)
        kept.append(task)
    return kept[::-1]


def _cumulated(tasks: Sequence[Task], random_share: float) -> float:
    """The ratio at the last task that failed alike; 0 where chance is said to strike as often."""
    random = max(random_share, LEAST_SHARE)
    if random >= SYSTEMIC_SHARE:
        return 0.0
    lives = sorted(task.seconds for task in tasks if task.failed_alike)
    struck = log(SYSTEMIC_SHARE / random)
    score = at_last = 0.0
    for task in tasks:
        if task.failed_alike:
            score = at_last = score + struck
        elif lives:
            outlived = 1.0 if task.completed else bisect_right(lives, task.seconds) / len(lives)
            score = max(0.0, score + log((1 - SYSTEMIC_SHARE * outlived) / (1 - random * outlived)))
    return round(at_last, 4)
