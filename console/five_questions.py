"""Pure: what does somebody want to know before anything acts on a job by itself? Five questions, each answered.

Does the message match the log; has the node a hardware witness; is the node lost or only the job; is a checkpoint
ready; where does the slowness come from. What is not known is said to be not known (decisions 33).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

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
    question = _("Does the message match the log?")
    kept = [proof for proof in proofs if proof.kept]
    stand = sum(proof.stands for proof in kept)
    if not proofs:
        return Answer(question, _("No message"), "secondary", _("The verdict quotes no line of a log."))
    if not kept:
        said = _("No copy of these lines was kept. Follow a link of the evidence to the log itself.")
        return Answer(question, _("Not known"), "secondary", said)
    if not stand:
        said = _(
            "None of the quoted lines stands in the copies that were kept. Read the log before you believe it."
        )
        return Answer(question, _("No"), "danger", said)
    if stand < len(proofs):
        said = _("%(count)s of %(all)s quoted lines stand in what was kept.") % {"count": stand, "all": len(proofs)}
        return Answer(question, _("Partly"), "warning", said)
    if stand == 1:
        said = _("The quoted line stands in the copy of the log, at the byte that the verdict names.")
    elif stand == 2:
        said = _("Both quoted lines stand in the copy of the log, at the byte that the verdict names.")
    else:
        said = ngettext(
            "All %(count)s quoted line stands in the copy of the log, at the byte that the verdict names.",
            "All %(count)s quoted lines stand in the copy of the log, at the byte that the verdict names.",
            stand,
        )
    return Answer(question, _("Yes"), "success", said % {"count": stand})


def has_witness(hosts: Sequence[str], told: Sequence[tuple[str, str]]) -> Answer:
    """Does anybody but the job's own log speak of the named nodes? `told`: node and what was told of it."""
    question = _("Has the node a hardware witness?")
    if not hosts:
        said = _("The verdict names no node, so none would be left out.")
        return Answer(question, _("No node named"), "secondary", said)
    about = [(node, what) for node, what in told if node in hosts]
    alone = [host for host in hosts if host not in {node for node, _what in about}]
    if not about:
        said = _("Only the job's own log speaks of %(nodes)s: no health check, no metric and no reason does.")
        return Answer(question, _("No"), "warning", said % {"nodes": _names(hosts)})
    said = "; ".join(f"{node}: {what}" for node, what in about[:NAMED])
    if alone:
        said = _("%(said)s. Of %(nodes)s only the job's log speaks.") % {"said": said, "nodes": _names(alone)}
        return Answer(question, _("Partly"), "warning", said)
    return Answer(question, _("Yes"), "success", f"{said}.")


def node_or_job(
    nodes: Sequence[NodeNow], failed_at: datetime | None, *, seen: bool, node_failed: bool, ended: bool
) -> Answer:
    """Is a node out of use now, or did the job alone end? `seen`: whether the scheduler can be seen."""
    question = _("Is the node lost, or only the job?")
    if not seen or not nodes:
        unseen, unlisted = _("The scheduler cannot be seen."), _("The scheduler does not list the nodes.")
        return Answer(question, _("Not known"), "secondary", unlisted if seen else unseen)
    lost = [node for node in nodes if node.words & LOST]
    out = [node for node in nodes if node.words & OUT and node not in lost]
    anew = [node.name for node in nodes if failed_at and node.booted_at and node.booted_at > failed_at]
    began = _("%(nodes)s started anew since.") % {"nodes": _names(anew)} if anew else ""
    if lost:
        return Answer(question, _("The node"), "danger", _sentences(f"{_told(lost)}.", began))
    if out:
        return Answer(question, _("Out of use"), "warning", _sentences(f"{_told(out)}.", began))
    if node_failed:
        said = _("The scheduler ended the job because it had lost a node; all its nodes are in use again.")
        return Answer(question, _("The node, then"), "warning", _sentences(said, began))
    names = {"count": len(nodes), "node": nodes[0].name}
    if not ended:
        several, one = (
            _("The job runs, and all %(count)s nodes are in use."),
            _("The job runs, and %(node)s is in use."),
        )
        said = (several if len(nodes) > 1 else one) % names
        return Answer(question, _("Neither"), "success", _sentences(said, began))
    several, one = (
        _("For the scheduler all %(count)s nodes are in use."),
        _("For the scheduler %(node)s is in use."),
    )
    said = (several if len(nodes) > 1 else one) % names
    return Answer(question, _("Only the job"), "success", _sentences(said, began))


