"""For whom does a policy speak? Later members win over earlier ones."""

from schedulers.words import Word


class PolicyLevel(Word):
    """Level of a policy version, from the least to the most specific."""

    PROGRAM = "program", "Program", "secondary"
    EVERYWHERE = "everywhere", "All clusters", "info"
    CLUSTER = "cluster", "Cluster", "primary"
    PARTITION = "partition", "Partition", "warning"
    USER = "user", "User", "success"


ORDER = tuple(PolicyLevel)
