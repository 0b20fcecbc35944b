"""What does a line say once its wrapping is off, and what did the wrapping say?

The order is that of the reference, section 3: the reader decodes (UTF-8, replace); here a line is cut to 16 KB,
split at carriage returns (the last state of a progress bar stays), freed of colours, then of the prefixes of
container runtimes, Ray, resiliency launchers, `mpirun`, `srun -l` and torchrun. What a prefix says is kept.
"""

import functools
import re
from dataclasses import dataclass, replace
from datetime import datetime

from detectors.catalogue.records import LINE_LIMIT

_MAY_WRAP = frozenset("0123456789[( ")  # first characters of prefixes
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TASK = re.compile(r" {0,7}(?P<task>\d{1,7}):(?: |$)", re.ASCII)
_ROLE = re.compile(r"\[(?P<role>[A-Za-z_][A-Za-z_\-]{0,30}?)(?P<number>\d{1,7})\]: ?", re.ASCII)
_MPI = re.compile(r"\[(?:[\w.\-]{1,120}@)?\d{1,10},(?P<rank>\d{1,7})\]<std(?:out|err|diag)>: ?", re.ASCII)
_MPI_TAG = "]<std"  # in the tag that `mpirun` puts before a line
_CONTAINER = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\dT[\d:.]{5,20}(?:Z|[+\-]\d\d:?\d\d)) (?:stdout|stderr) (?P<part>[FP]) ", re.ASCII
)
_RAY = re.compile(r"\((?P<actor>[\w.:]{1,100}) pid=(?P<pid>\d{1,10})(?:, ip=(?P<ip>[\d.]{1,15}))?\) ?", re.ASCII)
_AGENT = re.compile(
    r"(?:\[infra +\d{1,7}\]: )?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[,.]\d{1,9} \[\w{1,10}\]"
    r" \[(?P<host>[\w.\-]{1,253})\] \[workload:(?P<rank>\d{1,7})\((?P<local>\d{1,4})\) infra:\d{1,7}\(\d{1,4}\)\] ",
    re.ASCII,
)
LONGEST_TAG = 150  # characters
SHAPE_LIMIT = 1024  # characters of a line whose shape is remembered
UNSURE = -1
_LAYERS = 6  # prefixes on top of each other; three were seen

_OWN = re.compile(
    r"\W{0,8}rekindle\b|[^\n]{0,80}[\s\[\"'(]rekindle(?:\.[\w.]{1,60})?(?:\[\d+\])?[\])\"']?\s?[:|]", re.IGNORECASE
)
_GROUP = re.compile(r"\(\?(?:P<\w|:|i[):])")
_KEY = re.compile(r"[\"'](?:pattern|regex|must_not|unless|example)[\"']\s*:")
_QUOTED_NAME = re.compile(r"[`'\"]([a-z0-9_]{1,30}(?:\.[a-z0-9_]{1,30}){1,3})[`'\"]")


@dataclass(frozen=True, slots=True)
class Said:
    """What the wrapping of a line said. `task` is Slurm's task, usually the global rank."""

    task: int | None = None
    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    address: str | None = None
    at: datetime | None = None

    @property
    def label(self) -> str:
        """Tells speakers of one stream apart, also before their ranks are known."""
        parts = (self.task, self.rank, self.local_rank, self.host, self.address)
        return "/".join("" if part is None else str(part) for part in parts)


