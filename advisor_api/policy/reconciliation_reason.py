"""Why did an advice end as it did?"""

from schedulers.words import Word


class ReconciliationReason(Word):
    """Bounded reason of a reconciliation; on the wire with the prefix ADVICE_RECONCILIATION_REASON_."""

    UNSPECIFIED = "UNSPECIFIED", "Not said"
    DESIRED_STATE_OBSERVED = "DESIRED_STATE_OBSERVED", "The scheduler shows the desired state", "success"
    ALREADY_SATISFIED = "ALREADY_SATISFIED", "It was so already", "success"
    ADVICE_EXPIRED = "ADVICE_EXPIRED", "Too late", "warning"
    SUPERSEDED = "SUPERSEDED", "Replaced by a newer advice"
    JOB_GONE = "JOB_GONE", "The scheduler does not know the job any more", "warning"
    REFUSED_BY_SCHEDULER = "REFUSED_BY_SCHEDULER", "The scheduler refused", "danger"
    GATE_CLOSED = "GATE_CLOSED", "A gate was closed", "warning"
    CANCELLED_BY_USER = "CANCELLED_BY_USER", "Its user cancelled the job"
    REJECTED = "REJECTED", "A person said no", "warning"
