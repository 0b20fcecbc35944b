"""What does a program of ours count? Only numbers: nothing of a job stands among them."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from schedulers.port import SchedulerError
from schedulers.transport import Answer, Transport

HELP = {
    "rekindle_commands_total": ("counter", "Commands of the scheduler and questions to slurmrestd, by outcome."),
    "rekindle_command_seconds_total": ("counter", "Time spent waiting for their answers."),
    "rekindle_passes_total": ("counter", "Passes; of the watchdog those in which the scheduler answered."),
    "rekindle_pass_age_seconds": ("gauge", "Time since the last one."),
    "rekindle_advice_open": ("gauge", "Advice that the Advisor lists."),
    "rekindle_advice_begun": ("gauge", "Advice that was begun and is not finished."),
    "rekindle_lease_held": ("gauge", "1 while this controller has the lease."),
    "rekindle_advisor_away": ("gauge", "1 while the Advisor does not answer."),
    "rekindle_watchdog_holds": ("gauge", "Jobs that are held by Rekindle."),
    "rekindle_watchdog_releases_total": ("counter", "Releases by the watchdog, by what became of them."),
}


class Tally:
    """Numbers by name and labels; any thread may read and write them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
        self._passed_at: float | None = None

    def add(self, name: str, amount: float = 1.0, **labels: str) -> None:
        """Count up."""
        key = (name, tuple(sorted(labels.items())))
        with self._lock:
            self._values[key] = self._values.get(key, 0.0) + amount

    def set(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge."""
        with self._lock:
            self._values[name, tuple(sorted(labels.items()))] = float(value)

    def passed(self, now: float) -> None:
        """A pass was finished just now (a monotonic time)."""
        self.add("rekindle_passes_total")
        self._passed_at = now

    def age(self, now: float) -> float | None:
        """Seconds since the last pass; `None` before the first."""
        return None if self._passed_at is None else max(0.0, now - self._passed_at)

    def text(self, now: float) -> str:
        """All of it in the text format of Prometheus."""
        with self._lock:
            values = dict(self._values)
        if (age := self.age(now)) is not None:
            values["rekindle_pass_age_seconds", ()] = age
        lines: list[str] = []
        for name, (kind, tells) in HELP.items():
            mine = sorted((labels, value) for (of, labels), value in values.items() if of == name)
            if mine:
                lines += [f"# HELP {name} {tells}", f"# TYPE {name} {kind}"]
                lines += [f"{name}{_labels(labels)} {value:g}" for labels, value in mine]
        return "\n".join([*lines, ""])


@dataclass(frozen=True)
class Counting:
    """A transport that counts what passes through it."""

    inner: Transport
    tally: Tally
    monotonic: Callable[[], float]

    def run(self, argv: tuple[str, ...], seconds: float) -> Answer:
        """Run `argv` and count it by program, verb and outcome."""
        began = self.monotonic()
        outcome = "no_answer"
        try:
            answer = self.inner.run(argv, seconds)
            outcome = "done" if answer.returncode == 0 else "failed"
            return answer
        except SchedulerError as error:
            outcome = type(error).__name__.lower()
            raise
        finally:
            words = [word for word in argv[1:2] if word.isalpha() and argv[0] == "scontrol"]
            command = " ".join((argv[0], *words)) if words or argv[0] != "scontrol" else "scontrol show"
            self.tally.add("rekindle_commands_total", command=command, outcome=outcome)
            self.tally.add("rekindle_command_seconds_total", self.monotonic() - began, command=command)


def _labels(labels: tuple[tuple[str, str], ...]) -> str:
    """`{command="squeue"}`; values are words of ours, quotes and breaks in them are taken out."""
    if not labels:
        return ""
    inside = ",".join(f'{name}="{value.translate(_BAD)}"' for name, value in labels)
    return f"{{{inside}}}"


_BAD = str.maketrans({'"': "'", "\\": "/", "\n": " "})
