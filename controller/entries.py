"""What does the journal know about each advice? The lines folded into one entry per advice.

A line is a fact; folding the same lines again gives the same entries. `doings` say of each action when it was
intended, what the scheduler answered, when a look proved it, and whether the Advisor was told.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from controller.advice import Advice, as_record, read_advice
from schedulers.port import JobRow


class Action(enum.StrEnum):
    """One effect on the scheduler."""

    REQUEUE_HOLD = "requeue_hold"
    MARK = "mark"
    EXCLUSIONS = "update_exclusions"
    RELEASE = "release"
    START = "start_after"
    RELAX = "take_exclusions_back"
    UNMARK = "unmark"
    CANCEL = "cancel"


class Outcome(enum.StrEnum):
    """What the scheduler answered. None of it proves anything but `UNSENT` and `REFUSED` (slurm: return codes)."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNCLEAR = "unclear"
    UNSENT = "unsent"


@dataclass(frozen=True)
class Doing:
    """One action of one advice, as far as it came."""

    tries: int = 0  # commands that may have reached the scheduler
    outcome: Outcome | None = None  # None: intended, then no word
    at: datetime | None = None  # of the intent, later of the answer
    done_at: datetime | None = None  # when it was acknowledged, else when it was first seen
    seen_at: datetime | None = None
    seen_restarts: int | None = None  # restart count of the look that proved it
    told: bool = False
    sentence: str = ""

    @property
    def asked(self) -> bool:
        """Whether the command may have been, or may yet be, carried out."""
        return self.at is not None and self.outcome not in {Outcome.REFUSED, Outcome.UNSENT}

    @property
    def refused(self) -> bool:
        """Whether the scheduler's last word was no."""
        return self.outcome is Outcome.REFUSED

    @property
    def said(self) -> str:
        """What the scheduler answered, for people."""
        return self.sentence or "without a reason"


NOT_YET = Doing()


@dataclass(frozen=True)
class Entry:
    """Everything that was begun for one advice."""

    advice: Advice
    announced: bool = False
    ours: tuple[str, ...] = ()  # exclusions that we added: the user's own list does not hold them
    unknown: tuple[str, ...] = ()  # nodes of the advice that the scheduler does not know
    others: bool = False  # whether another controller had the lease since it was opened
    doings: Mapping[Action, Doing] = field(default_factory=dict)

    def doing(self, action: Action) -> Doing:
        """How far this action came."""
        return self.doings.get(action, NOT_YET)

    @property
    def begun(self) -> bool:
        """Whether any command may have reached the scheduler."""
        return any(doing.asked or doing.seen_at for doing in self.doings.values())

    @property
    def holding(self) -> bool:
        """Whether we may be holding the job: asked to hold, and not yet asked to let go."""
        return self.doing(Action.REQUEUE_HOLD).asked and self.doing(Action.RELEASE).seen_at is None

    @property
    def only_marked(self) -> bool:
        """Whether we marked a live job and never asked to hold it, and nobody else of ours can have."""
        return self.doing(Action.MARK).asked and not self.doing(Action.REQUEUE_HOLD).asked and not self.others


@dataclass(frozen=True)
class Added:
    """Nodes that we once put on a job's exclusion list and that are ours to remove.

    `restarts`: how often it had been restarted by then; one that was restarted less often is another job, for
    numbers come round.
    """

    job: int
    user: str
    nodes: tuple[str, ...]
    at: datetime
    restarts: int = 0


@dataclass(frozen=True)
class Spread:
    """Nodes that the waiting tasks of an array should leave out, by the word of `advice`.

    `ours` was put on their lists by us, and comes off again when its exclusion is over.
    """

    advice: Advice
    nodes: tuple[str, ...]
    ours: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[int, str]:
        """The array and its user: numbers come round."""
        return self.advice.array_job or 0, self.advice.user


class BadLine(ValueError):
    """A line of the journal that no version of it wrote."""


