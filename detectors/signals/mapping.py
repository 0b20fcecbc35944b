"""Which label holds what? Candidates by how well their values fit the jobs and nodes of the scheduler."""

import shlex
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from detectors.signals.remark import shown

GOOD = 0.5  # a score below it is no proposal
SHOWN = 3  # candidates of one field
EXAMPLES, VALUE_SHOWN = 3, 100
RANKS = 16  # ranks of one node at most
_HINTS = {
    "job_id": ("job",),
    "node": ("node", "host", "instance", "machine"),
    "rank": ("rank", "procid", "task"),
    "filename": ("file", "path"),
    "restart": ("restart", "requeue", "attempt"),
}
_HINTED = 0.1  # a name that says so decides between equal values
_OF_A_NODE = ("local", "gpu", "node", "dev")  # numbers that begin anew on each node are no global rank


@dataclass(frozen=True)
class Known:
    """What the scheduler has: names of running jobs (`4711`, `4700_3`), of all that are still known, and nodes.

    `ranks`: how many ranks the largest job may have; `restarts`: by name of a running job its restart count.
    """

    running: Set[str]
    jobs: Set[str]
    nodes: Set[str]
    ranks: int
    restarts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Candidate:
    """A label that may hold `field`. `score`: 0 to 1; `why`: in words; `examples`: some of its values."""

    field: str
    label: str
    score: float
    why: str
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mapped:
    """The candidates, the mapping they propose beside the present one, and the command that would set it.

    `command` is empty when nothing better than the present mapping was found. `trouble`: why not all was listed.
    """

    candidates: tuple[Candidate, ...] = ()
    proposal: Mapping[str, str] = field(default_factory=dict)
    present: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    trouble: str = ""


Values = Mapping[str, Sequence[str]]
Rows = Sequence[Mapping[str, str]]


def candidates_of(values: Values, rows: Rows, known: Known) -> tuple[Candidate, ...]:
    """The candidates, best first in each field. `values`: what the store lists by label; `rows`: of a sample."""
    seen: dict[str, dict[str, None]] = {name: dict.fromkeys(listed) for name, listed in values.items()}
    for row in rows:
        for name, value in row.items():
            seen.setdefault(name, {})[value] = None
    every = {name: [value for value in found if value] for name, found in seen.items()}
    found: list[Candidate] = []
    for label, some in every.items():
        if some:
            found += [one for one in _looked(label, some, known) if one.score > 0]
    jobs = _ranked(found, "job_id")
    if jobs:
        found += _restarts(jobs[0].label, rows, known)
    return tuple(one for name in _HINTS for one in _ranked(found, name)[:SHOWN])


def propose(candidates: Iterable[Candidate], present: Mapping[str, str]) -> dict[str, str]:
    """The best candidate of each field that is good enough; what is mapped stays where nothing better was found."""
    best: dict[str, str] = {}
    taken: set[str] = set()
    every = list(candidates)
    for name in _HINTS:
        ranked = [one for one in every if one.field == name and one.score >= GOOD and one.label not in taken]
        if not ranked:
            if name in present and present[name] not in taken:
                best[name] = present[name]
            continue
        as_it_is = next((one for one in ranked if one.label == present.get(name)), None)
        chosen = as_it_is if as_it_is and as_it_is.score >= ranked[0].score - _HINTED else ranked[0]
        best[name] = chosen.label
        taken.add(chosen.label)
    return best


def command_of(cluster: str, proposal: Mapping[str, str], job_lines: str = "") -> str:
    """The command that sets a mapping, and the selector of job lines where one is given; quoted for a shell."""
    words = ["./run", "manage", "cluster", "labels", cluster]
    words += [word for name, label in proposal.items() for word in ("--label", f"{name}={label}")]
    words += ["--job-lines", job_lines] if job_lines else []
    return " ".join(shlex.quote(word) for word in words)


def _ranked(found: Iterable[Candidate], name: str) -> list[Candidate]:
    return sorted((one for one in found if one.field == name), key=lambda one: (-one.score, one.label))


def _looked(label: str, values: Sequence[str], known: Known) -> Iterable[Candidate]:
    examples = tuple(shown(value, VALUE_SHOWN) for value in values[:EXAMPLES])
    covered, fitting = known.running & set(values), [value for value in values if value in known.jobs]
    if covered:
        score = 0.7 * len(covered) / len(known.running) + 0.2 * len(fitting) / len(values)
        why = (
            f"{len(covered)} of {len(known.running)} running jobs; {len(fitting)} of {len(values)} values are jobs"
        )
        yield Candidate("job_id", label, _hinted("job_id", label, score), why, examples)
    nodes = [value for value in values if value in known.nodes or value.partition(".")[0] in known.nodes]
    if nodes:
        score = 0.9 * len(nodes) / len(values)
        why = f"{len(nodes)} of {len(values)} values are nodes of the scheduler"
        yield Candidate("node", label, _hinted("node", label, score), why, examples)
    if _says("rank", label):
        ranks = [value for value in values if value.isascii() and value.isdigit() and int(value[:9]) < known.ranks]
        whole = not any(word in label.lower() for word in _OF_A_NODE)
        score = (0.9 if whole else 0.3) * len(ranks) / len(values)
        why = f"{len(ranks)} of {len(values)} values can be ranks" + ("" if whole else ", of one node by its name")
        yield Candidate("rank", label, _hinted("rank", label, score), why, examples)
    paths = [value for value in values if value.startswith("/")]
    if paths:
        why, score = f"{len(paths)} of {len(values)} values are paths", 0.9 * len(paths) / len(values)
        yield Candidate("filename", label, _hinted("filename", label, score), why, examples)


def _restarts(job_label: str, rows: Rows, known: Known) -> Iterable[Candidate]:
    """Labels named like it whose value is the restart count of the line's own job."""
    seen: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        count = known.restarts.get(row.get(job_label, ""))
        for label, value in row.items():
            if count is not None and value and _says("restart", label):
                seen.setdefault(label, []).append((value, count))
    for label, pairs in seen.items():
        fits = sum(value == count for value, count in pairs)
        why = f"equal to the restart count in {fits} of {len(pairs)} lines"
        examples = tuple(dict.fromkeys(shown(value, VALUE_SHOWN) for value, _count in pairs))[:EXAMPLES]
        if fits:
            yield Candidate("restart", label, _hinted("restart", label, 0.9 * fits / len(pairs)), why, examples)


def _hinted(name: str, label: str, score: float) -> float:
    return round(score + (_HINTED if _says(name, label) else 0.0), 3)


def _says(name: str, label: str) -> bool:
    return any(word in label.lower() for word in _HINTS[name])
