"""How is a length of time written so that it is read at a glance?

The units are signs, the same in every language: ms, s, min, h, d.
"""

from datetime import datetime, timedelta

from django.utils.translation import gettext as _

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_LONGEST = timedelta.max.total_seconds()


def duration(span: timedelta | float | None) -> str:
    """`850 ms`, `4.2 s`, `2 min 5 s`, `3 h 10 min`, `2 d 4 h`; `–` for none. Numbers are seconds.

    `–` also for what is no length of time: not a number, or longer than dates reach.
    """
    if span is None:
        return "–"
    seconds = span.total_seconds() if isinstance(span, timedelta) else float(span)
    if not abs(seconds) <= _LONGEST:
        return "–"
    sign, seconds = ("−", -seconds) if seconds < 0 else ("", seconds)
    return sign + _unsigned(seconds)


def _unsigned(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms" if seconds else "0 s"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return _two(seconds, _MINUTE, "min", 1.0, "s")
    if seconds < _DAY:
        return _two(seconds, _HOUR, "h", _MINUTE, "min")
    return _two(seconds, _DAY, "d", _HOUR, "h")


def _two(seconds: float, large: float, large_unit: str, small: float, small_unit: str) -> str:
    whole, rest = divmod(seconds, large)
    part = int(rest // small)
    return f"{whole:.0f} {large_unit}" + (f" {part} {small_unit}" if part else "")


def age(at: datetime | None, now: datetime) -> str:
    """`just now`, `40 s ago`, `5 min ago`, `in 3 min`; empty for none. Coarse: live.js counts on from it."""
    if at is None:
        return ""
    seconds = (now - at).total_seconds()
    if abs(seconds) < 5:
        return _("just now")
    span = {"span": _coarse(abs(seconds))}
    return _("%(span)s ago") % span if seconds > 0 else _("in %(span)s") % span


def _coarse(seconds: float) -> str:
    if seconds < _MINUTE:
        return f"{int(seconds)} s"
    if seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min"
    if seconds < _DAY:
        return _two(seconds, _HOUR, "h", _MINUTE, "min")
    return f"{int(seconds // _DAY)} d"
