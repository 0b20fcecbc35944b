"""What is known about one case once it was graded? Yes, no, or not asked, question by question."""

from dataclasses import dataclass
from enum import StrEnum

NOTHING = "none"


class Standing(StrEnum):
    """Does the case count?"""

    COUNTED = "counted"
    NOT_PUT_ON = "not put on"  # neither found nor missed
    BROKEN = "broken"  # the lab itself failed
    UNLABELLED = "without a label"  # text that nobody says the truth of


@dataclass(frozen=True, slots=True)
class Grade:
    """One case. `None` everywhere means that the question does not apply to it.

    `found` is asked of faults only. `layer_right` is exact, `domain_right` by the domain that layers roll up to.
    `excluded` holds each node that a restart was to leave out, with whether it was guilty. `false_actions` are
    sentences, one for each attempt with nothing wrong that was to be restarted or stopped. `answers` are further
    questions with their names; those `beside` are counted, and a no is no miss. `latency_seconds` runs from the
    deed to the moment of detection; `basis` is what the time of the symptom was read from.
    """

    name: str
    fault: bool
    group: str
    standing: Standing
    why: str = ""  # why it does not count
    truth_kind: str = NOTHING
    truth_layers: tuple[str, ...] = ()
    truth_actions: tuple[str, ...] = ()
    truth_later: tuple[str, ...] = ()
    struck: tuple[str, ...] = ()
    found: bool | None = None
    latency_seconds: float | None = None
    basis: str = ""
    said_kind: str = NOTHING
    said_layer: str = NOTHING
    layer_right: bool | None = None
    domain_right: bool | None = None
    said_host: str = ""
    culprit_right: bool | None = None
    excluded: tuple[tuple[str, bool], ...] = ()
    did: str = NOTHING
    action_right: bool | None = None
    did_later: str = NOTHING
    later_right: bool | None = None
    false_actions: tuple[str, ...] = ()
    confidence: float | None = None
    confidence_right: bool | None = None
    evidence_status: str = ""  # of the verdict whose confidence it is
    rule: str = ""  # that named its cause
    healthy_seconds: float = 0.0
    said: str = "nothing"
    answers: tuple[tuple[str, bool], ...] = ()
    beside: tuple[tuple[str, bool], ...] = ()

    @property
    def counted(self) -> bool:
        """Whether it is part of any number."""
        return self.standing is Standing.COUNTED

    @property
    def left_alone(self) -> bool | None:
        """Of a trap: whether nothing was to be done that is not right."""
        return None if self.fault else bool(self.action_right) and not self.false_actions

    @property
    def wrong(self) -> tuple[str, ...]:
        """Everything that the product got wrong, in words; empty for a case that does not count."""
        if not self.counted:
            return ()
        innocent = [node for node, guilty in self.excluded if not guilty]
        rows = (
            (self.found is False, "not found"),
            (self.layer_right is False, f"layer {self.said_layer}, not {_or(self.truth_layers)}"),
            (self.culprit_right is False, f"culprit {self.said_host or 'nobody'}, not {_or(self.struck)}"),
            (bool(innocent), f"innocent left out: {', '.join(innocent)}"),
            (self.action_right is False, f"action {_instead(self.did, self.truth_actions)}"),
            (self.later_right is False, f"later {_instead(self.did_later, self.truth_later)}"),
            *((True, sentence) for sentence in self.false_actions),
            *((not right, f"not: {question}") for question, right in self.answers),
        )
        return tuple(words for wrong, words in rows if wrong)


def _instead(did: str, right: tuple[str, ...]) -> str:
    """The right thing that is wrong all the same leaves out other nodes, or not all of them."""
    return f"{did}, but not without every guilty node" if did in right else f"{did}, not {_or(right)}"


def _or(names: tuple[str, ...]) -> str:
    return " or ".join(names) or NOTHING
