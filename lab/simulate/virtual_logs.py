"""When was a log written? In virtual time: real files and folders whose times are those of the simulated cluster.

Cheap enough for fleets: a write is two system calls on a descriptor that stays open.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lab.simulate.logs import Unwritable

MOST_OPEN = 200  # descriptors kept at once; a process may have 1,024
NANOSECONDS = 1_000_000_000


@dataclass(slots=True)
class Unseen:
    """What a stopped collector has not brought yet. `fresh`: the file began anew meanwhile."""

    fresh: bool
    text: bytearray


class VirtualLogs:
    """`lab.simulate.logs.Logs` in `folder`, which must be there; its times are those of the cluster that writes.

    With `keeps` a log outlives its job in the controller's memory, as on a real cluster; without, it is deleted
    when the job is purged, so that a month of a fleet fits on a disk.
    """

    def __init__(self, folder: Path, *, keeps: bool = True) -> None:
        self._folder = folder.resolve()
        self.folder = str(self._folder)
        self.checkpoints: dict[str, int] = {}  # path → step of the last checkpoint
        self.stopped = False
        self._keeps = keeps
        self._now: Callable[[], float] = lambda: 0.0
        self._places: dict[str, str] = {}  # of every path that was ever begun and is not removed
        self._open: OrderedDict[str, int] = OrderedDict()
        self._unseen: dict[str, Unseen] = {}

    def read_clock(self, now: Callable[[], float]) -> None:
        """See `Logs.read_clock`."""
        self._now = now

    def start(self, path: str, append: bool) -> None:
        """See `Logs.start`."""
        place = self._place(path)
        if self.stopped and os.path.isdir(os.path.dirname(place)):
            self._places[path] = place
            before = self._unseen.get(path)
            self._unseen[path] = before if append and before else Unseen(not append, bytearray())
            return
        self._close(path)
        try:
            self._begin(path, place, 0 if append else os.O_TRUNC)
        except (OSError, ValueError) as error:
            raise Unwritable(str(error)) from None

    def write(self, path: str, text: str) -> None:
        """See `Logs.write`."""
        said = text.encode("utf-8", "replace")
        if self.stopped:
            self._unseen.setdefault(path, Unseen(False, bytearray())).text.extend(said)
            return
        try:
            descriptor = self._descriptor(path)
            os.write(descriptor, said)
            self._date(descriptor)
        except (OSError, ValueError, Unwritable):
            return

    def keep(self, path: str, step: int) -> None:
        """See `Logs.keep`."""
        self.checkpoints[path] = step

    def remove(self, path: str) -> None:
        """See `Logs.remove`."""
        self._close(path)
        self.checkpoints.pop(path, None)
        place = self._places.pop(path, "")
        if not self._keeps and place:
            self._unseen.pop(path, None)
            Path(place).unlink(missing_ok=True)
            self._date_folder(place)

    # --- what happens to logs, besides being written

    def logs_stop(self) -> None:
        """The collector stops: what is written from now on is not there."""
        self.stopped = True

    def logs_start(self) -> None:
        """The collector goes on: everything that was written meanwhile appears now."""
        self.stopped = False
        unseen, self._unseen = self._unseen, {}
        for path, one in unseen.items():
            try:
                if one.fresh:
                    self._close(path)
                    self._begin(path, self._place(path), os.O_TRUNC)
                descriptor = self._descriptor(path)
                os.write(descriptor, one.text)
                self._date(descriptor)
            except (OSError, ValueError, Unwritable):
                continue

    def rotate(self, paths: Iterable[str] = ()) -> tuple[str, ...]:
        """Each file (none named: all) becomes `PATH.1`, and an empty one takes its place. Those it happened to."""
        done = []
        for path in self._there(paths):
            place = self._places[path]
            self._close(path)
            os.replace(place, f"{place}.1")
            self._begin(path, place, os.O_TRUNC)
            done.append(path)
        return tuple(done)

    def truncate(self, paths: Iterable[str] = ()) -> tuple[str, ...]:
        """Each file (none named: all) is emptied in place. Those it happened to."""
        done = []
        for path in self._there(paths):
            descriptor = self._descriptor(path)
            os.ftruncate(descriptor, 0)
            self._date(descriptor)
            done.append(path)
        return tuple(done)

    def close(self) -> None:
        """Let go of every descriptor. More may be written afterwards."""
        for path in list(self._open):
            self._close(path)

    # --- files

    def _there(self, paths: Iterable[str]) -> list[str]:
        return [path for path in (paths or self._places) if os.path.exists(self._places.get(path, ""))]

    def _begin(self, path: str, place: str, mode: int) -> None:
        """Open the file, by the same inode when it is there: Slurm truncates, it does not replace."""
        new = not os.path.exists(place)
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | mode, 0o644)
        self._places[path] = place
        self._open[path] = descriptor
        self._date(descriptor)
        if new:
            self._date_folder(place)
        while len(self._open) > MOST_OPEN:
            os.close(self._open.popitem(last=False)[1])

    def _descriptor(self, path: str) -> int:
        descriptor = self._open.get(path)
        if descriptor is None:
            self._begin(path, self._places.get(path) or self._place(path), 0)
            descriptor = self._open[path]
        self._open.move_to_end(path)
        return descriptor

    def _date(self, descriptor: int) -> None:
        at = int(self._now() * NANOSECONDS)
        os.utime(descriptor, ns=(at, at))

    def _date_folder(self, place: str) -> None:
        """A file was made there or taken away."""
        at = int(self._now() * NANOSECONDS)
        with suppress(OSError):  # it went with its file, or is somebody else's
            os.utime(os.path.dirname(place), ns=(at, at))

    def _close(self, path: str) -> None:
        descriptor = self._open.pop(path, None)
        if descriptor is not None:
            os.close(descriptor)

    def _place(self, path: str) -> str:
        """A job's name may hold `/..`: nothing outside the folder is ever touched."""
        try:
            place = (self._folder / path).resolve()
        except (OSError, ValueError) as error:
            raise Unwritable(str(error)) from None
        if not place.is_relative_to(self._folder) or place == self._folder:
            raise Unwritable("outside the folder of logs")
        return str(place)
