"""Which state is a job in? The states we tell apart, whatever a scheduler calls them."""

from schedulers.words import Word


class JobState(Word):
    """State of one attempt. The scheduler's own word is kept beside it."""

    PENDING = "pending", "Pending", "secondary"
    HELD = "held", "Held", "warning"
    CONFIGURING = "configuring", "Starting", "info"
    RUNNING = "running", "Running", "success"
    SUSPENDED = "suspended", "Suspended", "secondary"
    COMPLETING = "completing", "Ending", "info"
    COMPLETED = "completed", "Completed", "success"
    FAILED = "failed", "Failed", "danger"
    NODE_FAIL = "node_fail", "Node failed", "danger"
    BOOT_FAIL = "boot_fail", "Boot failed", "danger"
    OUT_OF_MEMORY = "out_of_memory", "Out of memory", "danger"
    TIMEOUT = "timeout", "Time limit", "warning"
    DEADLINE = "deadline", "Deadline", "warning"
    PREEMPTED = "preempted", "Preempted", "warning"
    CANCELLED = "cancelled", "Cancelled", "secondary"
    REQUEUED = "requeued", "Requeued", "info"
    GONE = "gone", "Gone", "secondary"
    UNKNOWN = "unknown", "Unknown", "secondary"


WAITING = frozenset({JobState.PENDING, JobState.HELD})
LIVE = frozenset({JobState.CONFIGURING, JobState.RUNNING, JobState.SUSPENDED, JobState.COMPLETING})
FAILURES = frozenset({JobState.FAILED, JobState.NODE_FAIL, JobState.BOOT_FAIL, JobState.OUT_OF_MEMORY})
NOT_A_FAILURE = frozenset(
    {JobState.COMPLETED, JobState.TIMEOUT, JobState.DEADLINE, JobState.PREEMPTED, JobState.CANCELLED}
)
FINAL = FAILURES | NOT_A_FAILURE | {JobState.REQUEUED, JobState.GONE}
