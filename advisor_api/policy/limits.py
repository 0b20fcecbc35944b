"""Which limits follow from a policy value and from what stands beside it?"""

from advisor_api.policy.facts import Facts
from advisor_api.policy.values import Policy
from detectors.catalogue.layer import Layer

DEATHS_THAT_TELL = 2  # trap 20
NOT_OF_CHECKPOINTS = frozenset({"hardware", "network", "scheduler"})
OF_PROGRAMS = frozenset({"application", "data"})


def is_of_program(facts: Facts) -> bool:
    """Whether the program, its memory or its input failed: such errors come again by themselves."""
    return facts.layer.domain in OF_PROGRAMS or facts.layer is Layer.SYSTEM_MEMORY


def requeue_cap(facts: Facts, policy: Policy) -> int:
    """Requeues that a job may have in total: the policy's cap, lowered by the job's own wish."""
    own = facts.max_requeue_times
    return policy.max_requeues if own is None else min(own, policy.max_requeues)


def storm_limit(facts: Facts, policy: Policy) -> int:
    """Restarts in the window that a partition may have: in a large one more than in a small one."""
    return max(policy.storm_restarts, int(policy.storm_share * facts.partition_size))


def suspects_checkpoint(facts: Facts) -> bool:
    """Whether the checkpoint may be why it died alike: not where a node, or what joins them, is the cause.

    What the program itself gets wrong at one step it gets wrong from any checkpoint: it counts at loading alone.
    """
    if facts.checkpoint is None or facts.named or facts.layer.domain in NOT_OF_CHECKPOINTS:
        return False
    deaths = facts.failures_at_loading if is_of_program(facts) else facts.checkpoint_deaths
    return deaths >= DEATHS_THAT_TELL
