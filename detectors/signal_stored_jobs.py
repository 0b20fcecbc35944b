"""What do the sampled lines of a log store show of one job?"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from detectors.catalogue.records import Context
from detectors.signal_bounds import Look
from detectors.signal_stores import STRANGE, StoreSample
from detectors.signals.facts import JobFacts, Labelled, Lines, Stream
from detectors.signals.measuring import Sample, measure
from detectors.store_asking import Place
from detectors.store_gathering import Told, names_of, news_of
from detectors.stores.belonging import safe_host, safe_rank
from detectors.stores.store import SECOND, Labels, Line
from schedulers.states import FINAL, JobState
from workloads.models import Attempt


def stored_job_facts(attempt: Attempt, context: Context, sample: StoreSample, place: Place, look: Look) -> JobFacts:
    """One job's facts, from the lines with its number since its start."""
    job, labels = attempt.job, place.labels
    since = attempt.started_at.timestamp() * SECOND if attempt.started_at else 0.0
    names = names_of(job.number, job.array_job, job.array_task)
    lines = sorted(
        (line for name in names for line in sample.lines.get(name, ()) if line.ns >= since),
        key=lambda line: line.ns,
    )
    told = Told(place.store.name, labels, place.job_lines, "", at_end=True, now=look.now)
    news = news_of(attempt, look.stored, told, lines)
    watched = {name: watch.state for name, watch in look.stored.watches[attempt.pk].items()}
    newest_at = datetime.fromtimestamp(lines[-1].ns / SECOND, UTC) if lines else None
    return JobFacts(
        number=job.number,
        index=attempt.index,
        running=JobState(attempt.state) not in FINAL,
        started_at=attempt.started_at,
        node_count=len(attempt.nodes) or job.node_count,
        streams=tuple(Stream(one.stream.name, "", newest_at) for one in news.streams if one.portion.records),
        tried=news.tried,
        trouble=f"the log store cannot be seen: {sample.facts.trouble}" if sample.facts.trouble else "",
        cut=sample.facts.cut,
        lines=measure(Sample((), news.records, watched), context, look.now) if lines else Lines(),
        newest_at=newest_at,
        labels=_labels(labels, lines, attempt),
    )


def _labels(labels: Labels, lines: Sequence[Line], attempt: Attempt) -> dict[str, Labelled]:
    fits: dict[str, tuple[str, Callable[[Line], bool]]] = {
        "node": (labels.node, lambda line: safe_host(labels, line, attempt.nodes) is not None),
        "rank": (labels.rank, lambda line: safe_rank(labels, line) is not None),
        "filename": (labels.filename, lambda line: bool(line.labels.get(labels.filename))),
        "restart": (labels.restart, lambda line: line.labels.get(labels.restart) == str(attempt.index)),
    }
    return {name: _labelled(label, fit, lines) for name, (label, fit) in fits.items()}


def _labelled(label: str, fits: Callable[[Line], bool], lines: Sequence[Line]) -> Labelled:
    if not label:
        return Labelled("")
    having = [line for line in lines if line.labels.get(label)]
    strange = dict.fromkeys(line.labels[label] for line in having if not fits(line))
    return Labelled(label, len(having), sum(map(fits, having)), tuple(strange)[:STRANGE])
