"""How is a score card written down for people? Markdown whose tables are straight in a terminal, too."""

from collections.abc import Iterable, Mapping, Sequence

from lab.score.calibration import ENOUGH
from lab.score.causes import CAUSES, NOT_YET
from lab.score.confusion import Confusion
from lab.score.grade import NOTHING, Grade, Standing
from lab.score.markdown import filled, plain, rows
from lab.score.meta import Meta
from lab.score.percentiles import Spread
from lab.score.scores import QUESTIONS, Scores, by_group, scores
from lab.score.wilson import Rate, Share

NOT_ASKED = "–"
COLUMNS = 100  # of a terminal in which a table has to be readable
TRAPS_KIND = (
    "Of a trap the first symptom counts, even when nothing follows from it: a cancelled job has ended, too."
)
EXCLUSIONS = "nodes left out that were guilty"
BASES = {
    "line": "the stamp of a log line",
    "file": "the time of a log file",
    "state": "a change of state",
    "step": "the last step before a silence",
}


def table(where: str, meta: Meta, parts: Sequence[tuple[str, Sequence[Grade]]]) -> str:
    """The whole card."""
    lines = [title(where, meta), ""]
    for name, grades in parts:
        lines += [f"## {plain(name[:1].upper() + name[1:])}", "", *part(grades)]
    return "\n".join(lines).rstrip() + "\n"


def title(where: str, meta: Meta) -> str:
    """The head line: what was measured, when, with what."""
    told = (
        meta.source,
        meta.date,
        meta.version and f"Rekindle {meta.version}",
        meta.commit and f"commit {meta.commit}",
        f"seed {meta.seed}" if meta.seed is not None else "",
        f"{meta.seconds:.0f} s" if meta.seconds is not None else "",
        meta.machine,
    )
    return f"# Score card: {plain(', '.join(word for word in (where, *told) if word))}"


def part(grades: Sequence[Grade], level: str = "###") -> list[str]:
    """Numbers, groups, latency, calibration, matrices and every miss of one set of grades."""
    some = scores(grades)
    lines = [*summary(some), "", false_actions(some.false_actions), ""]
    sections: tuple[tuple[str, list[str]], ...] = (
        ("Latency of detection, from the deed", latency(some.latency)),
        ("By group", groups(grades)),
        ("Latency by group", group_latency(grades)),
        ("Calibration of confidence", calibration(some)),
        ("Kinds: true in rows, said in columns", kinds(some.kinds)),
        ("Domains: true in rows, said in columns", matrix(some.domains)),
        ("Not as it should be", misses(grades)),
        ("Not counted", not_counted(grades)),
    )
    for name, section in sections:
        if section:
            lines += [f"{level} {name}", "", *section, ""]
    return lines


def summary(some: Scores) -> list[str]:
    """One row for each question that was asked at all."""
    asked = [(words, some.shares[key]) for key, words, _ in QUESTIONS] + [(EXCLUSIONS, some.shares["exclusions"])]
    body = [[words, f"{one.hits} of {one.n}", percent(one), within(one)] for words, one in asked if one.n]
    body += [
        [plain(words), f"{one.hits} of {one.n}", percent(one), within(one)] for words, one in some.answers.items()
    ]
    return rows(("question", "counted", "share", "95 % within"), body) if body else ["Nothing was measured."]


def percent(one: Share) -> str:
    """`94 %`, or `–` where nothing was asked."""
    return f"{one.share * 100:.0f} %" if one.share is not None else NOT_ASKED


def within(one: Share) -> str:
    """`82–98 %`."""
    return f"{one.interval[0] * 100:.0f}–{one.interval[1] * 100:.0f} %" if one.interval is not None else NOT_ASKED


def false_actions(one: Rate) -> str:
    """A sentence: the count, the hours, the rate and its bounds."""
    if one.per_thousand is None or one.interval is None:
        return f"False actions: {one.count}; no healthy job-hour was measured, so there is no rate."
    low, high = one.interval
    rate = f"{one.per_thousand:.3g} in 1,000 (95 % within {low:.3g}–{high:.3g})"
    return f"False actions: {one.count} in {one.hours:,.1f} healthy job-hours; {rate}."


def latency(spreads: Mapping[str, Spread]) -> list[str]:
    """One row for each basis; they are different clocks and never added up."""
    body = [
        [BASES.get(basis, plain(basis)), str(one.n), _seconds(one.p50), _seconds(one.p95), _seconds(one.most)]
        for basis, one in spreads.items()
    ]
    return rows(("the symptom's time is read from", "n", "p50", "p95", "longest"), body) if body else []


