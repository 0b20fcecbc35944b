"""How does a node stand: is it in use, and does anything speak against it?"""

from schedulers.words import Word


class Standing(Word):
    """Two questions, four answers: in use or out of it, with standing evidence or without."""

    EFFECTIVE = "effective", "Effective: in use, nothing speaks against it", "success"
    AT_RISK = "at_risk", "At risk: in use, with evidence against it", "warning"
    ISOLATED = "isolated", "Isolated: out of use, for a reason that stands", "danger"
    STRANDED = "stranded", "Stranded: out of use, and no reason stands any more", "info"

    @property
    def short(self) -> str:
        """The word alone."""
        return self.label.partition(":")[0]

    @classmethod
    def of(cls, *, out: bool, evidence: bool) -> "Standing":
        """The field of the table."""
        if out:
            return cls.ISOLATED if evidence else cls.STRANDED
        return cls.AT_RISK if evidence else cls.EFFECTIVE
