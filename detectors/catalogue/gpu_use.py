"""What do the GPUs of an attempt do, as their metrics tell? A fact for the detectors, beside the lines.

An observation of the topic `gpu_use`, key `all`, that the reading of metrics writes: once a minute while nothing
changes. It proves nothing when it is old: then nobody knows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

TOPIC = "gpu_use"
OLD = timedelta(minutes=3)
"""A fact that is older says nothing of now: a row is written at least once a minute."""
IDLE = 0.02  # of its time: below it a GPU does nothing


@dataclass(frozen=True)
class GpuUse:
    """Utilisation from 0 to 1 over all GPUs of the attempt's nodes that were seen at `seen_at`.

    `mean` is that of the last read, `gpus` how many were seen, `nodes` on how many nodes of the attempt.
    `idle_since`: since when all of them are below `IDLE`; `None` while one works, or while a node of the attempt is
    not seen. `witness` names the metric signal (`m.spin`, `m.rdma_zero`) that says since `witness_since` that the
    attempt does not get on; empty: none.
    """

    mean: float
    gpus: int
    nodes: int
    seen_at: datetime
    idle_since: datetime | None = None
    witness: str = ""
    witness_since: datetime | None = None

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> "GpuUse":
        """From its JSON. Raises `KeyError`, `TypeError`, `ValueError`."""
        return cls(
            mean=float(value["mean"]),
            gpus=int(value["gpus"]),
            nodes=int(value["nodes"]),
            seen_at=datetime.fromisoformat(value["seen_at"]),
            idle_since=_moment(value.get("idle_since")),
            witness=str(value.get("witness", "")),
            witness_since=_moment(value.get("witness_since")),
        )

    def stored(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "mean": round(self.mean, 4),
            "gpus": self.gpus,
            "nodes": self.nodes,
            "seen_at": self.seen_at.isoformat(),
            "idle_since": _stored(self.idle_since),
            "witness": self.witness,
            "witness_since": _stored(self.witness_since),
        }

    def known_at(self, now: datetime) -> bool:
        """Whether it still says something."""
        return now - self.seen_at <= OLD


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _stored(at: datetime | None) -> str | None:
    return at.isoformat() if at is not None else None
