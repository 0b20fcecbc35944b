"""In which of four fields does a node stand, and why? Pure: facts and the time go in.

Evidence stands as long as nothing has answered it: a fault until it is cleared, blame for a day, until the node has
started anew or somebody gave it back, a reason of the scheduler or of a person until the node has started since
(trap 14: evidence is never older than the node's identity).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from advisor_api.node_standing import Standing

BLAME_STANDS = timedelta(hours=24)  # as long as an exclusion (reference: defaults, "Exclusion life")
LEFT_OUT = "left out of restarts"
RUNS_ON = f"{LEFT_OUT}, other jobs still run there"
OUT = frozenset({"down", "drain", "drained", "draining", "error", "fail", "failing", "gone", "maint"})


@dataclass(frozen=True)
class Excluded:
    """An exclusion that holds. `happened_at`: the failure that it rests on; nothing for a person's word."""

    happened_at: datetime | None = None
    cleared: bool = False


@dataclass(frozen=True)
class NodeFacts:
    """What is known of one node. `words`: the scheduler's for its state, in lower case."""

    words: frozenset[str] = frozenset()
    reason: str = ""
    reason_at: datetime | None = None
    booted_at: datetime | None = None
    exclusions: tuple[Excluded, ...] = ()
    fault: str = ""  # an open fatal one that others told of
    blamed_at: datetime | None = None  # the newest failure that it is blamed for
    incident_at: datetime | None = None  # when an open incident that names it was last seen
    given_back_at: datetime | None = None  # when an exclusion of it was lifted last


@dataclass(frozen=True)
class Stands:
    """A node's field, with the reason in a few words."""

    standing: Standing
    why: str


def stands(node: NodeFacts, now: datetime) -> Stands:
    """The field of a node at `now`."""
    out = _out(node)
    evidence = _evidence(node, now, out=bool(out))
    return Stands(Standing.of(out=bool(out), evidence=bool(evidence)), "; ".join(filter(None, (out, evidence))))


def _out(node: NodeFacts) -> str:
    """How it is left out or out of use; empty when any job may go there.

    An exclusion is ours alone: the scheduler is told nothing of it, and sends other jobs there.
    """
    words = " and ".join(sorted(OUT & node.words))
    if not words:
        return RUNS_ON if node.exclusions else ""
    return f"{LEFT_OUT}, and {words} in the scheduler" if node.exclusions else words


def _evidence(node: NodeFacts, now: datetime, *, out: bool) -> str:
    """What stands against it; empty when nothing does."""
    if node.fault:
        return f"an open fault: {node.fault}"
    if any(_holds(one, node) for one in node.exclusions):
        return "the reason of the exclusion stands"
    if "maint" in node.words:
        return "maintenance"
    if out and (why := _told(node)):
        return why
    if node.incident_at is not None and not _answered(node.incident_at, node):
        return "an open incident names it"
    if node.blamed_at is not None and now - node.blamed_at < BLAME_STANDS and not _answered(node.blamed_at, node):
        return "blamed for a failure of the last day"
    return ""


def _holds(one: Excluded, node: NodeFacts) -> bool:
    """A person's word holds until its end, a verdict until the node has started since or its fault is cleared."""
    if one.happened_at is None:
        return True
    return not one.cleared and not _started_since(one.happened_at, node)


def _told(node: NodeFacts) -> str:
    """Why the scheduler, or somebody at it, has it out of use; a reason from before the node's start is none."""
    if not OUT & node.words:
        return ""
    if node.reason and (node.reason_at is None or not _started_since(node.reason_at, node)):
        return f"reason: {node.reason[:120]}"
    return "" if "drain" in node.words or "drained" in node.words else "it does not work"


def _answered(at: datetime, node: NodeFacts) -> bool:
    """Whether the node has started, or was given back, since."""
    return _started_since(at, node) or (node.given_back_at is not None and node.given_back_at >= at)


def _started_since(at: datetime, node: NodeFacts) -> bool:
    return node.booted_at is not None and node.booted_at > at
