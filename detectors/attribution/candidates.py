"""Which symptoms may be the cause, and which were demoted, by which rule?"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from detectors.attribution.classes import BY_INNER_TEXT, NAMED_AT_MOST, ONE_OR_ALL
from detectors.attribution.ending import ending_of
from detectors.attribution.facts import Facts, Symptom
from detectors.attribution.hosts import Named, named_by
from detectors.attribution.judgement import RuleOutcome
from detectors.attribution.own_doing import ended_by_us, follows, without_own_doing
from detectors.attribution.reported import behind
from detectors.attribution.tiers import VICTIM, Tier, tier_of
from detectors.attribution.told import LATE, before_boot, is_reason, joins, reasons_told
from detectors.catalogue.health import BASIS
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.role import Role

CLOCK_DOUBT = timedelta(seconds=5)  # across hosts (section 3)
BEFORE_PROGRESS = timedelta(seconds=120)
BEFORE_PROGRESS_OF_HOSTS = timedelta(minutes=10)  # a host's event may come long before the failure
AFTER_END = timedelta(minutes=5)
STEPS_TRAINED_ON = 3  # ranks print out of step by one or two
_JOB_CGROUP = re.compile(r"/job_(\d{1,18})\b")
MOST_HOSTS = 0.8  # the same text on so many hosts is no single host's fault (section 6.2, rule 4)


@dataclass(frozen=True)
class Candidate:
    """A symptom with its tier and the hosts it names. `demoted_by`: id of the rule that made it a victim."""

    symptom: Symptom
    tier: Tier
    named: Named
    demoted_by: str = ""

    @property
    def counts(self) -> bool:
        """Whether it may be the cause."""
        return self.tier.number < VICTIM.number


@dataclass(frozen=True)
class Demotion:
    """A row: what holds makes the symptom a victim's."""

    id: str
    because: str
    holds: Callable[[Candidate, "Case"], bool]


@dataclass(frozen=True)
class Case:
    """The facts that count, every symptom weighed, the end of the attempt among them, and the facts as `given`."""

    facts: Facts
    given: Facts
    ending: Symptom | None
    candidates: tuple[Candidate, ...]


def open_case(given: Facts) -> tuple[Case, tuple[RuleOutcome, ...]]:
    """Weigh all symptoms of facts that are in order; the second part says what every demotion did."""
    facts = without_own_doing(given)
    ending = ending_of(facts)
    spoken = [symptom for symptom in given.symptoms if symptom.basis not in ("state", BASIS)]
    told = [symptom for symptom in (*facts.health, *reasons_told(facts)) if _failed(facts)]
    weighed = [*spoken, *told, *([ending] if ending else [])]
    case = Case(
        facts=facts,
        given=given,
        ending=ending,
        candidates=tuple(Candidate(s, tier_of(s), named_by(s, facts)) for s in weighed),
    )
    outcomes = []
    for rule in DEMOTIONS:
        case, outcome = _demote(rule, case)
        outcomes.append(outcome)
    return case, tuple(outcomes)


def hosts_showing(signature: str, case: Case) -> set[str]:
    """All hosts with a signature: texts that differ a little are several symptoms."""
    alike = (c for c in case.candidates if c.symptom.signature == signature)
    return {host for candidate in alike for host in candidate.named.hosts}


def on_most(seen: int, all_of_them: int) -> bool:
    """Whether so many of several hosts or ranks are (nearly) all; a symptom names no more than `NAMED_AT_MOST`."""
    return seen >= 2 and seen >= min(MOST_HOSTS * all_of_them, NAMED_AT_MOST)


def _demote(rule: Demotion, case: Case) -> tuple[Case, RuleOutcome]:
    kept, hit = [], []
    for candidate in case.candidates:
        holds = candidate.counts and rule.holds(candidate, case)
        kept.append(replace(candidate, tier=VICTIM, demoted_by=rule.id) if holds else candidate)
        if holds:
            hit.append(candidate.symptom.signature or candidate.symptom.kind.value)
    names = ", ".join(sorted(set(hit))[:5])
    outcome = RuleOutcome(rule.id, bool(hit), f"{rule.because}: {names}" if hit else f"not so: {rule.because}")
    return replace(case, candidates=tuple(kept)), outcome


