"""Which jobs does an address ask for, and how is it written so that it is the same again?

The one search box takes words: `user:ana node:n03 llama` is the user ana, the node n03, and the text llama. What
the address asks for is bounded; what is not understood is left out, and a sentence says so.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from schedulers.words import Word
from workloads.stored_text import storable
from workloads.wish import Wish

SEARCH_LIMIT = 256
ADDRESS_LIMIT = 1500  # of all filters together, as an address writes them
AFTER_LIMIT = 300  # a key and the longest name
_TOKEN = re.compile(r"""([A-Za-z]{1,12}):(?:"([^"]{0,255})"|([^\s"]{1,255}))(?=\s|$)""")
_SPAN = re.compile(r"([1-9][0-9]{0,4})(min|m|h|d|w)")
_UNITS = {"min": "minutes", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_FORMS = ("%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S")
_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
_CURSOR = re.compile(r"([0-9]{1,18})(?:~(.{0,255}))?", re.DOTALL)


class Shown(Word):
    """Which jobs the list shows."""

    LIVE = "live", "In the scheduler's list", "primary"
    RUNNING = "running", "Running", "success"
    WAITING = "waiting", "Waiting", "secondary"
    RECOVERY = "recovery", "In recovery", "info"
    APPROVAL = "approval", "Waiting for approval", "warning"
    ASKED = "asked", "Rekindle asks a person", "warning"
    BLIND = "blind", "Blind", "warning"
    STOPPED = "stopped", "Stopped by Rekindle within a day", "danger"
    FAILED = "failed", "Failed", "danger"
    ENDED = "ended", "Ended", "secondary"
    EVERY = "every", "All that were seen", "secondary"


class JobOrder(Word):
    """By what the list is sorted; without any of these, what was seen first last comes first."""

    NUMBER = "number", "Job"
    STATE = "state", "State"
    NAME = "name", "Name"
    USER = "user", "User"
    PARTITION = "partition", "Partition"
    ATTEMPTS = "attempts", "Attempts"
    NODES = "nodes", "Nodes"
    SUBMITTED = "submitted", "Submitted"


@dataclass(frozen=True)
class Wanted:
    """What the address asks for, as texts; empty: not asked for.

    `attempts`: more than so many. `since` and `until`: `2h` ago or a moment in UTC (`moment_of`). `sort`: a
    `JobOrder`, with `-` in front from the top down. `earlier`: of a node or a pattern only what was before that
    moment; `stood`: of a state that is looked up only what was so by then (`job_finding.Beyond`). `after`: where
    the last page ended (`cursor_of`).
    """

    cluster: str = ""
    state: str = Shown.LIVE.value
    partition: str = ""
    user: str = ""
    node: str = ""
    pattern: str = ""
    wish: str = ""
    kind: str = ""
    attempts: str = ""
    since: str = ""
    until: str = ""
    q: str = ""
    earlier: str = ""
    stood: str = ""
    sort: str = ""
    after: str = ""
    mistake: str = ""

    def address(self, **changes: str) -> str:
        """The query part of an address that asks for this with `changes`; other pages start at their top."""
        changed = replace(self, **{"mistake": "", "after": "", **changes})
        pairs = {one.name: getattr(changed, one.name) for one in fields(changed)}
        kept = {name: value for name, value in pairs.items() if value and (name, value) != _USUAL}
        return "?" + urlencode(kept or dict([_USUAL]))


_USUAL = ("state", Shown.LIVE.value)
WORDS = {
    "cluster": "cluster",
    "state": "state",
    "is": "state",
    "partition": "partition",
    "user": "user",
    "node": "node",
    "pattern": "pattern",
    "signature": "pattern",
    "wish": "wish",
    "kind": "kind",
    "attempts": "attempts",
    "since": "since",
    "until": "until",
}
"""What stands before the colon of a word of the search box, and the part of the address that it is."""


def read_wanted(query: Mapping[str, str]) -> Wanted:
    """What a query string asks for. Words of the search box count like parts of the address, and win over them."""
    said = {name: _text(query.get(name, "")) for name in {*WORDS.values(), "q", "sort", "earlier", "stood"}}
    said["after"] = storable(query.get("after", ""), AFTER_LIMIT)
    said["q"], words = _split(said["q"])
    said |= words
    mistakes: list[str] = []
    if len(query.get("q", "")) > SEARCH_LIMIT:
        told = _("Only the first %(count)s characters of the search text are looked for.")
        mistakes.append(told % {"count": SEARCH_LIMIT})
    for name, check in _CHECKS.items():
        if said[name] and (mistake := check(said[name])):
            said[name] = ""
            mistakes.append(mistake)
    said["state"] = said["state"] or Shown.LIVE.value
    wanted = Wanted(**said, mistake=" ".join(mistakes))
    if len(wanted.address(after=wanted.after)) > ADDRESS_LIMIT:
        return Wanted(mistake=_("The filters are too long together; none of them is applied."))
    return wanted


def moment_of(text: str, now: datetime) -> datetime | None:
    """`90m`, `2h`, `3d`, `1w` before `now`, or `2026-11-29`, `2026-11-29T22:00` in UTC; none when it is neither."""
    if span := _SPAN.fullmatch(text):
        return now - timedelta(**{_UNITS[span[2]]: int(span[1])})
    for form in _FORMS:
        try:
            found = datetime.strptime(text.removesuffix("Z"), form).replace(tzinfo=UTC)
        except ValueError:
            continue
        return found if _EARLIEST <= found <= _LATEST else None
    return None


def cursor_of(wanted: Wanted) -> tuple[int, str] | None:
    """Where the last page ended: the key of its last job, and what it is sorted by there."""
    found = _CURSOR.fullmatch(wanted.after)
    return (int(found[1]), found[2] or "") if found else None


def chips(wanted: Wanted) -> Iterator[tuple[str, str, str]]:
    """What is asked for, a chip for each part: its name, its value, and the address without it."""
    for name in (one.name for one in fields(wanted) if one.name not in {"sort", "after", "mistake"}):
        value = getattr(wanted, name)
        if value and (name, value) != _USUAL:
            yield str(_NAMES.get(name, name)), _label(name, value), wanted.address(**{name: ""})


_NAMES = {
    "cluster": gettext_lazy("cluster"),
    "state": gettext_lazy("state"),
    "partition": gettext_lazy("partition"),
    "user": gettext_lazy("user"),
    "node": gettext_lazy("node"),
    "pattern": gettext_lazy("pattern"),
    "since": gettext_lazy("since"),
    "until": gettext_lazy("until"),
    "q": gettext_lazy("text"),
    "wish": gettext_lazy("comment"),
    "attempts": gettext_lazy("attempts over"),
    "kind": gettext_lazy("scheduler"),
    "earlier": gettext_lazy("of node and pattern only what was before"),
    "stood": gettext_lazy("of the state only what was so before"),
}


def _label(name: str, value: str) -> str:
    known: dict[str, type[Word]] = {"state": Shown, "wish": Wish}
    return _(known[name](value).label) if name in known else value


def _split(text: str) -> tuple[str, dict[str, str]]:
    """The words with a colon that we know, and the text that is left."""
    found: dict[str, str] = {}

    def take(match: re.Match[str]) -> str:
        name = WORDS.get(match[1].lower())
        if name is None:
            return match[0]
        found[name] = (match[2] if match[2] is not None else match[3]).strip()
        return ""

    return " ".join(_TOKEN.sub(take, text).split()), found


def _text(value: str) -> str:
    return storable(value.replace("\0", ""), SEARCH_LIMIT).strip()


def _state(value: str) -> str:
    known = [word.value for word in Shown]
    told = _("There is no state of that name; known are %(names)s.")
    return "" if value in known else told % {"names": ", ".join(known)}


def _wish(value: str) -> str:
    known = [word.value for word in Wish]
    told = _("There is no wish of that name; known are %(names)s.")
    return "" if value in known else told % {"names": ", ".join(known)}


def _number(value: str) -> str:
    fits = value.isascii() and value.isdigit() and len(value) <= 9
    return "" if fits else _("Attempts over: give a number, e.g. 3.")


def _moment(value: str) -> str:
    return "" if moment_of(value, _LATEST) else _("A time is 90m, 2h, 3d or 1w ago, or 2026-11-29T22:00 in UTC.")


def _order(value: str) -> str:
    known = [word.value for word in JobOrder]
    told = _("The list is sorted by one of %(names)s.")
    return "" if value.removeprefix("-") in known else told % {"names": ", ".join(known)}


def _place(value: str) -> str:
    told = _("The place to go on from is not understood; this is the first page.")
    return "" if _CURSOR.fullmatch(value) else told


_CHECKS: dict[str, Callable[[str], str]] = {
    "state": _state,
    "wish": _wish,
    "attempts": _number,
    "since": _moment,
    "until": _moment,
    "earlier": _moment,
    "stood": _moment,
    "sort": _order,
    "after": _place,
}