NOTHING = Said()


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A line without its wrapping. `partial`: the container runtime cut it, the rest follows."""

    text: str
    said: Said = NOTHING
    partial: bool = False


def is_plain(line: str) -> bool:
    """Whether the line has no wrapping, so that `clean` would change nothing. Most lines of most jobs."""
    first = line[:1]
    if first in _MAY_WRAP:
        if first == "[":
            if line[1:2].isalpha() or _MPI_TAG in line[:LONGEST_TAG]:
                return False
        elif first != " " or line.lstrip(" ")[:1].isdigit():
            return False
    return "\r" not in line and "\x1b" not in line and len(line) <= LINE_LIMIT


def clean(line: str) -> Cleaned:
    """The line without its wrapping. Never fails."""
    text = line[:LINE_LIMIT]
    if "\r" in text.strip("\r"):
        return _redrawn(text)
    text = text.strip("\r")
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    said, partial = NOTHING, False
    for _ in range(_LAYERS):
        first = text[:1]
        if first not in _MAY_WRAP:
            break
        if first == "[":
            taken = _bracket(text, said)
        elif first == "(":
            taken = _actor(text, said)
        else:
            taken = _number(text, said)
        if taken is None:
            break
        length, said, part = taken
        partial = partial or part
        text = text[length:]
    return Cleaned(text, said, partial)


def wrapped(shape: bytes) -> int:
    """How many characters of wrapping a line of this shape has; `UNSURE` where `clean` itself must be asked.

    `shape` (`digits.SHAPE`) is that of an ASCII line. No prefix tells one digit from another, so that all lines of
    one shape have the same.
    """
    return _wrapped(shape) if len(shape) <= SHAPE_LIMIT else UNSURE


@functools.lru_cache(maxsize=4096)
def _wrapped(shape: bytes) -> int:
    line = shape.decode("ascii")
    if is_plain(line):
        return 0
    if "\r" in line or "\x1b" in line:
        return UNSURE
    cleaned = clean(line)
    return UNSURE if cleaned.partial else len(line) - len(cleaned.text)


@functools.lru_cache(maxsize=4096)
def said_by(prefix: str) -> Said:
    """What the wrapping said; `prefix` is the whole of it, of a line that `wrapped` is sure of."""
    return clean(prefix).said


def is_own(text: str, names: frozenset[str]) -> bool:
    """Whether the line is Rekindle's own output or the text of a rule (`names`: the signatures').

    Our programs begin their lines with `rekindle`; a rule's text holds regular expression groups, the keys of our
    catalogue, or a signature's name in quotes. Nothing of it may be evidence (traps 1 and 2).
    """
    if ("ekindle" in text or "EKINDLE" in text) and _OWN.match(text) is not None:
        return True
    if "(?" in text and _GROUP.search(text) is not None:
        return True
    if "'" not in text and '"' not in text and "`" not in text:
        return False
    return _KEY.search(text) is not None or any(name in names for name in _QUOTED_NAME.findall(text))


_BAR = "%|"


def _redrawn(text: str) -> Cleaned:
    """The last state of a line that was written over; whoever labels whole lines has labelled its first piece."""
    first, last = clean(text.strip("\r").partition("\r")[0]), clean(_last_state(text))
    return last if last.said is not NOTHING else replace(last, said=first.said, partial=first.partial)


def _last_state(text: str) -> str:
    """The last piece between carriage returns that says anything.

    Where a bar was wiped away for a line of metrics, both are kept: the bar tells the step that the metrics are of.
    """
    pieces = [piece for piece in text.split("\r") if piece.strip()]
    if len(pieces) > 1 and pieces[-1].startswith("{'") and _BAR in pieces[-2]:
        return f"{pieces[-2].rstrip()} {pieces[-1]}"
    return pieces[-1] if pieces else ""


_Taken = tuple[int, Said, bool]
"""Length of a prefix, what is known with it, and whether the line is a part of one."""


def _number(text: str, said: Said) -> _Taken | None:
    """A label of `srun -l`, or a container runtime's stamp."""
    if (found := _TASK.match(text)) is not None and said.task is None:
        task = int(found["task"])
        return found.end(), _task(task) if said is NOTHING else replace(said, task=task), False
    if (found := _CONTAINER.match(text)) is not None:
        return found.end(), replace(said, at=_moment(found["at"])), found["part"] == "P"
    return None


def _bracket(text: str, said: Said) -> _Taken | None:
    """`[rank5]:` is a global rank, `[default3]:` a local one; a resiliency launcher's prefix tells both.

    `[1,5]<stdout>:` is what `mpirun` writes before a line of its process 5.
    """
    if (found := _ROLE.match(text)) is not None:
        number = int(found["number"])
        if found["role"] == "rank":
            return found.end(), replace(said, rank=number), False
        return found.end(), replace(said, local_rank=number), False
    if _MPI_TAG in text[:LONGEST_TAG] and (found := _MPI.match(text)) is not None and said.task is None:
        return found.end(), replace(said, task=int(found["rank"])), False
    if "[workload:" in text[:400] and (found := _AGENT.match(text)) is not None:
        rank, local_rank = int(found["rank"]), int(found["local"])
        return found.end(), replace(said, host=found["host"], rank=rank, local_rank=local_rank), False
    return None


def _actor(text: str, said: Said) -> _Taken | None:
    found = _RAY.match(text)
    return None if found is None else (found.end(), replace(said, address=found["ip"]), False)


@functools.lru_cache(maxsize=4096)
def _task(number: int) -> Said:
    return Said(task=number)


def _moment(text: str) -> datetime | None:
    """A container runtime's stamp: UTC or with its offset, nanoseconds cut to microseconds."""
    shortened = re.sub(r"(\.\d{6})\d+", r"\1", text)
    try:
        moment = datetime.fromisoformat(shortened)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
