"""Which rules lead from facts to an operation? The first row that applies wins.

Guards come first (nothing is to be done), then what asks for a stop, then what asks for a restart; asking a
person is last. `docs/policy.md` is generated from this table.
"""

from advisor_api.policy.backoff import known_cause_seconds, unknown_cause_seconds
from advisor_api.policy.caps import drained_nodes, left_out, sure_nodes
from advisor_api.policy.guards import GUARDS
from advisor_api.policy.operation import Operation
from advisor_api.policy.rule import Rule
from advisor_api.policy.stops import STOPS
from detectors.attribution.action import VerdictAction
from detectors.attribution.evidence_status import EvidenceStatus
from detectors.catalogue.kind import AnomalyKind
from schedulers.states import FAILURES

PROVED = frozenset({EvidenceStatus.ESTABLISHED, EvidenceStatus.SUPPORTED})

RESTARTS = (
    Rule(
        "named_node",
        Operation.RESTART,
        "{left_out_are} named as the cause, surely enough to be left out{stays}",
        lambda facts, policy: bool(left_out(facts, policy)),
        names_nodes=True,
    ),
    Rule(
        "cap_reached_again",
        Operation.WAIT,
        "{sure_are} named as the cause again, and a cap forbids to leave out more: {cap}",
        lambda facts, policy: bool(sure_nodes(facts, policy)) and facts.restarts_for_cause >= 1,
    ),
    Rule(
        "cap_reached",
        Operation.RESTART,
        "{sure_are} named as the cause, but not left out: {cap}",
        lambda facts, policy: bool(sure_nodes(facts, policy)),
        back_off=known_cause_seconds,
    ),
    Rule(
        "named_node_is_drained",
        Operation.RESTART,
        "{drained_are} named as the cause, and out of use already",
        lambda facts, policy: bool(drained_nodes(facts, policy)),
    ),
    Rule(
        "hang",
        Operation.RESTART,
        "the job hangs: it runs and makes no step",
        lambda facts, policy: facts.kind is AnomalyKind.HANG,
        back_off=known_cause_seconds,
    ),
    Rule(
        "nan",
        Operation.RESTART,
        "the loss is no number: back to the last checkpoint, once",
        lambda facts, policy: facts.kind is AnomalyKind.NAN,
    ),
    Rule(
        "known_cause",
        Operation.RESTART,
        "it ended ({facts.word}) by a cause that a restart may survive, and no node is blamed for it",
        lambda facts, policy: (
            facts.state in FAILURES
            and facts.evidence_status in PROVED
            and facts.action in {VerdictAction.RESTART, VerdictAction.RESTART_EXCLUDE}
        ),
        back_off=known_cause_seconds,
    ),
    Rule(
        "unknown_cause",
        Operation.RESTART,
        "it ended ({facts.word}) and the cause is not sure, so it starts again after a pause and no node is blamed",
        lambda facts, policy: facts.state in FAILURES,
        back_off=unknown_cause_seconds,
    ),
)

LAST = (Rule("ask_a_person", Operation.WAIT, "no rule knows what to do with it", lambda facts, policy: True),)

RULES: tuple[Rule, ...] = GUARDS + STOPS + RESTARTS + LAST
