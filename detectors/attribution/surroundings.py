"""What else happened in the cluster, as far as it bears on one attempt? Frozen facts, part of `Facts`.

Failures of other jobs at about the same time, and what became of everything that ran on the attempt's own nodes.
"""

import dataclasses
from dataclasses import dataclass
from datetime import datetime

from detectors.catalogue.layer import Layer


@dataclass(frozen=True)
class Neighbour:
    """A failure of another job of the cluster, as its newest verdict tells it.

    `hosts`: those that it names; `common`: nodes that both attempts ran on. `sure`: broken hardware is proved.
    """

    label: str  # 5728163-0
    job: str
    happened_at: datetime
    layer: Layer
    signature: str
    fingerprint: str
    hosts: tuple[str, ...] = ()
    common: tuple[str, ...] = ()
    sure: bool = False


@dataclass(frozen=True)
class Death:
    """An earlier attempt of another job that died on nodes of this one, and nothing told why.

    `work`: the same for jobs of one user and name. `elsewhere`: the same work died so on other hosts too.
    """

    label: str
    job: str
    work: str
    nodes: tuple[str, ...]
    ended_at: datetime
    early: bool = False  # less than two minutes after it had started
    elsewhere: bool = False


@dataclass(frozen=True)
class Exposure:
    """How much ran on a node in the time looked back on: attempts and hours, those that died among them.

    `failures`: attempts that died there without a word, or that it was blamed for; `jobs`: of how many jobs.
    """

    node: str
    attempts: int
    hours: float
    failures: int = 0
    jobs: int = 0


@dataclass(frozen=True)
class Usual:
    """What is usual in the cluster: attempts on other nodes, how many of them died without a word, and their hours.

    `failures_a_day`: verdicts on failures in the 24 hours before this one.
    """

    attempts: int = 0
    deaths: int = 0
    hours: float = 0.0
    failures_a_day: int = 0


@dataclass(frozen=True)
class Surroundings:
    """Everything of it. `work`: of the attempt's own job."""

    work: str = ""
    neighbours: tuple[Neighbour, ...] = ()
    deaths: tuple[Death, ...] = ()
    exposures: tuple[Exposure, ...] = ()
    usual: Usual = Usual()

    def in_order(self) -> "Surroundings":
        """The same in the one order that counts."""
        near = (dataclasses.replace(n, hosts=_sorted(n.hosts), common=_sorted(n.common)) for n in self.neighbours)
        deaths = (dataclasses.replace(d, nodes=_sorted(d.nodes)) for d in self.deaths)
        return dataclasses.replace(
            self,
            neighbours=tuple(sorted(near, key=lambda one: (one.happened_at, one.label, one.job))),
            deaths=tuple(sorted(deaths, key=lambda one: (one.ended_at, one.label, one.job))),
            exposures=tuple(sorted(self.exposures, key=lambda one: one.node)),
        )


def _sorted(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
