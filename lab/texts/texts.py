"""Which texts are there?"""

from lab.texts import GROUPS
from lab.texts.struck import Spoken, Struck, Text

__all__ = ["TEXTS", "Spoken", "Struck", "Text"]

TEXTS: dict[str, Text] = {name: text for group in GROUPS for name, text in group.items()}
