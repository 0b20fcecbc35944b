"""How does a node stand: is it in use, and does anything speak against it?

A node that Rekindle leaves out of restarts is not out of use: the scheduler runs other jobs there.
"""

from schedulers.words import Word


class Standing(Word):
    """Two questions, four answers: fully in use or not, with standing evidence or without."""

    EFFECTIVE = "effective", "Effective: in use, nothing speaks against it", "success"
    AT_RISK = "at_risk", "At risk: in use, with evidence against it", "warning"
    ISOLATED = "isolated", "Isolated: left out of restarts or out of use, for a reason that stands", "danger"
    STRANDED = "stranded", "Stranded: left out of restarts or out of use, and no reason stands any more", "info"

    @property
    def out(self) -> bool:
        """Whether it is left out of restarts, or out of use."""
        return self in {Standing.ISOLATED, Standing.STRANDED}

    @classmethod
    def of(cls, *, out: bool, evidence: bool) -> "Standing":
        """The field of the table."""
        if out:
            return cls.ISOLATED if evidence else cls.STRANDED
        return cls.AT_RISK if evidence else cls.EFFECTIVE
