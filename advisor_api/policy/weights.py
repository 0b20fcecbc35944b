"""How much does an exclusion still weigh?

Evidence gets old: its weight is halved again and again, by default every 12 hours (reference: defaults, "Exclusion
life"). The weight says which exclusion gives way first where a job would be left too few nodes; it neither ends an
exclusion nor makes one.
"""

from datetime import datetime, timedelta

HALF_LIFE_SECONDS = 43_200
PERSON = 1.0
"""What a person has said holds in full until its end: it is no evidence that gets old."""


def weight(confidence: float, since: datetime, now: datetime, half_life_seconds: int = HALF_LIFE_SECONDS) -> float:
    """`confidence` (0 to 1) of evidence that came at `since`, at `now`. Never more than it was; 0 s: never less."""
    age = max(timedelta(0), now - since)
    halved: float = 0.5 ** (age.total_seconds() / half_life_seconds) if half_life_seconds else 1.0
    return round(confidence * halved, 4)
