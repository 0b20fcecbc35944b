"""How does a clock stand to ours, and is the difference a time zone?"""

import math

HALF_HOUR = 1800
LATE = 120.0  # seconds: a line watched live is read within this time, as `catalogue.stamps` has it
AHEAD = 5.0  # clocks of hosts differ
FARTHEST = 14  # hours
_HALVES = (-9.5, -3.5, 3.5, 4.5, 5.5, 6.5, 9.5, 10.5)  # hours of the zones that are no whole ones


def shift_of(lead: float) -> tuple[int, float]:
    """A stamp `lead` seconds ahead of the arrival of its line, as a zone (in seconds) and how late the line is.

    Where no zone on earth explains it, the zone is 0 and all of it lateness; negative: it lies in the future.
    """
    zone = -math.floor((AHEAD - lead) / HALF_HOUR) * HALF_HOUR
    late = zone - lead
    return (zone, late) if late <= LATE and _is_zone(zone) else (0, -lead)


def _is_zone(seconds: int) -> bool:
    hours = seconds / 3600
    return abs(hours) <= FARTHEST and (hours == int(hours) or hours in _HALVES)


def zone_name(seconds: int) -> str:
    """`UTC+02:00`"""
    hours, rest = divmod(abs(seconds), 3600)
    return f"UTC{'+' if seconds >= 0 else '-'}{hours:02}:{rest // 60:02}" if seconds else "UTC"
