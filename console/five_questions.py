"""Pure: what does somebody want to know before anything acts on a job by itself? Five questions, each answered.

Does the message match the log; has the node a hardware witness; is the node lost or only the job; is a checkpoint
ready; where does the slowness come from. What is not known is said to be not known (decisions 33).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from advisor_api.node_facts import OUT
from console.plain_words import node_state
from console.spans import duration

LOST = frozenset({"down", "fail", "failing", "error", "gone", "no_respond", "not_responding", "unknown"})
NAMED = 6  # nodes named in one sentence


@dataclass(frozen=True)
class Answer:
    """A question with its answer in a word and in a sentence. `colour` is that of the word."""

    question: str
    word: str
    colour: str
    sentence: str


@dataclass(frozen=True)
class Proof:
    """A quoted line: whether a copy of that place was kept, and whether the line stands there."""

    kept: bool
    stands: bool


@dataclass(frozen=True)
class NodeNow:
    """A node as the scheduler shows it now. `state` may join several words by `+`."""

    name: str
    state: str
    reason: str = ""
    booted_at: datetime | None = None

    @property
    def words(self) -> frozenset[str]:
        """Its states in lower case."""
        return frozenset(self.state.lower().replace("*", "").split("+"))


@dataclass(frozen=True)
class Saved:
    """The newest checkpoint of the job. `lost`: steps after it that a restart does again."""

    step: int
    at: datetime | None = None
    lost: int | None = None


def message_matches(proofs: Sequence[Proof]) -> Answer:
    """Do the lines that a verdict quotes stand in the log, at the bytes that it names?"""
    question = "Does the message match the log?"
    kept = [proof for proof in proofs if proof.kept]
    stand = sum(proof.stands for proof in kept)
    if not proofs:
        return Answer(question, "No message", "secondary", "The verdict quotes no line of a log.")
    if not kept:
        said = "No copy of these lines was kept. Follow a link of the evidence to the log itself."
        return Answer(question, "Not known", "secondary", said)
    if not stand:
        said = "None of the quoted lines stands in the copies that were kept. Read the log before you believe it."
        return Answer(question, "No", "danger", said)
    if stand < len(proofs):
        return Answer(
            question, "Partly", "warning", f"{stand} of {len(proofs)} quoted lines stand in what was kept."
        )
    said = {1: "The quoted line stands", 2: "Both quoted lines stand"}.get(stand, f"All {stand} quoted lines stand")
    return Answer(question, "Yes", "success", f"{said} in the copy of the log, at the byte that the verdict names.")


def has_witness(hosts: Sequence[str], told: Sequence[tuple[str, str]]) -> Answer:
    """Does anybody but the job's own log speak of the named nodes? `told`: node and what was told of it."""
    question = "Has the node a hardware witness?"
    if not hosts:
        return Answer(
            question, "No node named", "secondary", "The verdict names no node, so none would be left out."
        )
    about = [(node, what) for node, what in told if node in hosts]
    alone = [host for host in hosts if host not in {node for node, _what in about}]
    if not about:
        said = f"Only the job's own log speaks of {_names(hosts)}: no health check, no metric and no reason does."
        return Answer(question, "No", "warning", said)
    said = "; ".join(f"{node}: {what}" for node, what in about[:NAMED])
    if alone:
        return Answer(question, "Partly", "warning", f"{said}. Of {_names(alone)} only the job's log speaks.")
    return Answer(question, "Yes", "success", f"{said}.")


