"""What would the default policy do about what was diagnosed?

What only a running site knows is assumed, and said: that the partition has room, and that nothing was done before.
"""

from dataclasses import asdict, dataclass
from typing import Any

from advisor_api.policy.decision import Decision, decide
from advisor_api.policy.facts import Facts, NamedNode
from advisor_api.policy.history import Past, count
from advisor_api.policy.operation import Operation
from advisor_api.policy.values import Policy
from detectors.attribution.action import VerdictAction
from detectors.diagnosing.accounting import Told
from detectors.diagnosing.folding import Found
from detectors.diagnosing.judging import Diagnosis
from schedulers.states import JobState
from workloads.mode import Mode

SPARE_NODES = 40  # assumed beside the attempt's own: so many that two may be left out
LET_IT_BE = frozenset({"repairs_itself", "in_job_recovery"})
NOTHING_FOUND = "nothing_found"
WHY_NOT = "diagnose reads and says; it does nothing"


@dataclass(frozen=True)
class Recommendation:
    """`action` is the word of the schema; `because` is the policy's sentence. `decision` is `None` for nothing."""

    action: VerdictAction
    because: str
    basis: str
    nodes: tuple[str, ...] = ()
    backoff_seconds: int = 0
    rule: str = ""
    budget: tuple[int, int] = (0, 0)

    def fields(self) -> dict[str, Any]:
        """As the schema has it."""
        return {
            "action": self.action.value,
            "exclude": list(self.nodes),
            "backoff_s": self.backoff_seconds,
            "basis": self.basis,
            "budget": {"left": self.budget[0], "of": self.budget[1]},
            "guards": ["max_nodes:ok", "partition_share:assumed"] if self.nodes else [],
            "may_act": False,
            "why_not": WHY_NOT,
        }


def recommend(diagnosis: Diagnosis, found: Found, told: Told) -> Recommendation:
    """What the default policy says to the verdict."""
    policy = Policy()
    if diagnosis.nothing:
        budget = (policy.max_restarts_per_cause, policy.max_restarts_per_cause)
        return Recommendation(VerdictAction.NONE, "there is nothing to repair", NOTHING_FOUND, budget=budget)
    facts = _facts(diagnosis, found, told)
    decision = decide(facts, policy, found.until)
    of = policy.max_restarts_per_cause
    return Recommendation(
        action=_action(decision),
        because=decision.because,
        basis=str(diagnosis.judgement.body["recommendation"]["basis"]),
        nodes=decision.new_exclusions,
        backoff_seconds=int((decision.not_before - found.until).total_seconds()),
        rule=decision.rule,
        budget=(max(0, of - facts.restarts_for_cause), of),
    )


def _facts(diagnosis: Diagnosis, found: Found, told: Told) -> Facts:
    judgement, attempt = diagnosis.judgement, diagnosis.facts.attempt
    nodes = max(1, len(attempt.nodes))
    past = Past(
        index=attempt.index,
        fingerprint=judgement.fingerprint,
        first_step=attempt.first_step,
        last_step=attempt.last_step,
        last_checkpoint_step=attempt.last_checkpoint_step,
    )
    return Facts(
        label=told.job or "the attempt",
        state=JobState.FAILED if attempt.state is JobState.GONE and diagnosis.assumed else attempt.state,
        word=told.word or "as the text shows",
        partition=told.partition,
        node_count=nodes,
        ended_at=told.ended_at,
        kind=judgement.kind,
        layer=judgement.layer,
        signature=judgement.signature,
        action=judgement.action,
        evidence_status=judgement.evidence_status,
        confidence=judgement.confidence,
        named=tuple(
            NamedNode(one.host, one.confidence)
            for one in sorted(judgement.implicated, key=lambda one: (-one.confidence, one.host))
            if one.role == "culprit" and one.excludable
        ),
        requeues=told.restarts,
        **asdict(count([past])),
        mode=Mode.MONITOR,
        partition_size=nodes + SPARE_NODES,
        partition_available=nodes + SPARE_NODES,
    )


def _action(decision: Decision) -> VerdictAction:
    if decision.rule in LET_IT_BE:
        return VerdictAction.HOLD
    if decision.operation is Operation.RESTART:
        return VerdictAction.RESTART_EXCLUDE if decision.new_exclusions else VerdictAction.RESTART
    if decision.operation is Operation.TERMINATE:
        return VerdictAction.STOP
    if decision.operation is Operation.WAIT:
        return VerdictAction.ASK
    return VerdictAction.NONE
