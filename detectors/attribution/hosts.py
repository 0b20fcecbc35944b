"""Which hosts does a symptom name?

Log text is hostile: only nodes of the attempt can be named. A rank number becomes a host by the rank map of this
attempt alone (section 3).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from detectors.attribution.facts import Facts, Symptom

WITNESSES = ("slurm.task_exit", "slurm.task_signal", "slurm.task_killed", "elastic.")
"""Lines of launchers: the first names the host of the earliest failing task."""


@dataclass(frozen=True)
class Named:
    """Hosts a symptom names. `mixed`: the line and the rank map name different ones. `by`: who names them."""

    hosts: tuple[str, ...]
    mixed: bool = False
    by: str = "line"


NOBODY = Named(())


def named_by(symptom: Symptom, facts: Facts) -> Named:
    """Hosts named by the symptom's own lines, streams and ranks.

    Where the lines are about others, whoever says them is a reporter and not named.
    """
    said = _own(symptom.nodes, facts) or _own((quote.host for quote in symptom.evidence if quote.host), facts)
    ranks = set(symptom.ranks) or {quote.rank for quote in symptom.evidence if quote.rank is not None}
    mapped = _own((host for rank, host in facts.ranks if rank in ranks), facts)
    if not said:
        return Named(mapped, by="rank map")
    if mapped and not set(said) & set(mapped):
        return Named(tuple(sorted({*said, *mapped})), mixed=True)
    return Named(said)


def named_for(symptom: Symptom, facts: Facts) -> Named:
    """As `named_by`; a symptom that names nobody borrows the host that the launcher reports first."""
    own = named_by(symptom, facts)
    if own.hosts:
        return own
    if len(facts.attempt.nodes) == 1:
        return Named(facts.attempt.nodes, by="the only node")
    watchdog = [s.happened_at for s in facts.symptoms if s.signature.startswith("pg.watchdog")]
    reports = [
        report
        for report in facts.symptoms
        if report.signature.startswith(WITNESSES)
        # In a hang torchrun's block names a victim (section 4.7).
        and not (report.signature.startswith("elastic.") and watchdog and min(watchdog) <= report.happened_at)
    ]
    for report in sorted(reports, key=lambda s: (s.happened_at, s.key)):
        hosts = _first_named(report, facts)
        if hosts:
            return Named(hosts, by="srun" if report.signature.startswith("slurm.") else "torchrun")
    return NOBODY


def hosts_seen(facts: Facts) -> tuple[str, ...]:
    """Every host of the attempt that anything was heard of."""
    heard = {host for _rank, host in facts.ranks}
    for symptom in facts.symptoms:
        heard.update(named_by(symptom, facts).hosts)
    return tuple(sorted(heard & set(facts.attempt.nodes)))


def _first_named(report: Symptom, facts: Facts) -> tuple[str, ...]:
    """The host of the report's first line; all of its hosts when no line tells."""
    lines = sorted(report.evidence, key=lambda quote: (quote.stream, quote.offset))
    for quote in lines:
        host = _own([quote.host], facts) if quote.host else ()
        if host:
            return host
    return named_by(report, facts).hosts if len(report.nodes) == 1 else ()


def _own(names: Iterable[str], facts: Facts) -> tuple[str, ...]:
    """The nodes of the attempt among some names; `n03.cluster.local` is `n03`."""
    full = {node: node for node in facts.attempt.nodes}
    short = {node.partition(".")[0]: node for node in facts.attempt.nodes}
    found = (full.get(name) or short.get(name.partition(".")[0]) for name in names)
    return tuple(sorted({node for node in found if node}))
