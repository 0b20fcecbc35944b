"""What is asked of a store next, after this answer? A fold: no I/O, no clock.

A page by time holds the globally oldest lines, so everything before its newest instant is complete; that instant
itself may be cut and is asked for again. More lines in one instant than a page holds are asked for alone, then in
halves that hold a digit or not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from detectors.stores.store import SECOND, Filter, Line, Question, StoreTrouble, TooMany, TooMuch, TooSlow

LONGEST = 3_600 * SECOND  # of one window
SHORTEST = SECOND  # a window that is too slow is not cut below this
SPLITS = ("1", "2", "3", "4", "5", "6", "7", "8", "9", "0")
"""Lines of one instant are the same words by many ranks: they differ in their digits."""


@dataclass(frozen=True)
class Pass:
    """One reading of a window: the questions left, the next one first; `page`, `instant`: the most lines of one.

    `uncertain` counts instants of which some lines may be missing.
    """

    questions: tuple[Question, ...]
    page: int
    instant: int
    uncertain: int = 0

    @property
    def done(self) -> bool:
        """Whether the window is read to its end."""
        return not self.questions


def begin(start: int, end: int, page: int, instant: int) -> Pass:
    """A pass over `[start, end)`, cut into windows of at most an hour."""
    windows = [Question(at, min(at + LONGEST, end), page) for at in range(start, end, LONGEST)]
    return Pass(tuple(windows), page, instant)


def answered(state: Pass, lines: Sequence[Line]) -> tuple[Pass, tuple[Line, ...]]:
    """What is left to ask after the answer to the first question, and the lines that are complete."""
    question, rest = state.questions[0], state.questions[1:]
    lines = [line for line in lines if question.start <= line.ns < question.end]
    if len(lines) < question.limit:
        return replace(state, questions=rest), tuple(lines)
    if question.end == question.start + 1:
        return _full_instant(state, question, rest, lines)
    newest = max(line.ns for line in lines)
    if newest > question.start:
        complete = tuple(line for line in lines if line.ns < newest)
        return replace(state, questions=(replace(question, start=newest), *rest)), complete
    alone = Question(newest, newest + 1, max(state.instant, 1))
    after = (Question(newest + 1, question.end, state.page),) if newest + 1 < question.end else ()
    return replace(state, questions=(alone, *after, *rest)), ()


def failed(state: Pass, trouble: StoreTrouble) -> Pass:
    """What is left to ask after a trouble that another question may avoid; any other is raised again."""
    question, rest = state.questions[0], state.questions[1:]
    if isinstance(trouble, TooMany) and trouble.limit < question.limit:
        page, instant = min(state.page, trouble.limit), min(state.instant, trouble.limit)
        questions = tuple(replace(one, limit=min(one.limit, trouble.limit)) for one in state.questions)
        return Pass(questions, page, instant, state.uncertain)
    if isinstance(trouble, TooSlow) and question.end - question.start > SHORTEST:
        middle = (question.start + question.end) // 2
        halves = (replace(question, end=middle), replace(question, start=middle))
        return replace(state, questions=(*halves, *rest))
    if isinstance(trouble, TooMuch):
        if question.end == question.start + 1:
            return _halved(state, question, rest) or replace(state, questions=rest, uncertain=state.uncertain + 1)
        if question.limit > 1:
            return replace(state, questions=(replace(question, limit=question.limit // 2), *rest))
    raise trouble


def _full_instant(
    state: Pass, question: Question, rest: tuple[Question, ...], lines: Sequence[Line]
) -> tuple[Pass, tuple[Line, ...]]:
    halved = _halved(state, question, rest)
    if halved is not None:
        return halved, ()
    return replace(state, questions=rest, uncertain=state.uncertain + 1), tuple(lines)


def _halved(state: Pass, question: Question, rest: tuple[Question, ...]) -> Pass | None:
    """The same instant in two disjoint parts; `None` when it cannot be parted any more."""
    depth = len(question.filters)
    if depth >= len(SPLITS):
        return None
    parts = tuple(
        replace(question, filters=(*question.filters, Filter(SPLITS[depth], wanted))) for wanted in (True, False)
    )
    return replace(state, questions=(*parts, *rest))
