"""What is one message made of? Pure; every text in it is bounded, masked and without acting characters."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from audit.masking import masked
from workloads.stored_text import storable
from workloads.visible_text import visible

LONGEST = 400  # characters of one sentence
LISTED = 10  # things that one message names; the others are counted


@dataclass(frozen=True)
class Thing:
    """One thing that somebody is told of. `subject` is the same whenever it is seen again.

    `would`: nothing was done, it was decided in monitor mode. `incident` and `job`: of which incident, and of which
    attempt (its Heimdall id), so that a silence can be looked for.
    """

    subject: str
    topic: str
    level: str
    cluster: str
    sentence: str
    path: str
    at: datetime
    would: bool = False
    attempt: str = ""
    node: str = ""
    event: str = ""
    advice_generation: int | None = None
    incident: str = ""
    job: str = ""

    def as_item(self) -> dict[str, Any]:
        """As it is stored and sent, JSON values alone."""
        left_out = ("subject", "topic", "level", "cluster", "would", "incident", "job")
        found = {name: value for name, value in asdict(self).items() if name not in left_out}
        return {**found, "at": self.at.isoformat(), "sentence": clean(self.sentence), "node": clean(self.node, 255)}


@dataclass(frozen=True)
class Message:
    """One message as it leaves. `items`: the first things it speaks of, `count` how many there are."""

    key: str
    route: str
    topic: str
    level: str
    cluster: str
    would: bool
    count: int
    title: str
    text: str
    link: str
    base: str
    first_at: datetime
    last_at: datetime
    items: tuple[dict[str, Any], ...]

    @property
    def more(self) -> int:
        """How many things are counted and not named."""
        return max(0, self.count - len(self.items))


def clean(text: object, limit: int = LONGEST) -> str:
    """One line that may be sent: secrets masked, acting characters replaced, cut to `limit` characters."""
    shown = visible(masked(storable(str(text), 4 * limit)).replace("\t", " "), limit)
    return shown if len(shown) <= 2 * limit else shown[: 2 * limit]
