"""How does a rule say what was found: numbers with their noun, lengths of time in words?"""

from string import Formatter
from typing import Any

from detectors.catalogue.spans import spoken

SPAN = "span"


def counted(number: int, noun: str) -> str:
    """`1 restart`, `3 restarts`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class RuleSentence(Formatter):
    """Fills in a rule's `because`: `{facts.requeues:time}` is `3 times`, `{policy.hold_seconds:span}` `5 min`."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """The value as the word after the colon asks for."""
        if format_spec == SPAN:
            return spoken(float(value))
        if format_spec:
            return counted(int(value), format_spec)
        return str(value)
