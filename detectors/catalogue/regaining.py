"""What was lost and is there again? A file server that answers, a link that is up.

Kernels tell both ends of such a pause, each time with the name of what was lost. A symptom is over once all that
its lines named are back.
"""

from collections.abc import Mapping, Sequence

from detectors.catalogue.hits import Hit
from detectors.catalogue.readings import Reading

BACK = {"kernel.lustre_back": "kernel.lustre_lost", "kernel.nfs_back": "kernel.nfs_nr"}
"""The signature of a return, and the one of the loss that it ends."""

_WORDS = ("target", "ost", "srv")  # under which they catch what they speak of

TARGETS_KEPT = 64  # of one symptom; one that names more stays open

_LOSSES = frozenset(BACK.values())


class Absent:
    """What is away, by the key of the symptom; JSON as its state."""

    def __init__(self, state: Mapping[str, Sequence[str]]) -> None:
        self._away = {str(key): [str(target) for target in targets] for key, targets in state.items()}

    def state(self) -> dict[str, list[str]]:
        """As JSON."""
        return self._away

    def lose(self, key: str, reading: Reading, fault: Hit) -> None:
        """A line of a symptom, if it is one of a loss."""
        if fault.signature.id not in _LOSSES:
            return
        away, target = self._away.setdefault(key, []), _named(reading, fault)
        if target not in away and len(away) <= TARGETS_KEPT:
            away.append(target)

    def regain(self, reading: Reading) -> list[str]:
        """Keys of symptoms of which nothing is away any more after this line."""
        hit = reading.fault
        loss = BACK.get(hit.signature.id) if hit is not None else None
        if hit is None or loss is None:
            return []
        over, target = [], _named(reading, hit)
        for key in [key for key, away in self._away.items() if key.startswith(f"{loss}:") and target in away]:
            self._away[key].remove(target)
            if not self._away[key]:
                del self._away[key]
                over.append(key)
        return over


def _named(reading: Reading, hit: Hit) -> str:
    """Host and target: each host loses its own connection."""
    target = next((hit.words[word] for word in _WORDS if word in hit.words), "")
    return f"{','.join(reading.hosts) or reading.record.stream}|{target[:128]}"
