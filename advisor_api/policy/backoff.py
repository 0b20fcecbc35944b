"""How long does a job wait before it starts again?

Known causes 0, 60, 300 s, unknown ones 60, 300, 900 s (reference: attribution section 7.1), in steps of the
policy's `unknown_backoff_seconds`; at most 30 minutes; ±20 % apart so that many jobs do not start at once.
The scheduler's own minimum wait after a requeue runs beside it.
"""

from advisor_api.policy.facts import Facts
from advisor_api.policy.values import Policy

STEPS = (0, 1, 5, 15)
MOST_SECONDS = 1800.0


def no_seconds(facts: Facts, policy: Policy) -> float:
    """At once: another node is the remedy, not time."""
    return 0.0


def known_cause_seconds(facts: Facts, policy: Policy) -> float:
    """0, 1, 5 times the policy's pause, by the restarts that this cause has had."""
    return _pause(facts, policy, min(facts.restarts_for_cause, 2))


def unknown_cause_seconds(facts: Facts, policy: Policy) -> float:
    """1, 5, 15 times the policy's pause, by the attempts that got nowhere."""
    return _pause(facts, policy, min(max(facts.attempts_without_checkpoint, 1), 3))


def _pause(facts: Facts, policy: Policy, step: int) -> float:
    wanted = STEPS[step] * policy.unknown_backoff_seconds * (1 + facts.jitter)
    return round(min(wanted, MOST_SECONDS), 1)
