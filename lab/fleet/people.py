"""What do people do by hand, and when? They mend programs, start jobs again, cancel what hangs, repair nodes."""

from collections.abc import Callable

from lab.fleet import draws, published
from lab.fleet.classes import CANCELLED, HANG, Kind
from lab.fleet.cluster import FleetCluster
from lab.fleet.ledger import Attempted
from lab.fleet.machines import FROM_NODE, Machines
from lab.fleet.options import Options
from lab.fleet.works import Work
from lab.simulate import actions
from lab.simulate.jobs import RUNNING, Job

BROKEN = "broken, to be repaired"
ROOT = 0  # the user number of an administrator
NOTICE = (published.NOTICE_MEDIAN_SECONDS, published.NOTICE_SIGMA)
FIX = (published.FIX_MEDIAN_SECONDS, published.FIX_SIGMA)
HANG_NOTICE = (published.HANG_NOTICE_MEDIAN_SECONDS, published.HANG_NOTICE_SIGMA)
REPAIR = (published.REPAIR_MEDIAN_SECONDS, published.REPAIR_SIGMA)


class People:
    """Users and operators. Whoever comes and finds the job alive again goes away; nothing else tells them."""

    def __init__(self, options: Options, cluster: FleetCluster, machines: Machines) -> None:
        self._options, self._cluster, self._machines = options, cluster, machines
        cluster.on_end, cluster.on_blow, cluster.on_lost = self._ended, self._struck, self._lost

    def _later(self, delay: tuple[float, float], act: Callable[..., None], word: str, *words: object) -> None:
        """Have `act(*words)` happen after a person's delay, which depends on the words alone."""
        dice = draws.chance(self._options.seed, word, *words)
        self._cluster.agenda.after(draws.delay(dice, *delay), act, *words)

    def _struck(self, job: Job, kind: Kind) -> None:
        if kind is CANCELLED:
            self._cluster.ledger.wanted.add(job.number)
        elif kind is HANG:
            self._later(HANG_NOTICE, self._cancel_hung, "hang", job.number, job.restarts)

    def _ended(self, job: Job, attempt: Attempted) -> None:
        """An attempt is over: who will come for it?"""
        work = self._cluster.works[attempt.work]
        struck = attempt.struck[1] if attempt.struck else None
        if attempt.state == "COMPLETED" or job.number in self._cluster.ledger.wanted:
            del self._cluster.works[work.number]
            return
        if attempt.state == "TIMEOUT":
            self._cluster.works[work.number] = work.without_limit()
        if struck is not None and struck.name in FROM_NODE:
            for name in attempt.nodes:
                if name in self._machines.broken:
                    self._later(NOTICE, self._drain, "drain", name, self._machines.broken[name])
        to_mend = struck.name if struck is not None and struck.mended else ""
        self._later(FIX if to_mend else NOTICE, self._see, "see", attempt.job, attempt.index, to_mend)

    def _see(self, number: int, attempt: int, to_mend: str) -> None:
        """Whoever comes back submits the work anew, unless its job lives or somebody was first."""
        ledger = self._cluster.ledger
        work = self._cluster.works.get(ledger.work_of[number])
        if work is None or ledger.job_of[work.number] != number:
            return
        job = self._cluster.jobs.get(number)
        if job is not None and (not job.finished or job.completing):
            return
        mended = [kind for kind in work.plan if kind.name == to_mend]
        self._go_on(work.without(mended[0]) if mended else work)

    def _go_on(self, work: Work) -> None:
        self._cluster.begin(work, self._cluster.ledger.saved[work.number])

    def _cancel_hung(self, number: int, attempt: int) -> None:
        job = self._cluster.jobs.get(number)
        if job is not None and job.state == RUNNING and job.restarts == attempt:
            self._cluster.cancel(job, ROOT)
            self._go_on(self._cluster.works[self._cluster.ledger.work_of[number]])

    def _drain(self, name: str, since: float) -> None:
        node = self._cluster.nodes[name]
        if self._machines.broken.get(name) == since and node.usable:
            actions.update_nodes(self._cluster, name, "DRAIN", BROKEN)
            self._later(REPAIR, self._repair, "repair", name, since)

    def _repair(self, name: str, since: float) -> None:
        self._machines.repaired(name)
        node = self._cluster.nodes[name]
        if node.drained and node.reason == BROKEN:
            actions.update_nodes(self._cluster, name, "RESUME", None)

    def _lost(self, name: str) -> None:
        self._later(REPAIR, self._return, "lost", name, self._cluster.now)

    def _return(self, name: str, since: float) -> None:
        self._cluster.return_node(name)