@dataclass
class Memory:
    """The journal folded: open entries, remembered exclusions and the last fencing number."""

    entries: dict[tuple[str, int], Entry] = field(default_factory=dict)
    added: dict[tuple[int, str], Added] = field(default_factory=dict)
    arrays: dict[tuple[int, str], Spread] = field(default_factory=dict)
    fence: int = 0

    def fold(self, line: Mapping[str, Any]) -> None:
        """Take one line in. Raises `BadLine`."""
        try:
            self._fold(line)
        except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
            raise BadLine(str(error)) from error

    def _fold(self, line: Mapping[str, Any]) -> None:
        what = line["what"]
        if what == "fence":
            self.fence = int(line["fence"])
        elif what == "added":
            at, restarts = _moment(line["at"]), int(line.get("restarts", 0))
            added = Added(int(line["job"]), line["user"], tuple(line["nodes"]), at, restarts)
            self.added[added.job, added.user] = added
        elif what == "array":
            spread = Spread(read_advice(line["advice"]), tuple(line["nodes"]), tuple(line["ours"]))
            self.arrays[spread.key] = spread
        elif what == "array over":
            self.arrays.pop((int(line["job"]), line["user"]), None)
        elif what == "opened":
            advice = read_advice(line["advice"])
            self.entries[advice.key] = Entry(advice)
        else:
            self._fold_entry(what, (line["id"], int(line["g"])), line)

    def _fold_entry(self, what: str, key: tuple[str, int], line: Mapping[str, Any]) -> None:
        entry = self.entries[key]
        if what == "finished":
            self._finish(entry, _moment(line["at"]))
        elif what == "announced":
            self.entries[key] = replace(entry, announced=True)
        elif what == "others":
            self.entries[key] = replace(entry, others=True)
        elif what == "unknown":
            self.entries[key] = replace(entry, unknown=tuple(line["nodes"]))
        else:
            action = Action(line["action"])
            doing = FOLDS[what](entry.doing(action), line)
            ours = tuple(sorted({*entry.ours, *line.get("ours", ())}))
            self.entries[key] = replace(entry, ours=ours, doings={**entry.doings, action: doing})

    def _finish(self, entry: Entry, at: datetime) -> None:
        advice = entry.advice
        del self.entries[advice.key]
        if entry.doing(Action.EXCLUSIONS).seen_at and not entry.doing(Action.RELAX).seen_at:
            self.added[advice.job, advice.user] = Added(advice.job, advice.user, entry.ours, at, advice.attempt + 1)

    def added_to(self, row: JobRow) -> tuple[str, ...]:
        """Nodes of ours that earlier recoveries left on the list of this very job."""
        added = self.added.get((row.number, row.user))
        return added.nodes if added is not None and row.restarts >= added.restarts else ()

    def remembered(self, forget_before: datetime) -> list[dict[str, Any]]:
        """Lines for what outlives its entries: the fencing number, arrays, exclusions since `forget_before`."""
        lines: list[dict[str, Any]] = [{"what": "fence", "fence": self.fence}]
        for added in self.added.values():
            if added.nodes and added.at >= forget_before:
                nodes, at = list(added.nodes), added.at.isoformat()
                line = {"what": "added", "job": added.job, "user": added.user, "nodes": nodes, "at": at}
                lines.append({**line, "restarts": added.restarts})
        return lines + [spread_line(spread) for spread in self.arrays.values()]


def _intended(doing: Doing, line: Mapping[str, Any]) -> Doing:
    return replace(doing, tries=doing.tries + 1, outcome=None, at=_moment(line["at"]), sentence="")


def _answered(doing: Doing, line: Mapping[str, Any]) -> Doing:
    outcome = Outcome(line["outcome"])
    at = _moment(line["at"])
    return replace(
        doing,
        tries=doing.tries - (outcome is Outcome.UNSENT),
        outcome=outcome,
        at=at,
        done_at=at if outcome is Outcome.ACCEPTED else doing.done_at,
        sentence=line.get("sentence", ""),
    )


def _seen(doing: Doing, line: Mapping[str, Any]) -> Doing:
    at = _moment(line["at"])
    return replace(doing, seen_at=at, seen_restarts=int(line["r"]), done_at=doing.done_at or at)


def _told(doing: Doing, line: Mapping[str, Any]) -> Doing:
    return replace(doing, told=True)


FOLDS = {"intent": _intended, "answer": _answered, "seen": _seen, "told": _told}


def spread_line(spread: Spread) -> dict[str, Any]:
    """The line that says what the waiting tasks of an array should leave out; a later one takes its place."""
    more = {"nodes": list(spread.nodes), "ours": list(spread.ours)}
    return {"what": "array", "advice": as_record(spread.advice), **more}


def opened_line(advice: Advice) -> dict[str, Any]:
    """The line that opens an entry."""
    return {"what": "opened", "advice": as_record(advice)}


def line_of(what: str, advice: Advice, at: datetime, **more: Any) -> dict[str, Any]:
    """A line about an open entry."""
    return {"what": what, "id": advice.advice_id, "g": advice.generation, "at": at.isoformat(), **more}


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time without its zone")
    return moment