def checkpoint_ready(saved: Saved | None, failed_at: datetime | None, *, blind: bool) -> Answer:
    """Is there something to start again from?"""
    question = _("Is a checkpoint ready?")
    if saved is None:
        if blind:
            return Answer(question, _("Not known"), "secondary", _("Rekindle reads no log of this job."))
        said = _("No line of its log tells of one: a restart begins from the start.")
        return Answer(question, _("No"), "danger", said)
    before = None
    if saved.at is not None and failed_at is not None and saved.at <= failed_at:
        before = failed_at - saved.at
    said = _sentences(_saved_at(saved, before), _("Its log says so; nobody has looked at the files."))
    return Answer(question, _("Yes"), "success", said)


def _saved_at(saved: Saved, before: timedelta | None) -> str:
    names = {"step": saved.step, "span": duration(before), "lost": saved.lost}
    if saved.lost is None:
        bare = _("Step %(step)s.") if before is None else _("Step %(step)s, saved %(span)s before it.")
        return bare % names
    if before is None:
        lost = ngettext(
            "Step %(step)s; a restart does %(lost)s step again.",
            "Step %(step)s; a restart does %(lost)s steps again.",
            saved.lost,
        )
    else:
        lost = ngettext(
            "Step %(step)s, saved %(span)s before it; a restart does %(lost)s step again.",
            "Step %(step)s, saved %(span)s before it; a restart does %(lost)s steps again.",
            saved.lost,
        )
    return lost % names


@dataclass(frozen=True)
class Pace:
    """Seconds of a step: now, as usual, and by which factor it counts as slow."""

    now: float | None
    usual: float | None
    factor: float


def slowness(slow: str, hang: str, culprits: Sequence[str], pace: Pace) -> Answer:
    """Who holds the job up? `slow`, `hang`: what a detector says of it."""
    question, names = _("Where does the slowness come from?"), {"nodes": _names(culprits)}
    if hang:
        who = _("%(nodes)s holds it up.") % names if culprits else _("Nobody is named.")
        return Answer(question, _("It stands still"), "danger", _sentences(f"{hang.rstrip('.')}.", who))
    if slow:
        who = _("All ranks wait for the slowest one: which that is, is not known.")
        if culprits:
            who = _("%(nodes)s is named.") % names
        word = _("Named") if culprits else _("Not known")
        return Answer(question, word, "warning", _sentences(f"{slow.rstrip('.')}.", who))
    if pace.now is None or pace.usual is None:
        said = _("No steps, or too few to know its usual pace.")
        return Answer(question, _("Not known"), "secondary", said)
    spans = {"now": duration(pace.now), "usual": duration(pace.usual)}
    if pace.now > pace.factor * pace.usual:
        said = _("A step takes %(now)s, usually %(usual)s: not yet long enough to be sure.") % spans
        return Answer(question, _("Slow just now"), "warning", said)
    return Answer(question, _("It is not slow"), "success", _("A step takes %(now)s, usually %(usual)s.") % spans)


def _sentences(*said: str) -> str:
    return " ".join(filter(None, said))


def _told(nodes: Sequence[NodeNow]) -> str:
    parts = []
    for node in nodes:
        names = {"node": node.name, "state": node_state(node.state), "reason": node.reason}
        bare, full = _("%(node)s is %(state)s"), _("%(node)s is %(state)s (%(reason)s)")
        parts.append((full if node.reason else bare) % names)
    shown = "; ".join(parts[:NAMED])
    return _and_more(shown, len(parts) - NAMED) if len(parts) > NAMED else shown


def _names(names: Sequence[str]) -> str:
    shown = list(names[:NAMED])
    if len(names) > NAMED:
        return _and_more(", ".join(shown), len(names) - NAMED)
    if len(shown) < 2:
        return "".join(shown)
    return _("%(names)s and %(last)s") % {"names": ", ".join(shown[:-1]), "last": shown[-1]}


def _and_more(names: str, more: int) -> str:
    return _("%(names)s and %(count)s more") % {"names": names, "count": more}


def lost_steps(last: int | None, saved: int) -> int | None:
    """Steps behind the newest checkpoint."""
    return None if last is None else max(0, last - saved)


BEFORE, AFTER = timedelta(minutes=10), timedelta(minutes=5)  # of a failure: `detectors.attribution.told`
