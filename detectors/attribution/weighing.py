"""How sure is the cause, and does more than the attempt itself speak for it? Attribution section 8.2."""

from dataclasses import dataclass, replace

from detectors.attribution.candidates import Candidate, Case, hosts_showing, on_most
from detectors.attribution.evidence_status import EvidenceStatus
from detectors.attribution.facts import Facts
from detectors.attribution.following import Following, follow
from detectors.attribution.history import entity_of, repeats_on_host
from detectors.attribution.hosts import Named
from detectors.attribution.judgement import Implicated, RuleOutcome, Shared
from detectors.attribution.naming import COUNTED, Cause
from detectors.attribution.own_doing import ended_by_us
from detectors.attribution.sharing import shared_cause
from detectors.attribution.told import LATE, is_reason, taken_by_a_person
from detectors.catalogue.health import BASIS
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from schedulers.states import FAILURES

OF_PROGRAM = frozenset({Layer.APPLICATION, Layer.USER, Layer.DATA})
TO_EXCLUDE = 0.80  # per host (decisions 20)
TO_STOP = 0.85
TO_ADVISE = 0.50
HIGHEST = 0.99
WITNESS_STILL = ("", "xid.before_error", "told.of_log")
"""By what a symptom may be demoted and still be a witness of its host."""


@dataclass(frozen=True)
class Weighed:
    """A cause with its confidence, its hosts and what spoke for and against.

    `repeated`: the host showed it before. `shared`: one cause for several hosts or jobs. `also`: what proves
    further hosts broken.
    """

    case: Case
    cause: Cause
    confidence: float
    status: EvidenceStatus
    implicated: tuple[Implicated, ...]
    rules: tuple[RuleOutcome, ...]
    repeated: bool = False
    shared: Shared | None = None
    also: tuple[Candidate, ...] = ()

    @property
    def facts(self) -> Facts:
        """The facts judged."""
        return self.case.facts

    @property
    def excludable(self) -> tuple[str, ...]:
        """Hosts that may be left out of the next attempt."""
        return tuple(one.host for one in self.implicated if one.excludable)

    @property
    def hosts_showing(self) -> set[str]:
        """Every host that shows the cause's signature."""
        signature = self.cause.signature
        return {*self.cause.named.hosts, *(hosts_showing(signature, self.case) if signature else ())}

    @property
    def on_one_host(self) -> bool:
        """Whether exactly one of several hosts shows the cause."""
        return len(self.hosts_showing) == 1 and len(self.facts.attempt.nodes) > 1

    @property
    def everywhere(self) -> bool:
        """Whether the cause shows on (nearly) all hosts or ranks, or the attempt has one host only."""
        nodes = len(self.facts.attempt.nodes)
        return nodes <= 1 or on_most(len(self.hosts_showing), nodes) or _of_all_ranks(self.case, self.cause)

    @property
    def told_of_nobody(self) -> bool:
        """Whether the lines tell neither host nor rank, so that nothing sets one of them apart."""
        symptom = self.cause.candidate.symptom if self.cause.candidate else None
        apart = symptom is not None and (symptom.ranks or self.facts.ranks or self.hosts_showing)
        return symptom is not None and not apart


def weigh(case: Case, cause: Cause) -> Weighed:
    """Confidence from the symptom's own, witnesses, doubts and history. Hosts are implicated by `blaming`."""
    shared, said = shared_cause(case, cause)
    following = Following() if shared else follow(case.facts, cause)
    rules = [*said, *following.rules]
    # Who did not join a collective was held up by the program far more often than by its host (section 6.3).
    by_program = (cause.rule in COUNTED and cause.layer is Layer.APPLICATION) or following.of_job
    repeated = shared is None and repeats_on_host(case, cause) and not by_program
    if repeated and cause.layer in (Layer.APPLICATION, Layer.FRAMEWORK, Layer.UNKNOWN):
        gpu = entity_of(case, cause)[0] == "gpu"
        cause = replace(cause, layer=Layer.HARDWARE_GPU if gpu else Layer.HARDWARE_HOST)
    confidence = cause.confidence
    for rule_id, holds, change, because in _changes(case, cause, repeated):
        rules.append(RuleOutcome(rule_id, holds, because if holds else f"not so: {because}"))
        confidence += change if holds else 0.0
    confidence = round(max(0.0, min(HIGHEST, confidence)), 4)
    weighed = Weighed(case, cause, confidence, _status(cause, confidence), (), tuple(rules), repeated, shared)
    return _followed(weighed, following)


def _followed(weighed: Weighed, following: Following) -> Weighed:
    """What the history of the hosts, or of the job, makes of a cause that nothing explains."""
    if following.of_job:
        return replace(weighed, cause=replace(weighed.cause, layer=Layer.APPLICATION))
    if not following.host:
        return weighed
    named = Named((following.host,), by="history")
    return replace(
        weighed,
        cause=replace(weighed.cause, layer=Layer.HARDWARE_HOST, named=named),
        confidence=max(weighed.confidence, following.confidence),
        status=EvidenceStatus.SUPPORTED,
        repeated=True,
    )


