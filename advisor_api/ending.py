"""How long may an exclusion or a pause last?"""

from datetime import datetime, timedelta

from advisor_api.refusals import Bad

LONGEST = timedelta(days=7)  # an end is compulsory (reference: defaults, "Silence")


def check_end(until: datetime, now: datetime) -> None:
    """`Bad` unless the end lies in the future and within `LONGEST`."""
    if not now < until <= now + LONGEST:
        raise Bad(f"The end must be in the future and at most {LONGEST.days} days away.")