def _failed(facts: Facts) -> bool:
    """Whether there is a failure that what others tell can belong to: a live attempt fails by a hang alone."""
    return facts.attempt.ended or any(s.kind is AnomalyKind.HANG and not s.refuted for s in facts.symptoms)


def _own_doing(candidate: Candidate, case: Case) -> bool:
    """What the scheduler says and what processes do once we have announced to end them (design 5.9)."""
    attempt = case.facts.attempt
    return ended_by_us(attempt) if candidate.symptom is case.ending else follows(candidate.symptom, attempt)


def _told_in_time(candidate: Candidate, case: Case) -> bool:
    return candidate.symptom.basis != BASIS or joins(candidate.symptom, case.facts.attempt)


def _explained(candidate: Candidate, case: Case) -> bool:
    """Something that no hardware of this node can have caused came first, or the scheduler lost another node."""
    told, ending = candidate.symptom, case.ending
    lost = set(ending.nodes) if ending is not None and ending.signature == "slurm.state.node_fail" else set()
    if told.basis == BASIS and lost and not lost & set(candidate.named.hosts):
        return True
    return told.basis == BASIS and any(
        3 <= other.tier.number <= 6
        and other.symptom is not case.ending
        and told.happened_at - other.symptom.happened_at > LATE
        and not _share_host(candidate, other)
        for other in case.candidates
    )


def _said_by_the_log(candidate: Candidate, case: Case) -> bool:
    """Two witnesses of one fault: the line is quoted, and the other one makes it surer.

    Of the scheduler's own words its end is the one: a reason on the same node says the same again.
    """
    return candidate.symptom.basis == BASIS and any(
        other.tier.number <= 2
        and other.symptom.basis != BASIS
        and (other.symptom is not case.ending or is_reason(candidate.symptom))
        and _share_host(candidate, other)
        for other in case.candidates
    )


def _before_window(candidate: Candidate, case: Case) -> bool:
    last = case.facts.attempt.last_step_at
    if candidate.symptom is case.ending or _lasts(candidate):
        return False
    of_host = candidate.tier.number <= 2
    reach = BEFORE_PROGRESS_OF_HOSTS if of_host else BEFORE_PROGRESS
    return last is not None and candidate.symptom.happened_at < last - reach


def _after_window(candidate: Candidate, case: Case) -> bool:
    ended = case.facts.attempt.ended_at
    return ended is not None and candidate.symptom.happened_at > ended + AFTER_END


def _foreign_memory(candidate: Candidate, case: Case) -> bool:
    """The kernel names the job whose memory it took; another job's is a note only."""
    if candidate.tier.number != 3:
        return False
    jobs = {int(number) for quote in candidate.symptom.evidence for number in _JOB_CGROUP.findall(quote.line)}
    return bool(jobs) and case.facts.attempt.job_number not in jobs


def _trained_on(candidate: Candidate, case: Case) -> bool:
    attempt, symptom = case.facts.attempt, candidate.symptom
    if candidate.symptom is case.ending or attempt.last_step is None or attempt.last_step_at is None:
        return False
    if _lasts(candidate):
        return False
    further = symptom.step is not None and attempt.last_step >= symptom.step + STEPS_TRAINED_ON
    return further and attempt.last_step_at > symptom.happened_at + CLOCK_DOUBT


def _lasts(candidate: Candidate) -> bool:
    """Steps without a number are no progress: only a loss that is one again ends it, and refutes the symptom."""
    return candidate.symptom.kind is AnomalyKind.NAN


def _everywhere(candidate: Candidate, case: Case) -> bool:
    signature, nodes = candidate.symptom.signature, case.facts.attempt.nodes
    hosts = hosts_showing(signature, case) if signature else set(candidate.named.hosts)
    single_fault = candidate.tier.number <= 2 and candidate.symptom.action != ONE_OR_ALL
    return single_fault and on_most(len(hosts), len(nodes))


