"""Which limits follow from a policy value and from what stands beside it?"""

from advisor_api.policy.facts import Facts
from advisor_api.policy.values import Policy


def requeue_cap(facts: Facts, policy: Policy) -> int:
    """Requeues that a job may have in total: the policy's cap, lowered by the job's own wish."""
    own = facts.max_requeue_times
    return policy.max_requeues if own is None else min(own, policy.max_requeues)


def storm_limit(facts: Facts, policy: Policy) -> int:
    """Restarts in the window that a partition may have: in a large one more than in a small one."""
    return max(policy.storm_restarts, int(policy.storm_share * facts.partition_size))