def _changes(case: Case, cause: Cause, repeated: bool) -> list[tuple[str, bool, float, str]]:
    """Rows: id, whether it holds, what it adds, the sentence."""
    facts, proved = case.facts, cause.candidate is not None
    down = {node.name for node in facts.nodes if node.down and not taken_by_a_person(node)}
    by_state = _by_state(cause)
    return [
        (
            "weight.node_down",
            proved and not by_state and not _by_reason(cause) and bool(down & set(cause.named.hosts)),
            0.05,
            "the scheduler calls the named host down",
        ),
        (
            "weight.health_event",
            proved and _told_by_others(case, cause),
            0.05,
            "somebody who watches the nodes names the same host",
        ),
        (
            "weight.log_agrees",
            proved and _log_agrees(case, cause),
            0.05,
            "the job's log names the same host",
        ),
        (
            "weight.trained_on",
            proved and _trained_after(case, cause),
            -0.2,
            "the job made steps after it was told",
        ),
        *_changes_by_the_end(case, cause, repeated),
    ]


def _changes_by_the_end(case: Case, cause: Cause, repeated: bool) -> list[tuple[str, bool, float, str]]:
    """The rows that look at how it ended, whether it was there before, and how well the host is known."""
    proved = cause.candidate is not None
    failed = case.facts.attempt.state in FAILURES and not ended_by_us(case.facts.attempt)
    confirmed = proved and not _by_state(cause) and cause.tier == 6 and failed
    borrowed = cause.named.by in ("srun", "torchrun")
    return [
        (
            "weight.all_before_a_step",
            proved and _of_program_everywhere(case, cause),
            max(0.0, TO_STOP - cause.confidence),
            "every rank or host fails in the same way before the first step",
        ),
        ("weight.failed", confirmed, 0.05, "the scheduler confirms the failure"),
        ("weight.repeat", repeated, 0.3, "the same host showed the same before"),
        ("weight.mixed_hosts", cause.named.mixed, -0.2, "the line and the rank map name different hosts"),
        ("weight.borrowed_host", borrowed, -0.1, "the host is known from the launcher only"),
        ("weight.no_clock", _order_unknown(case, cause), -0.15, "nothing tells which host spoke first"),
    ]


def _of_program_everywhere(case: Case, cause: Cause) -> bool:
    """One voice may be one rank's bad luck; all of several that say the same at the start are the program."""
    attempt, several = case.facts.attempt, len(hosts_showing(cause.signature, case)) if cause.signature else 0
    on_all = _of_all_ranks(case, cause) or (cause.signature != "" and on_most(several, len(attempt.nodes)))
    return cause.tier == 6 and cause.layer in OF_PROGRAM and not attempt.stepped and on_all


def _of_all_ranks(case: Case, cause: Cause) -> bool:
    """Whether (nearly) all ranks show it. Without a rank map the highest rank heard tells how many there are."""
    symptom = cause.candidate.symptom if cause.candidate else None
    if symptom is None:
        return False
    if case.facts.ranks:
        return on_most(len(symptom.ranks) or symptom.count, len(case.facts.ranks))
    heard = {rank for one in case.facts.symptoms for rank in one.ranks}
    return not cause.named.hosts and len(heard) > 1 and on_most(len(symptom.ranks), max(heard) + 1)


def _told_by_others(case: Case, cause: Cause) -> bool:
    """Whether a health event or a reason of the scheduler is a second witness for what a log line tells."""
    hosts, by_state = set(cause.named.hosts), _by_state(cause)
    return not _of_event(cause) and any(
        one.symptom.basis == BASIS
        and (one.symptom.role is Role.ROOT or (one.symptom.layer is cause.layer is not Layer.UNKNOWN))
        and not (by_state and is_reason(one.symptom))
        and one.demoted_by in WITNESS_STILL
        and bool(hosts & set(one.named.hosts))
        for one in case.candidates
    )


def _log_agrees(case: Case, cause: Cause) -> bool:
    hosts = set(cause.named.hosts)
    return _of_event(cause) and any(
        one.symptom.basis in ("line", "file")
        and (one.counts or one.demoted_by in WITNESS_STILL[1:])
        and bool(hosts & set(one.named.hosts))
        for one in case.candidates
    )


def _trained_after(case: Case, cause: Cause) -> bool:
    last = case.facts.attempt.last_step_at
    of_failure = _of_event(cause) and cause.kind is not AnomalyKind.EARLY_WARNING
    return of_failure and last is not None and last > cause.happened_at + LATE


def _by_state(cause: Cause) -> bool:
    """Whether the scheduler's own word is the cause: another word of it is no second witness."""
    return cause.rule == "cause.node_failure" or cause.signature.startswith("slurm.state.")


def _by_reason(cause: Cause) -> bool:
    return cause.candidate is not None and is_reason(cause.candidate.symptom)


def _of_event(cause: Cause) -> bool:
    return cause.candidate is not None and cause.candidate.symptom.basis == BASIS


def _order_unknown(case: Case, cause: Cause) -> bool:
    """Whether a rival of the same tier on another host has no time to be compared by. A count needs no order."""
    if cause.candidate is None or cause.rule in COUNTED:
        return False
    rivals = (c for c in case.candidates if c.counts and c is not cause.candidate and c.tier.number <= cause.tier)
    return any(
        "file" in (rival.symptom.basis, cause.candidate.symptom.basis)
        and rival.named.hosts
        and not set(rival.named.hosts) & set(cause.named.hosts)
        for rival in rivals
    )


def _status(cause: Cause, confidence: float) -> EvidenceStatus:
    if cause.candidate is None or confidence < TO_ADVISE:
        return EvidenceStatus.UNKNOWN
    if cause.candidate.symptom.role is Role.CANDIDATE:
        return EvidenceStatus.HYPOTHESIS
    return EvidenceStatus.ESTABLISHED if confidence >= TO_STOP else EvidenceStatus.SUPPORTED
