"""How does a command reach a simulated cluster of the same process?"""

from lab.simulate.lies import answer
from lab.simulate.lies import seconds as answer_seconds
from lab.simulate.model import Cluster
from lab.simulate.times import shown_by
from schedulers.transport import Answer, TimedOut

EPOCH_SECONDS = "%s"  # the SLURM_TIME_FORMAT of the product's own transport


class InProcess:
    """`schedulers.transport.Transport` over the model itself, lies included.

    The clock stands still meanwhile; `spent_seconds` adds up what slow answers would have taken.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.spent_seconds = 0.0

    def run(self, argv: tuple[str, ...], seconds: float) -> Answer:
        """The answer of this moment; raises `TimedOut` when it would take longer than `seconds`."""
        takes = answer_seconds(self._cluster, argv)
        self.spent_seconds += min(takes, seconds)
        if takes > seconds:
            raise TimedOut(f"'{argv[0]}' did not answer within {seconds:g} s.")
        with shown_by(self._cluster.clock_at):
            code, out, err = answer(self._cluster, argv, EPOCH_SECONDS)
        return Answer(code, _text(out), _text(err))


def _text(text: str) -> str:
    """As it would come through a pipe."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
