"""How does Slurm write a time? As the client's SLURM_TIME_FORMAT says, by the clock of its own machine."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

ISO = "%Y-%m-%dT%H:%M:%S"


_SHOWN: ContextVar[Callable[[float], float]] = ContextVar("shown", default=float)


@contextmanager
def shown_by(clock: Callable[[float], float]) -> Iterator[None]:
    """What is written inside is written by this clock: it says what stood there at a true time."""
    before = _SHOWN.set(clock)
    try:
        yield
    finally:
        _SHOWN.reset(before)


def shown(at: float) -> float:
    """What the machine's clock showed at the true time `at`."""
    return _SHOWN.get()(at)


def stamp(at: float, time_format: str = "") -> str:
    """`at` (true epoch seconds) in the client's format: `%s`, another pattern of strftime, or Slurm's own."""
    at = shown(at)
    if time_format == "%s":
        return str(int(at))
    pattern = time_format if "%" in time_format else ISO  # "standard"
    return time.strftime(pattern, time.localtime(at))


def moment(at: float | None, time_format: str, nothing: str) -> str:
    """A time, or Slurm's word for none."""
    return nothing if at is None else stamp(at, time_format)


def span(seconds: float) -> str:
    """`1-02:03:04` or `02:03:04`, as scontrol and sacct write it."""
    days, rest = divmod(max(int(seconds), 0), 86400)
    text = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days}-{text}" if days else text


def short_span(seconds: float) -> str:
    """`2:03`, `1:02:03` or `1-02:03:04`, as squeue writes it."""
    whole = max(int(seconds), 0)
    if whole >= 86400:
        return span(whole)
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"