def groups(grades: Sequence[Grade]) -> list[str]:
    """One row for each group: what is asked of faults, and what is asked of traps."""
    keys = [key for key, _, _ in QUESTIONS]
    body = []
    for name, some in by_group(grades).items():
        numbers = scores(some)
        if numbers.counted:
            body.append([plain(name), str(numbers.counted), *(_of(numbers.shares[key]) for key in keys)])
    head = (
        "group",
        "n",
        "found",
        "layer",
        "domain",
        "culprit",
        "action",
        "later",
        "left alone",
    )
    return rows(*filled(head, body, NOT_ASKED)) if body else []


def group_latency(grades: Sequence[Grade]) -> list[str]:
    """One row for each group and clock; nothing when there is one group, whose row it would be twice."""
    spreads = {name: scores(some).latency for name, some in by_group(grades).items()}
    body = [
        [plain(name), BASES.get(basis, plain(basis)), str(one.n), _seconds(one.p50), _seconds(one.p95)]
        for name, some in spreads.items()
        for basis, one in some.items()
    ]
    several = sum(bool(some) for some in spreads.values()) > 1
    return rows(("group", "the symptom's time is read from", "n", "p50", "p95"), body, 2) if several else []


def calibration(some: Scores) -> list[str]:
    """Bins with their n and their share where that is enough, and the error, or that there are too few for one."""
    told = some.calibration
    if not told.n:
        return []
    body = [
        [
            f"{one.low:.2f}–{one.high:.2f}",
            str(one.n),
            str(one.right),
            f"{one.confidence:.2f}",
            f"{one.share_right:.2f}" if one.n >= ENOUGH else "not measured",
        ]
        for one in told.bins
    ]
    error = f"{told.error:.3f}" if told.error is not None else f"not measured, which needs {ENOUGH}"
    lines = rows(("confidence", "n", "right", "mean confidence", "share right"), body)
    return [*lines, "", f"Expected calibration error over {told.n} verdicts: {error}."]


def matrix(one: Confusion) -> list[str]:
    """Counts; what never happened is left empty. Names that do not fit above the columns have numbers there."""
    names = [plain(name) for name in one.columns]
    counts = [[str(count) if count else "" for count in line] for line in one.counts]
    truths = [plain(truth) for truth in one.rows]
    body = [[truth, *line] for truth, line in zip(truths, counts, strict=True)]
    lines = rows(("", *names), body) if body else []
    if not lines or len(lines[0]) <= COLUMNS:
        return lines
    numbers = {name: str(number) for number, name in enumerate(names, 1)}
    body = [[f"{numbers[truth]} {truth}", *line] for truth, line in zip(truths, counts, strict=True)]
    others = ", ".join(f"{number} {name}" for name, number in numbers.items() if name not in truths)
    return [*rows(("", *numbers.values()), body), *(["", f"Said only: {others}."] if others else [])]


def kinds(one: Confusion) -> list[str]:
    """The matrix of kinds, and what its last row means."""
    said = dict(zip(one.columns, one.counts[one.rows.index(NOTHING)], strict=True)) if NOTHING in one.rows else {}
    explained = any(count for kind, count in said.items() if kind != NOTHING)
    return [*matrix(one), *(["", TRAPS_KIND] if explained else [])]


def misses(grades: Iterable[Grade]) -> list[str]:
    """Every case that is not as it should be: what is wrong, what was said, and why, where that is known."""
    return [
        f"- **{plain(one.name)}** ({plain(one.group)}): {plain('; '.join(one.wrong))}. Said: {plain(one.said)}. "
        f"Cause: {plain(CAUSES.get(one.name, NOT_YET))}"
        for one in grades
        if one.wrong
    ]


def not_counted(grades: Iterable[Grade]) -> list[str]:
    """Every case that is part of no number, and why."""
    return [
        f"- **{plain(one.name)}** ({one.standing.value}): {plain(one.why or 'no reason is known')}. "
        f"Said: {plain(one.said)}."
        for one in grades
        if one.standing is not Standing.COUNTED
    ]


def _of(one: Share) -> str:
    return f"{one.hits}/{one.n}" if one.n else NOT_ASKED


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if abs(seconds) < 120 else f"{seconds / 60:.1f} min"
