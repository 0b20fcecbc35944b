"""How right was what the product said about one labelled text? The label is read like the truth of a case.

Alternatives follow the description of the format: a kill for memory may be stopped or restarted; where the note
says that the text does not prove its label, an unknown layer and a restart are right, too; the labels know no layer
`user`, which is one of the application's. How often the product says the label's own word is counted beside it. A
culprit is asked for where the label leaves out a node and names it. A hang that only silence shows is not put on: a
text holds no silence.
"""

from collections.abc import Iterable
from dataclasses import replace

from detectors.catalogue.layer import Layer
from lab.cases.case import Case, Did, Sort, Truth
from lab.score.grade import Grade, Standing
from lab.score.grading import domain, grade, spoken
from lab.score.hearing import BEGIN, Heard
from lab.score.labelled import Label, Snippet
from lab.score.said import Result
from lab.truth import Injected

RESTARTS = (Did.RESTART, Did.RESTART_EXCLUDE)


def grade_text(snippet: Snippet, heard: Heard) -> Grade:
    """What was said, laid beside the label. Pure."""
    label = snippet.label
    if label is None:
        return Grade(snippet.name, False, "", Standing.UNLABELLED, "it has no label", said=spoken(heard.said))
    case = _case(snippet.name, label)
    job = next(iter(heard.said.states), 1)
    deed = Injected(case.name, job, 0, "text", BEGIN.timestamp(), label.nodes)
    told = grade(Result(case, (deed,), heard.said, 0.0))
    if label.kind == "hang" and label.root_line is None:
        why = "the label says that only silence shows it, and a text holds no silence"
        return Grade(told.name, True, told.group, Standing.NOT_PUT_ON, why, said=told.said)
    nameless = label.action == Did.RESTART_EXCLUDE and not label.nodes  # nobody can say who is guilty
    return replace(
        told,
        latency_seconds=None,
        basis="",
        excluded=() if nameless else told.excluded,
        answers=tuple(_answers(label, heard)),
        beside=tuple(_beside(label, heard, told)),
    )


def _case(name: str, label: Label) -> Case:
    """The label as the truth of a case."""
    layers = [label.layer] if label.layer else []
    actions = [label.action] if label.action else []
    if label.layer == Layer.APPLICATION:
        layers.append(Layer.USER.value)
    if label.layer == Layer.SYSTEM_MEMORY:
        actions += [one for one in ("restart", "stop") if one not in actions]
    if label.unproven:
        layers.append(Layer.UNKNOWN.value)
        actions += [one for one in ("restart",) if one not in actions]
    truth = Truth(
        kind=label.kind if label.fault else "none",
        layers=tuple(layers),
        culprit=bool(label.nodes) and label.action == Did.RESTART_EXCLUDE,
        actions=tuple(Did(one) for one in actions),
        why="its label says so",
    )
    group = domain(label.layer) or "unknown" if label.fault else f"healthy: {label.kind}"
    return Case(name, Sort.FAULT if label.fault else Sort.TRAP, group, "a text", truth)


def _answers(label: Label, heard: Heard) -> Iterable[tuple[str, bool]]:
    """What else a text is asked; a no is a miss."""
    if not label.fault:
        yield "no cause seen in healthy text", not heard.causes
    if label.kind == "progress":
        yield "step read", heard.stepped
    if label.kind == "checkpoint":
        yield "checkpoint read", heard.saved
    if label.fault and label.root_line is not None:
        yield "labelled line is the first evidence", _is(heard.first_line, label.root_line)
        yield "labelled line is evidence at all", any(_is(line, label.root_line) for line in heard.lines)


def _beside(label: Label, heard: Heard, told: Grade) -> Iterable[tuple[str, bool]]:
    """What is counted beside the questions, in the label's own words."""
    if label.fault and label.layer:
        strongest = Layer.APPLICATION.value if heard.strongest_layer == Layer.USER else heard.strongest_layer
        yield "layer of the strongest line as labelled", strongest == label.layer
    if label.fault and label.action:
        yield "action in the label's own word", told.did == label.action
    if label.action == Did.RESTART_EXCLUDE and not label.nodes:
        yield "restarted, where the label leaves out a node and names none", told.did in RESTARTS
    if label.fault and label.nodes:
        named = {node for one in heard.said.verdicts for node in one.hosts}
        named |= {node for one in heard.said.symptoms for node in one.nodes}
        yield "a labelled node is named at all", bool(named & set(label.nodes))


def _is(quote: str, line: str) -> bool:
    """Quotes may be cut."""
    return bool(quote) and quote == line[: len(quote)]
