"""How well is a cause proved?"""

from schedulers.words import Word


class EvidenceStatus(Word):
    """Status of the evidence behind a root cause."""

    ESTABLISHED = "established", "Established", "success"
    SUPPORTED = "supported", "Supported", "info"
    HYPOTHESIS = "hypothesis", "Hypothesis", "warning"
    UNKNOWN = "unknown", "Unknown", "secondary"
