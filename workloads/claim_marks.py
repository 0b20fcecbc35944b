"""What tells one claim of a due column from every other one? The end of its lease, made its own by chance.

Whoever claims a row moves its due time to the end of a lease, and later changes only rows that still hold that very
moment. Two workers that claim in the same moment must not write the same one.
"""

import secrets
from datetime import datetime, timedelta

below = secrets.randbelow
"""From 0 to one below its argument. All chance in claims comes from here, so that the lab can have it again."""


def own_mark(until: datetime, most: timedelta = timedelta(seconds=1)) -> datetime:
    """A moment from `until` on, before `most` is over, that no other claim will have: to the microsecond."""
    return until + timedelta(microseconds=below(most // timedelta(microseconds=1)))
