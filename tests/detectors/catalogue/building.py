"""What do the tests of the catalogue build their cases from?"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from detectors.catalogue.hits import Match
from detectors.catalogue.linear import encoded
from detectors.catalogue.matching import matcher
from detectors.catalogue.records import Context, Finding, Outcome, Record
from detectors.catalogue.turning import turn
from schedulers.states import JobState
from workloads.limits import effective_limits

START = datetime(2026, 5, 1, 10, 0, tzinfo=UTC)
NODES = ("gpu-01", "gpu-02", "gpu-03", "gpu-04")


def at(seconds: float) -> datetime:
    """A moment after the start of the attempt."""
    return START + timedelta(seconds=seconds)


def context(state: JobState = JobState.RUNNING, nodes: Sequence[str] = NODES, **more: Any) -> Context:
    """An attempt that started at `START`; limits are the defaults."""
    facts = {
        "started_at": START,
        "ended_at": None,
        "exit_code": None,
        "exit_signal": None,
        "reason": "",
        "limits": effective_limits({}),
    }
    return Context(state=state, nodes=tuple(nodes), **{**facts, **more})


def records(
    lines: Sequence[str], seconds: float = 0.0, every: float = 0.0, stream: str = "job.log"
) -> list[Record]:
    """Lines as they are read, the first at `seconds`, each one `every` seconds after the one before."""
    made, offset = [], 0
    for number, line in enumerate(lines):
        made.append(Record(stream, offset, line, at(seconds + number * every)))
        offset += len(line.encode("utf-8", "replace")) + 1
    return made


def look(line: str, closing: bool = False) -> Match:
    """What one line without its wrapping has."""
    raw = encoded(line)
    return matcher().match(raw, matcher().candidates(raw), closing)


class Watching:
    """An attempt that is watched over several turns."""

    def __init__(self, context_: Context | None = None) -> None:
        self.context = context_ or context()
        self.states: Mapping[str, Mapping[str, Any]] = {}
        self.findings: dict[str, Finding] = {}
        self.ended: list[str] = []
        self.saved: list[int] = []
        self.loaded: list[int] = []
        self.outcome = Outcome(states={})

    def see(self, some: Sequence[Record], seconds: float | None = None, **facts: Any) -> Outcome:
        """One turn: at `seconds`, or at the read of the last record; everything was read up to then."""
        now = at(seconds) if seconds is not None else some[-1].read_at
        facts = {"last_read_at": now, **facts}
        changed = Context(**{**vars(self.context), **facts})
        self.outcome = turn(self.states, some, changed, now)
        self.states = self.outcome.states
        self.findings.update({found.key: found for found in self.outcome.findings})
        self.ended += self.outcome.ended
        self.saved += self.outcome.checkpoints_saved
        self.loaded += self.outcome.checkpoints_loaded
        return self.outcome

    def found(self, signature: str) -> Finding:
        """The one finding with this signature."""
        (only,) = [found for found in self.findings.values() if found.signature == signature]
        return only


def step_line(step: int, seconds: float = 1.0, total: int = 500000, rest: str = "") -> str:
    """A step line of Megatron-LM, without a stamp."""
    return (
        f" iteration {step:8d}/{total:8d} | consumed samples: {step * 256:12d} |"
        f" elapsed time per iteration (ms): {seconds * 1000:.1f} | learning rate: 1.5E-04 | lm loss: "
        f"2.1E+00 |{rest}"
    )


def unstamped_steps(first: int, count: int, seconds: float, every: float) -> list[Record]:
    """Steps from `first` on, one line each `every` seconds of the clock; the lines tell the same step time."""
    return records([step_line(first + n, every) for n in range(count)], seconds, every)
