"""Where do the logs of an attempt stand? Our own expander for the % fields of sbatch and srun (decisions 5).

What only the running step knows (task, node, step) becomes a wildcard, and the file that is found tells it back.
Everything comes from a job's owner: nothing here touches a file, `..` and links are the reader's to refuse, and
count, length and wildcards are bounded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import re2

PATTERNS_LIMIT = 16
PATH_LIMIT = 4096  # bytes, the kernel's own limit
WILDCARDS_LIMIT = 6  # in one pattern; each is a folder or file name to be searched
REMEMBERED = 16_384  # expanded patterns: every turn over an attempt asks for the same ones
WIDTH_LIMIT = 10  # Slurm's limit of zero padding
NO_ARRAY_TASK = 4294967294  # what Slurm writes for %a outside an array

RANK, NODE_INDEX, HOST, STEP = "t", "n", "N", "s"
NODE_NAME = "[A-Za-z0-9][A-Za-z0-9.-]*"
STEP_NAME = "(?:[0-9]+|batch|interactive)"


@dataclass(frozen=True)
class JobNames:
    """What the fields of a pattern stand for. `work_dir` is where relative patterns begin."""

    number: int
    name: str
    user: str
    work_dir: str
    array_job: int | None = None
    array_task: int | None = None


@dataclass(frozen=True)
class Hints:
    """What the name of a file tells of the lines in it; `None` where it tells nothing."""

    host: str | None = None
    rank: int | None = None


@dataclass(frozen=True)
class LogPattern:
    """One place to look at: `glob` for the file system, `expression` (RE2) for what it finds.

    `origin` is `opt-in`, `cluster`, `stdout` or `stderr`. `fields` are the wildcards in the order of the
    expression's groups. Literal `*`, `?` and `[` are escaped in `glob`: only % fields are wild.
    """

    glob: str
    expression: str
    origin: str
    fields: str = ""

    @property
    def wild(self) -> bool:
        """Whether `glob` can find more than one file."""
        return bool(self.fields)


@dataclass
class _Building:
    glob: list[str] = field(default_factory=list)
    expression: list[str] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)

    def literal(self, text: str) -> None:
        if not text:
            return
        self.glob.append("".join(f"[{char}]" if char in "*?[" else char for char in text))
        self.expression.append(re2.escape(text))

    def wildcard(self, letter: str, shape: str) -> None:
        if self.glob[-1:] != ["*"]:  # two in a row would be the sign for "all folders below"
            self.glob.append("*")
        self.expression.append(f"({shape})")
        self.fields.append(letter)


def log_patterns(
    names: JobNames,
    opt_in_logs: Sequence[str],
    cluster_patterns: Sequence[str],
    stdout: str,
    stderr: str,
) -> tuple[LogPattern, ...]:
    """Where to look, in the order of decisions 5: the opt-in, the cluster, the job's own output.

    At most `PATTERNS_LIMIT`, each once; the job's own output always has its place. An empty `stdout` is Slurm's
    default; an empty `stderr` goes where stdout goes; `/dev/null` is no log.
    """
    default = "slurm-%j.out" if names.array_task is None else "slurm-%A_%a.out"
    own = [(stdout or default, "stdout"), (stderr, "stderr")]
    asked = [(text, "opt-in") for text in opt_in_logs] + [(text, "cluster") for text in cluster_patterns]
    found: dict[str, LogPattern] = {}
    for text, origin in asked[: PATTERNS_LIMIT - len(own)] + own:
        pattern = expand(text, names, origin)
        if pattern and pattern.glob != "/dev/null":
            found.setdefault(pattern.expression, pattern)
    return tuple(found.values())


@lru_cache(REMEMBERED)
def expand(text: str, names: JobNames, origin: str) -> LogPattern | None:
    """One pattern with its fields replaced; `None` when it cannot name a log.

    That is: an empty one, a relative one without a folder to begin in, one that is too long, too wild or no
    UTF-8, and one in which a job's or user's name would climb out of its folder.
    """
    full = text if text.startswith("/") else f"{names.work_dir.rstrip('/')}/{text}"
    if not text or "\0" in full or not full.startswith("/") or len(full) > PATH_LIMIT:
        return None
    if not text.startswith("/") and not names.work_dir.startswith("/"):
        return None
    building = _Building()
    try:
        if "\\" in text:
            # Slurm takes a pattern with a backslash literally and drops the backslashes.
            building.literal(full.replace("\\\\", "\0").replace("\\", "").replace("\0", "\\"))
        else:
            folder = full[: len(full) - len(text)]  # the work folder is a folder, not a pattern
            building.literal(folder)
            _expand_fields(text, names, building)
        glob, expression = "".join(building.glob), "".join(building.expression)
        size = len(glob.encode())
    except (_Unusable, UnicodeEncodeError):
        return None
    if size > PATH_LIMIT or len(building.fields) > WILDCARDS_LIMIT:
        return None
    return LogPattern(glob, expression, origin, "".join(building.fields))


class _Unusable(Exception):
    """A name that would climb out of its folder."""


def _expand_fields(text: str, names: JobNames, building: _Building) -> None:
    at = 0
    while at < len(text):
        percent = text.find("%", at)
        if percent < 0:
            building.literal(text[at:])
            return
        building.literal(text[at:percent])
        letter_at = percent + 1
        while letter_at < len(text) and text[letter_at] in "0123456789":
            letter_at += 1
        letter = text[letter_at : letter_at + 1]
        width = min(int(text[percent + 1 : letter_at][:4] or 0), WIDTH_LIMIT)
        if not _field(letter, width, names, building):
            building.literal(text[percent : letter_at + 1])  # a field we do not know stays as it stands
        at = letter_at + 1


def _field(letter: str, width: int, names: JobNames, building: _Building) -> bool:
    """Add what one field stands for; `False` for a letter that is no field."""
    array_job = names.number if names.array_job is None else names.array_job
    array_task = NO_ARRAY_TASK if names.array_task is None else names.array_task
    numbers = {"j": names.number, "J": names.number, "A": array_job, "a": array_task}
    texts = {"%": "%", "x": names.name, "u": names.user}
    digits = f"[0-9]{{{max(width, 1)},}}"
    # The step stands behind %J in the output of an srun, and nothing in that of a batch script.
    wildcards = {RANK: digits, NODE_INDEX: digits, HOST: NODE_NAME, STEP: STEP_NAME, "J": rf"(?:\.{STEP_NAME})?"}
    if letter in texts:
        building.literal(_inside(texts[letter]))
    if letter in numbers:
        building.literal(f"{numbers[letter]:0{width}d}")
    if letter in wildcards:
        building.wildcard(STEP if letter == "J" else letter, wildcards[letter])
    return letter in texts or letter in numbers or letter in wildcards


def _inside(name: str) -> str:
    if not name or ".." in name.split("/"):
        raise _Unusable
    return name


def hints_of(pattern: LogPattern, paths: Sequence[str], nodes: Sequence[str] = ()) -> Mapping[str, Hints]:
    """The files among `paths` that `pattern` really means, with what their names tell.

    `paths` are all that its glob found (a glob cannot say "digits only"); `nodes` the attempt's nodes in the
    scheduler's order, which `%n` counts. A batch script's output is one file that holds every rank: when the
    job's own pattern matches a single file, its name tells nothing.
    """
    matched = {path: found for path in paths if (found := _groups(pattern, path)) is not None}
    if pattern.origin in {"stdout", "stderr"} and len(matched) == 1:
        return {path: Hints() for path in matched}
    return {path: _hints(found, nodes) for path, found in matched.items()}


def _groups(pattern: LogPattern, path: str) -> dict[str, str] | None:
    """Field letter to text; `None` when the path is none of the pattern's, or a field differs from itself."""
    try:
        if not pattern.fields:  # most logs, and an expression takes long to compile
            return {} if re2.escape(path) == pattern.expression else None
        match: Any = re2.fullmatch(pattern.expression, path)
    except UnicodeEncodeError:  # a file name that is no UTF-8
        return None
    if match is None:
        return None
    found: dict[str, str] = {}
    for letter, text in zip(pattern.fields, match.groups(), strict=True):
        if found.setdefault(letter, text) != text and letter != STEP:
            return None
    return found


def _hints(found: Mapping[str, str], nodes: Sequence[str]) -> Hints:
    host = found.get(HOST)
    if host is None and NODE_INDEX in found and int(found[NODE_INDEX]) < len(nodes):
        host = nodes[int(found[NODE_INDEX])]
    rank = found.get(RANK)
    return Hints(host, None if rank is None or len(rank) > WIDTH_LIMIT else int(rank))
