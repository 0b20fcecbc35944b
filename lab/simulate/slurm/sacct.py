"""What does sacct print? One row per attempt, with `-D`; it goes on answering when the controller is down."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lab.simulate.actions import begin_time
from lab.simulate.hostlist import fold
from lab.simulate.jobs import AttemptRow
from lab.simulate.model import Cluster
from lab.simulate.slurm.options import VERSION, Answer, BadOption, Options, read
from lab.simulate.times import moment, shown, span, stamp

KNOWN = {
    "duplicates": "D",
    "allocations": "X",
    "parsable": "p",
    "parsable2": "P",
    "noheader": "n",
    "allusers": "a",
    "jobs=": "j",
    "format=": "o",
    "starttime=": "S",
    "delimiter=": "",
    "version": "V",
}
DEFAULT = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode"


@dataclass(frozen=True, slots=True)
class Told:
    """An attempt, or its batch step, told to a client."""

    row: AttemptRow
    cluster: Cluster
    time_format: str
    step: bool = False

    def time(self, at: int | None, nothing: str = "Unknown") -> str:
        """A time in the client's format."""
        return moment(at, self.time_format, nothing)

    def number(self) -> str:
        """`7` or `7.batch`."""
        return f"{self.row.number}.batch" if self.step else str(self.row.number)

    def seconds(self) -> int:
        """How long it ran."""
        row = self.row
        if row.started_at is None:
            return 0
        return (int(self.cluster.now) if row.ended_at is None else row.ended_at) - row.started_at

    def state(self) -> str:
        """The state; a step that was ended from outside is cancelled."""
        if not self.step:
            return self.row.word
        ended = self.row.state in ("REQUEUED", "NODE_FAIL", "TIMEOUT", "PREEMPTED") and not self.row.exit_code
        return "CANCELLED" if ended else "FAILED" if self.row.exit_code else self.row.state

    def exit_code(self) -> str:
        """Of an exit code of a signal, 128 + n, sacct shows n, as the code (observed: 143:0 is `15:0`)."""
        code = self.row.exit_code
        return f"{code - 128 if code >= 128 else code}:{self.row.exit_signal}"

    def node_list(self) -> str:
        """A step ran on the batch host alone."""
        return fold(self.row.nodes[:1] if self.step else self.row.nodes) or "None assigned"

    def nodes(self) -> str:
        """Number of nodes."""
        return "1" if self.step else str(self.row.node_count)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, its usual width (negative: at the left) and how its text is found."""

    name: str
    width: int
    text: Callable[[Told], str]


COLUMNS = {
    column.name.lower(): column
    for column in (
        Column("Account", 10, lambda told: told.row.account),
        Column("AdminComment", 19, lambda told: ""),  # not kept by the accounting (observed)
        Column("AllocCPUS", 10, Told.nodes),
        Column("AllocNodes", 10, Told.nodes),
        Column("Cluster", 10, lambda told: told.cluster.settings.cluster_name),
        Column("Comment", 14, lambda told: "" if told.step else told.row.comment),
        Column("DBIndex", 14, lambda told: str(told.row.index)),
        Column("DerivedExitCode", 15, lambda told: "" if told.step else "0:0"),
        Column("Elapsed", 10, lambda told: span(told.seconds())),
        Column("ElapsedRaw", 10, lambda told: str(told.seconds())),
        Column("Eligible", 19, lambda told: told.time(told.row.eligible_at)),
        Column("End", 19, lambda told: told.time(told.row.ended_at)),
        Column("ExitCode", 8, Told.exit_code),
        Column("JobID", -12, Told.number),
        Column("JobIDRaw", -12, Told.number),
        Column("JobName", 10, lambda told: "batch" if told.step else told.row.name),
        Column("NNodes", 8, Told.nodes),
        Column("NodeList", 15, Told.node_list),
        Column("Partition", 10, lambda told: "" if told.step else told.row.partition),
        Column("Reason", 22, lambda told: "" if told.step else told.row.reason),
        Column("Start", 19, lambda told: told.time(told.row.started_at)),
        Column("State", 10, Told.state),
        Column("Submit", 19, lambda told: told.time(told.row.submitted_at)),
        Column("UID", 6, lambda told: "" if told.step else str(told.cluster.settings.user_id)),
        Column("User", 9, lambda told: "" if told.step else told.row.user),
    )
}


def sacct(cluster: Cluster, argv: Sequence[str], time_format: str) -> Answer:
    """The answer of `sacct`; without `-D` only the last attempt of each job."""
    options = read("sacct", argv, KNOWN, hint=False)
    if options.has("version"):
        return 0, f"slurm-wlm {VERSION}\n", ""
    columns = [_column(word) for word in options.listed("format") or DEFAULT.split(",")]
    told = []
    for row in _rows(cluster, options):
        told.append(Told(row, cluster, time_format))
        if not options.has("allocations") and row.started_at is not None:
            told.append(Told(row, cluster, time_format, step=True))
    lines = [] if options.has("noheader") else _heading(columns, options)
    lines += [_line([column.text(one) for column, _ in columns], columns, options) for one in told]
    return 0, "".join(f"{line}\n" for line in lines), ""


def _column(word: str) -> tuple[Column, int]:
    name, _, width = word.partition("%")
    column = COLUMNS.get(name.lower())
    if column is None or (width and not re.fullmatch(r"-?[0-9]{1,6}", width)):
        raise BadOption(f'sacct: error: Invalid field requested: "{name}"\n')
    return column, int(width or column.width)


def _rows(cluster: Cluster, options: Options) -> list[AttemptRow]:
    kept = {**cluster.forgotten, **{job.number: job.rows for job in cluster.jobs.values()}}
    if options.has("jobs"):
        words = options.listed("jobs")
        for word in words:
            if not re.fullmatch(r"[0-9]{1,18}", word):
                raise BadOption(f"sacct: fatal: Bad job/step specified: {word}\n")
        kept = {number: kept[number] for number in sorted({int(word) for word in words}) if number in kept}
    since = _since(options.get("starttime"), cluster.now)
    rows = [row for rows in kept.values() for row in (rows if options.has("duplicates") else rows[-1:])]
    rows = [row for row in rows if row.ended_at is None or shown(row.ended_at) >= since]
    return sorted(rows, key=lambda row: (row.submitted_at, row.index))


def _since(text: str, now: float) -> float:
    """`now-1hour` and the like, an ISO time, epoch seconds or `today`; no text: the beginning."""
    if not text:
        return 0.0
    if re.fullmatch(r"[0-9]{9,12}", text):
        return float(text)
    try:
        if text.startswith("now-"):
            return 2 * now - begin_time(text.replace("-", "+", 1), now)
        return begin_time(stamp(now, "%Y-%m-%dT00:00:00") if text == "today" else text, now)
    except ValueError as error:
        raise BadOption(f"{error}\n") from None


def _heading(columns: Sequence[tuple[Column, int]], options: Options) -> list[str]:
    names = _line([column.name for column, _ in columns], columns, options)
    if options.has("parsable") or options.has("parsable2"):
        return [names]
    return [names, "".join(f"{'-' * abs(width)} " for _, width in columns)]


def _line(texts: Sequence[str], columns: Sequence[tuple[Column, int]], options: Options) -> str:
    border = options.get("delimiter", "|")
    if options.has("parsable2"):
        return border.join(texts)
    if options.has("parsable"):
        return "".join(f"{text}{border}" for text in texts)
    return "".join(f"{_fit(text, width)} " for text, (_, width) in zip(texts, columns, strict=True))


def _fit(text: str, width: int) -> str:
    size = abs(width)
    cut = text if len(text) <= size else f"{text[: size - 1]}+"
    return cut.ljust(size) if width < 0 else cut.rjust(size)
