"""Which hosts does a cause implicate, and which of them may be left out? Attribution sections 7.2 and 8.2."""

from dataclasses import replace

from detectors.attribution.candidates import Candidate
from detectors.attribution.classes import EXCLUDE, LOCAL_FOLDERS, ONE_OR_ALL
from detectors.attribution.facts import Symptom
from detectors.attribution.hosts import named_by
from detectors.attribution.judgement import Implicated
from detectors.attribution.told import is_reason
from detectors.attribution.weighing import HIGHEST, TO_EXCLUDE, Weighed
from detectors.catalogue.health import BASIS
from detectors.catalogue.role import Role

MOST_CULPRITS = 2  # more hosts than that at once are suspects (section 7.2, guards)
MOST_VICTIMS = 64  # listed in a verdict
_OF_ONE_SYMPTOM = ("cause.first", "cause.node_failure")


def blame(weighed: Weighed) -> Weighed:
    """The same with its hosts: culprits, suspects and victims. Of a shared cause all are victims."""
    if weighed.shared is not None:
        return replace(weighed, implicated=_victims(weighed, frozenset()))
    also = also_broken(weighed)
    named = (*_named(weighed), *_also_named(weighed, also))
    hosts = frozenset(one.host for one in named)
    return replace(weighed, also=also, implicated=(*named, *_victims(weighed, hosts)))


def also_broken(weighed: Weighed) -> tuple[Candidate, ...]:
    """Other hosts that root evidence of their own proves broken, one candidate for each, the surest first."""
    cause = weighed.cause
    if cause.candidate is None or cause.tier > 2 or cause.rule not in _OF_ONE_SYMPTOM:
        return ()
    surest: dict[str, Candidate] = {}
    for candidate in weighed.case.candidates:
        symptom, hosts = candidate.symptom, candidate.named.hosts
        alone = candidate.counts and candidate.tier.number <= 2 and len(hosts) == 1 and not candidate.named.mixed
        proved = symptom.role is Role.ROOT and symptom.action == EXCLUDE and not _by_scheduler(symptom)
        own = alone and proved and hosts[0] not in cause.named.hosts
        if own and (hosts[0] not in surest or symptom.confidence > surest[hosts[0]].symptom.confidence):
            surest[hosts[0]] = candidate
    return tuple(sorted(surest.values(), key=lambda one: (-one.symptom.confidence, one.named.hosts)))


def _by_scheduler(symptom: Symptom) -> bool:
    """Its lines name the first node of the allocation, whichever was lost; a reason is of the node itself."""
    return symptom.signature.startswith("slurm.") and not is_reason(symptom)


def _also_named(weighed: Weighed, also: tuple[Candidate, ...]) -> tuple[Implicated, ...]:
    """Culprits each by its own confidence, as long as there are not too many; the others are suspects."""
    room = MOST_CULPRITS - len(weighed.cause.named.hosts)
    rows = []
    for place, candidate in enumerate(also):
        certain = place < room
        own = min(candidate.symptom.confidence, HIGHEST if certain else 0.5)
        rank = min(candidate.symptom.ranks, default=None)
        excludable = certain and own >= TO_EXCLUDE
        rows.append(
            Implicated(candidate.named.hosts[0], "culprit" if certain else "suspect", own, rank, excludable)
        )
    return tuple(rows)


def _named(weighed: Weighed) -> tuple[Implicated, ...]:
    cause = weighed.cause
    hosts = cause.named.hosts
    certain = (cause.tier != 8 or weighed.repeated or cause.counted) and len(hosts) <= MOST_CULPRITS
    confidence = weighed.confidence if certain else min(weighed.confidence, 0.5)
    may_exclude = certain and _fault_of_a_host(weighed) and confidence >= TO_EXCLUDE
    ranks = _ranks_by_host(weighed)
    return tuple(
        Implicated(host, "culprit" if certain else "suspect", confidence, ranks.get(host), may_exclude)
        for host in hosts
    )


def _fault_of_a_host(weighed: Weighed) -> bool:
    """Whether leaving the host out can help: broken hardware, or an environment that only one host has."""
    cause, only_host = weighed.cause, len(weighed.facts.attempt.nodes) == 1
    if weighed.repeated or cause.counted:
        return True
    if cause.action == ONE_OR_ALL:
        shared_disk = cause.signature == "fs.enospc" and not _on_local_disk(weighed)
        return (weighed.on_one_host and not shared_disk) or (cause.tier <= 2 and only_host)
    return cause.action == EXCLUDE and (cause.tier <= 2 or weighed.on_one_host or only_host)


def _on_local_disk(weighed: Weighed) -> bool:
    """A full folder of the node itself; of a full shared disk rank 0 alone may tell, too."""
    symptom = weighed.cause.candidate.symptom if weighed.cause.candidate else None
    lines = [quote.line for quote in symptom.evidence] if symptom else []
    return any(f"'{folder}" in line for line in lines for folder in LOCAL_FOLDERS)


def _ranks_by_host(weighed: Weighed) -> dict[str, int]:
    """The lowest rank of the proving symptom on each host."""
    symptom = weighed.cause.candidate.symptom if weighed.cause.candidate else None
    if symptom is None:
        return {}
    ranks = set(weighed.cause.ranks) or {
        *symptom.ranks,
        *(quote.rank for quote in symptom.evidence if quote.rank is not None),
    }
    mapped = {host: rank for rank, host in reversed(weighed.facts.ranks) if rank in ranks}
    if len(ranks) == 1 and len(weighed.cause.named.hosts) == 1:
        mapped.setdefault(weighed.cause.named.hosts[0], next(iter(ranks)))
    return mapped


def _victims(weighed: Weighed, blamed: frozenset[str]) -> tuple[Implicated, ...]:
    """Hosts of victims' messages; of a shared cause also those that show it."""
    shown = weighed.hosts_showing if weighed.shared is not None else set()
    heard = {
        host
        for candidate in weighed.case.candidates
        if not candidate.counts and candidate.symptom.basis != BASIS
        for host in named_by(candidate.symptom, weighed.facts).hosts
    }
    hosts = sorted((heard | shown) - blamed)[:MOST_VICTIMS]
    return tuple(Implicated(host, "victim", 0.0) for host in hosts)