def _hardware_before(candidate: Candidate, case: Case) -> bool:
    """A fatal XID up to 60 s before a CUDA error or a killed process on the same host explains it."""
    if not (candidate.symptom.signature.startswith(("cuda.", "cublas.")) or candidate.tier.number == 7):
        return False
    return any(
        other.tier.number == 1
        and other.symptom is not candidate.symptom
        and not (is_reason(other.symptom) or (other.symptom.basis == BASIS and candidate.tier.number <= 2))
        and _share_host(candidate, other)
        and timedelta(0) <= candidate.symptom.happened_at - other.symptom.happened_at <= timedelta(seconds=60)
        for other in case.candidates
    )


def _application_xid(candidate: Candidate, case: Case) -> bool:
    """XID 13 or 31 with an illegal memory access of the same host is one cause, the application's."""
    if not candidate.symptom.signature.startswith("xid.") or candidate.symptom.role is not Role.CANDIDATE:
        return False
    return any(
        other.symptom.signature == "cuda.illegal_access"
        and (_share_host(candidate, other) or not other.named.hosts)
        and abs(other.symptom.happened_at - candidate.symptom.happened_at) <= timedelta(seconds=10)
        for other in case.candidates
    )


def _unclear_network(candidate: Candidate, case: Case) -> bool:
    """Edges to a host that Slurm lost are victims (section 6.4, rule 6)."""
    lost = any(other.tier.number == 1 and "node_fail" in other.symptom.signature for other in case.candidates)
    return lost and candidate.tier.number == 8


def _not_behind(candidate: Candidate, case: Case) -> bool:
    """Ranks are never quite in step: whoever is ahead, or moves from poll to poll, holds nobody up."""
    return (
        candidate.symptom.signature == "nccl.ras_lag"
        and bool(case.facts.witnesses.polled)
        and not behind(case.facts)
    )


def _wraps(candidate: Candidate, case: Case) -> bool:
    """A message about an error of which another line tells what it was."""
    return candidate.symptom.action == BY_INNER_TEXT and any(
        other.counts
        and other.symptom.action not in ("", BY_INNER_TEXT)
        and abs(other.symptom.happened_at - candidate.symptom.happened_at) <= CLOCK_DOUBT
        for other in case.candidates
    )


def _share_host(one: Candidate, other: Candidate) -> bool:
    return bool(set(one.named.hosts) & set(other.named.hosts))


DEMOTIONS: tuple[Demotion, ...] = (
    Demotion("own.command", "it follows from our own command", _own_doing),
    Demotion("progress.refuted", "the attempt moved again after it", lambda one, case: one.symptom.refuted),
    Demotion("window.before", "it came too long before the last progress", _before_window),
    Demotion("window.after", "it came more than 5 minutes after the end", _after_window),
    Demotion("told.window", "it was told of another time", lambda one, case: not _told_in_time(one, case)),
    Demotion(
        "told.reboot", "its node has started since then", lambda one, case: before_boot(one.symptom, case.facts)
    ),
    Demotion("told.later", "the attempt failed by something else", _explained),
    Demotion("progress.later", "the job trained on after it", _trained_on),
    Demotion("ras.moved", "by its polls nobody stays behind the others", _not_behind),
    Demotion("memory.foreign", "the memory was another job's", _foreign_memory),
    Demotion("hardware.everywhere", "the same on nearly all hosts is no single host's fault", _everywhere),
    Demotion("xid.before_error", "a fatal GPU event on the same host came just before it", _hardware_before),
    Demotion("xid.of_application", "an illegal memory access of the program explains it", _application_xid),
    Demotion("network.node_lost", "the scheduler lost a node, peers only noticed", _unclear_network),
    Demotion("wrapper.inner", "another line tells what the error inside was", _wraps),
    Demotion("told.of_log", "the log or the end itself names broken hardware of the same host", _said_by_the_log),
)