def node_or_job(
    nodes: Sequence[NodeNow], failed_at: datetime | None, *, seen: bool, node_failed: bool, ended: bool
) -> Answer:
    """Is a node out of use now, or did the job alone end? `seen`: whether the scheduler can be seen."""
    question = "Is the node lost, or only the job?"
    if not seen or not nodes:
        said = "The scheduler cannot be seen." if not seen else "The scheduler does not list the nodes."
        return Answer(question, "Not known", "secondary", said)
    lost = [node for node in nodes if node.words & LOST]
    out = [node for node in nodes if node.words & OUT and node not in lost]
    anew = [node.name for node in nodes if failed_at and node.booted_at and node.booted_at > failed_at]
    began = f" {_names(anew)} started anew since." if anew else ""
    if lost:
        return Answer(question, "The node", "danger", f"{_told(lost)}.{began}")
    if out:
        return Answer(question, "Out of use", "warning", f"{_told(out)}.{began}")
    if node_failed:
        said = f"The scheduler ended the job because it had lost a node; all its nodes are in use again.{began}"
        return Answer(question, "The node, then", "warning", said)
    many = f"all {len(nodes)} nodes are" if len(nodes) > 1 else f"{nodes[0].name} is"
    if not ended:
        return Answer(question, "Neither", "success", f"The job runs, and {many} in use.{began}")
    return Answer(question, "Only the job", "success", f"For the scheduler {many} in use.{began}")


def checkpoint_ready(saved: Saved | None, failed_at: datetime | None, *, blind: bool) -> Answer:
    """Is there something to start again from?"""
    question = "Is a checkpoint ready?"
    if saved is None:
        if blind:
            return Answer(question, "Not known", "secondary", "Rekindle reads no log of this job.")
        return Answer(question, "No", "danger", "No line of its log tells of one: a restart begins from the start.")
    before = ""
    if saved.at is not None and failed_at is not None and saved.at <= failed_at:
        before = f", saved {duration(failed_at - saved.at)} before it"
    again = "" if saved.lost is None else f"; a restart does {saved.lost} step{'s' * (saved.lost != 1)} again"
    said = f"Step {saved.step}{before}{again}. Its log says so; nobody has looked at the files."
    return Answer(question, "Yes", "success", said)


@dataclass(frozen=True)
class Pace:
    """Seconds of a step: now, as usual, and by which factor it counts as slow."""

    now: float | None
    usual: float | None
    factor: float


def slowness(slow: str, hang: str, culprits: Sequence[str], pace: Pace) -> Answer:
    """Who holds the job up? `slow`, `hang`: what a detector says of it."""
    question = "Where does the slowness come from?"
    if hang:
        who = f" {_names(culprits)} holds it up." if culprits else " Nobody is named."
        return Answer(question, "It stands still", "danger", f"{hang.rstrip('.')}.{who}")
    if slow:
        who = f" {_names(culprits)} is named." if culprits else ""
        unknown = "" if culprits else " All ranks wait for the slowest one: which that is, is not known."
        return Answer(
            question, "Named" if culprits else "Not known", "warning", f"{slow.rstrip('.')}.{who}{unknown}"
        )
    if pace.now is None or pace.usual is None:
        said = "No steps, or too few to know its usual pace."
        return Answer(question, "Not known", "secondary", said)
    said = f"A step takes {duration(pace.now)}, usually {duration(pace.usual)}"
    if pace.now > pace.factor * pace.usual:
        return Answer(question, "Slow just now", "warning", f"{said}: not yet long enough to be sure.")
    return Answer(question, "It is not slow", "success", f"{said}.")


def _told(nodes: Sequence[NodeNow]) -> str:
    parts = [
        f"{node.name} is {node_state(node.state)}" + (f" ({node.reason})" if node.reason else "") for node in nodes
    ]
    return "; ".join(parts[:NAMED]) + (f" and {len(parts) - NAMED} more" if len(parts) > NAMED else "")


def _names(names: Sequence[str]) -> str:
    shown = list(names[:NAMED])
    if len(names) > NAMED:
        return f"{', '.join(shown)} and {len(names) - NAMED} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1] if shown else "")))


def lost_steps(last: int | None, saved: int) -> int | None:
    """Steps behind the newest checkpoint."""
    return None if last is None else max(0, last - saved)


BEFORE, AFTER = timedelta(minutes=10), timedelta(minutes=5)  # of a failure: `detectors.attribution.told`
