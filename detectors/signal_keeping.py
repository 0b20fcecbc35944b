"""How do many who ask at once get one look? A report is kept for a few seconds, and few looks run at a time.

A look asks the scheduler and a store, and may take seconds: whoever may only read must not make it a burden.
"""

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock, Semaphore

from detectors.signal_bounds import Clock
from detectors.signals.report import Report
from workloads.models import Cluster

KEPT_SECONDS = 10.0
KEPT = 64  # reports
AT_ONCE = 2  # looks in one process
WAIT_SECONDS = 25.0

Key = tuple[object, ...]


class Busy(Exception):
    """Too many looks run already."""


class Looks:
    """The reports of this process, the oldest dropped first."""

    def __init__(self) -> None:
        self._lock, self._free = Lock(), Semaphore(AT_ONCE)
        self._kept: OrderedDict[Key, tuple[float, Report]] = OrderedDict()
        self._running: dict[Key, Future[Report]] = {}

    def get(self, key: Key, clock: Clock, look: Callable[[], Report]) -> Report:
        """The report of `key`, looked for by one caller while others wait; its exception is everybody's.

        Raises `Busy`, and what `look` raises.
        """
        with self._lock:
            at, kept = self._kept.get(key, (0.0, None))
            if kept is not None and 0 <= clock() - at < KEPT_SECONDS:
                return kept
            waiting = self._running.get(key)
            if waiting is None:
                mine: Future[Report] = Future()
                self._running[key] = mine
        if waiting is not None:
            return self._awaited(waiting)
        return self._look(key, mine, clock, look)

    def forget(self) -> None:
        """Drop everything."""
        with self._lock:
            self._kept.clear()

    def _awaited(self, waiting: Future[Report]) -> Report:
        try:
            return waiting.result(WAIT_SECONDS)
        except TimeoutError:
            raise Busy("Somebody else's look takes long; ask again.") from None

    def _look(self, key: Key, mine: Future[Report], clock: Clock, look: Callable[[], Report]) -> Report:
        free = self._free.acquire(timeout=WAIT_SECONDS)
        try:
            if not free:
                raise Busy("Other clusters are looked at right now; ask again.")
            report = look()
        except BaseException as error:
            with self._lock:
                del self._running[key]
            mine.set_exception(error)
            raise
        finally:
            if free:
                self._free.release()
        with self._lock:
            del self._running[key]
            self._kept[key] = clock(), report
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        mine.set_result(report)
        return report


looks = Looks()


def key_of(cluster: Cluster, job: int | None, attempts: int) -> Key:
    """Changes with whatever an administrator may change to mend something."""
    store = (cluster.log_store, cluster.log_store_address, cluster.log_store_tenant, cluster.log_store_credential)
    lines = (cluster.log_store_job_lines, cluster.log_store_node_lines, repr(cluster.log_store_labels))
    files = (repr(cluster.log_roots), repr(cluster.log_patterns))
    return cluster.pk, job, attempts, *store, *lines, *files, cluster.scheduler_path, cluster.scheduler_config
