"""How does a command reach a simulated cluster of the same process?"""

from collections.abc import Callable, Sequence

from lab.simulate.commands import answer
from lab.simulate.model import Cluster
from schedulers.transport import Answer

Answering = Callable[[Cluster, Sequence[str], str], tuple[int, str, str]]
EPOCH_SECONDS = "%s"  # the SLURM_TIME_FORMAT of the product's own transport


class InProcess:
    """`schedulers.transport.Transport` over the model itself; an answer takes no time."""

    def __init__(self, cluster: Cluster, answering: Answering = answer) -> None:
        self._cluster = cluster
        self._answering = answering

    def run(self, argv: tuple[str, ...], seconds: float) -> Answer:
        """The answer of this moment."""
        code, out, err = self._answering(self._cluster, argv, EPOCH_SECONDS)
        return Answer(code, _text(out), _text(err))


def _text(text: str) -> str:
    """As it would come through a pipe."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
