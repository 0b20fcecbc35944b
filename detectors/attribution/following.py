"""Does a failure that nothing explains follow the host, or does it follow the job? Attribution section 7.2.

It follows the host when different jobs die on it, more of them than chance and use explain. It follows the job when
attempts die alike that have no host in common.
"""

from dataclasses import dataclass

from detectors.attribution.chance import SURPRISING, at_least, at_least_of
from detectors.attribution.facts import Facts
from detectors.attribution.judgement import RuleOutcome
from detectors.attribution.naming import COUNTED, Cause, fingerprint_of
from detectors.attribution.surroundings import Death, Exposure, Usual
from schedulers.states import FAILURES

OBSERVATIONS = 2  # of different jobs, this one among them, before a host is blamed
ON_OTHER_HOSTS = 3  # attempts without a common host, this one among them, before the program is blamed
EARLY_SECONDS = 120.0  # a node that kills every job so soon eats all retries within minutes
PRIOR_ATTEMPTS, PRIOR_DEATHS = 20, 1  # what is taken as usual where nothing is known: one attempt of twenty
PRIOR_HOURS = 100.0  # and one death in so many hours on a node
SIGNAL, NETWORK, STANDSTILL = 7, 8, 9  # tiers of what is no explanation by itself
SURE, SURER = 0.82, 0.88  # two observations, or more: above the 0.80 to leave a host out (decisions 20)
_NOBODY_KNOWS = ("cause.failed", "cause.unknown", "cause.launcher", "cause.communication", "cause.hang")


@dataclass(frozen=True)
class Following:
    """What the failure follows: a `host` (else empty), or the job. `rules`: what each row said."""

    host: str = ""
    confidence: float = 0.0
    of_job: bool = False
    rules: tuple[RuleOutcome, ...] = ()


def unexplained(cause: Cause) -> bool:
    """Whether nothing says why: no symptom proves it, or one that tells only how it ended."""
    if cause.counted or cause.rule in ("cause.recovered", "cause.out_of_step", "cause.slow", "cause.early_warning"):
        return False
    return cause.rule in _NOBODY_KNOWS or (cause.tier in (SIGNAL, STANDSTILL) and cause.rule not in COUNTED)


def follow(facts: Facts, cause: Cause) -> Following:
    """Whether the history of hosts and job tells more than the attempt itself."""
    if not unexplained(cause) or not failed(facts):
        return Following()
    of_job = _without_common_host(facts, cause)
    hole = "" if of_job else _leader(facts, cause, early=True)
    host = hole or ("" if of_job else _leader(facts, cause, early=False))
    seen = _deaths_on(host, facts, early=bool(hole)) if host else ()
    because = f"{1 + len(seen)} attempts died on {host} without a word: {', '.join(d.label for d in seen[-5:])}"
    return Following(
        host=host,
        confidence=SURE if len(seen) < OBSERVATIONS else SURER,
        of_job=of_job,
        rules=(
            _said("history.follows_job", of_job, "attempts of this job die alike on hosts of which none is common"),
            _said("history.black_hole", bool(hole), because if hole else "attempts die on one host as they start"),
            _said("history.follows_host", bool(host and not hole), because if host else _MORE),
        ),
    )


_MORE = "different jobs die on one host, more than chance and use explain"


def _said(rule: str, fired: bool, because: str) -> RuleOutcome:
    return RuleOutcome(rule, fired, because if fired else f"not so: {because}")


def failed(facts: Facts) -> bool:
    """Whether it is a failure; a live attempt is judged only for one."""
    return facts.attempt.state in FAILURES or not facts.attempt.ended


def _early(facts: Facts) -> bool:
    started, ended = facts.attempt.started_at, facts.attempt.ended_at
    return started is not None and ended is not None and (ended - started).total_seconds() < EARLY_SECONDS


def _without_common_host(facts: Facts, cause: Cause) -> bool:
    """Whether so many attempts of the job died alike that no host can have done it."""
    mark = fingerprint_of(cause)
    alike = [one for one in facts.earlier if one.fingerprint == mark and one.nodes]
    if len(alike) + 1 < ON_OTHER_HOSTS:
        return False
    common = set(facts.attempt.nodes).intersection(*(one.nodes for one in alike))
    return not common and bool(facts.attempt.nodes)


def _leader(facts: Facts, cause: Cause, *, early: bool) -> str:
    """The one host that more deaths point at than at any other, if they are more than can be chance."""
    if early and not _early(facts):
        return ""
    hosts = cause.named.hosts or facts.attempt.nodes
    counted = {host: len(_deaths_on(host, facts, early=early)) for host in hosts}
    most = max(counted.values(), default=0)
    leaders = [host for host, count in counted.items() if count == most]
    if most + 1 < OBSERVATIONS or len(leaders) != 1:
        return ""
    exposure = next((one for one in facts.around.exposures if one.node == leaders[0]), None)
    if exposure is None or not _beyond_chance(most + 1, exposure, facts.around.usual, len(hosts)):
        return ""
    return leaders[0]


def _deaths_on(host: str, facts: Facts, *, early: bool) -> tuple[Death, ...]:
    """Deaths that speak against a host: not those of works that die elsewhere, each work once unless `early`."""
    own = facts.around.work
    against = [death for death in facts.around.deaths if host in death.nodes and not death.elsewhere]
    if early:
        return tuple(death for death in against if death.early)
    first = {death.work: death for death in reversed(against) if death.work != own}
    return tuple(sorted(first.values(), key=lambda death: (death.ended_at, death.label)))


def _beyond_chance(deaths: int, exposure: Exposure, usual: Usual, hosts: int) -> bool:
    """By attempts and by hours, each for the number of hosts looked at: one of many is always the worst."""
    attempts = max(exposure.attempts + 1, deaths)  # this one is not stored yet
    share = (usual.deaths + PRIOR_DEATHS) / (usual.attempts + PRIOR_ATTEMPTS)
    rate = (usual.deaths + PRIOR_DEATHS) / (usual.hours + PRIOR_HOURS)
    by_chance = max(at_least_of(deaths, attempts, min(1.0, share)), at_least(deaths, rate * exposure.hours))
    return by_chance * hosts < SURPRISING
