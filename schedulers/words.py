"""What is an enum of ours made of? A stored value, a label for people and a colour, in one place."""

import enum
from typing import Self


class Word(enum.StrEnum):
    """An enum whose members carry `label` and `colour`.

    `colour` is a Bootstrap theme colour (`success`, `warning`, `danger`, `info`, `secondary`, `primary`).
    `docs/vocabulary.md` lists every member; a test compares the two.
    """

    label: str
    colour: str

    def __new__(cls, value: str, label: str = "", colour: str = "secondary") -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.label = label
        member.colour = colour
        return member

    @classmethod
    def choices(cls) -> list[tuple[str, str]]:
        """Pairs for a database field: `[(value, label), …]`."""
        return [(member.value, member.label) for member in cls]
