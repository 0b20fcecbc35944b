"""Which hosts does a text speak of? Asked of the product's own locator, where the scheduler's list is missing.

First without a list: what NCCL, the kernel's log and `srun` call a host is believed. A host that only labels lines
(`node001: …`) is known to the product by the scheduler's list alone. So a name in small letters that ends in two
digits or more, as node names do, is put on a list, and counts when the locator then takes it for a speaker or for
what a line is about.
"""

import re
from collections.abc import Sequence
from datetime import datetime

from detectors.catalogue.readings import Reader
from detectors.catalogue.records import Context, Record
from schedulers.states import JobState
from workloads.limits import effective_limits

MOST = 256
_NAME = re.compile(
    r"(?<![\w./@-])(?!(?:rank|gpu|task|step|epoch|local|pid|line)\d)[a-z][a-z-]{0,40}\d{2,6}(?![\w.-]|::)"
)


def hosts_of(lines: Sequence[str], at: datetime) -> tuple[str, ...]:
    """Host names in the order in which the text speaks of them, at most `MOST`."""
    believed = _heard(lines, (), at)
    names = dict.fromkeys(name for line in lines for name in _NAME.findall(line[:400]))
    listed = _heard(lines, tuple(dict.fromkeys((*believed, *list(names)[:MOST]))), at) if names else ()
    return tuple(dict.fromkeys((*believed, *listed)))[:MOST]


def _heard(lines: Sequence[str], nodes: Sequence[str], at: datetime) -> tuple[str, ...]:
    context = Context(
        state=JobState.RUNNING,
        nodes=tuple(nodes),
        started_at=at,
        ended_at=None,
        exit_code=None,
        exit_signal=None,
        reason="",
        limits=effective_limits({}),
    )
    reader = Reader({}, context)
    readings = reader.read([Record("job.log", number, line, at) for number, line in enumerate(lines)])
    places = reader.places.state()
    heard: dict[str, None] = dict.fromkeys((*places["hosts"].values(), *places["addresses"].values()))
    for reading in readings:
        heard |= dict.fromkeys((*([reading.speaker.host] if reading.speaker.host else []), *reading.hosts))
    return tuple(heard)
