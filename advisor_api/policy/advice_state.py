"""How far is an advice?"""

from schedulers.words import Word


class AdviceState(Word):
    """State of an advice. The only moves are those of `MOVES`."""

    AWAITING_APPROVAL = "awaiting_approval", "Waits for approval", "warning"
    PENDING = "pending", "Open", "primary"
    CONVERGED = "converged", "Reached", "success"
    ABANDONED = "abandoned", "Abandoned", "secondary"


MOVES: dict[AdviceState, frozenset[AdviceState]] = {
    AdviceState.AWAITING_APPROVAL: frozenset({AdviceState.PENDING, AdviceState.ABANDONED}),
    AdviceState.PENDING: frozenset({AdviceState.CONVERGED, AdviceState.ABANDONED}),
    AdviceState.CONVERGED: frozenset(),
    AdviceState.ABANDONED: frozenset(),
}
