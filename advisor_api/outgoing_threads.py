"""How are due rows sent without anybody waiting for them?

Each in a thread of its own, with few places in all and for one addressee; what finds none free is still due at the
next sweep.
"""

import logging
import threading
from collections.abc import Callable, Iterable
from typing import TypeVar

from django.db import close_old_connections, connections

from advisor_api.outgoing import Outgoing
from detectors.provider_tasks import Places

log = logging.getLogger(__name__)
Row = TypeVar("Row", bound=Outgoing)


def start_each(
    rows: Iterable[tuple[Row, int]], places: Places, claim: Callable[[Row], bool], send: Callable[[Row], None]
) -> int:
    """Claim each row that finds a place of its addressee, and send it in a thread; how many."""
    started = 0
    for row, addressee in rows:
        if not places.take(addressee):
            continue
        ours = False
        try:
            ours = claim(row)
        finally:
            if not ours:
                places.leave(addressee)
        if ours:
            work = (row, addressee, places, send)
            threading.Thread(target=_work, args=work, name=f"sending {row.pk}", daemon=True).start()
            started += 1
    return started


def _work(row: Row, addressee: int, places: Places, send: Callable[[Row], None]) -> None:
    try:
        close_old_connections()
        send(row)
    except Exception:  # the row is due again after its lease
        log.exception("could not keep what came of %s %s", type(row).__name__, row.pk)
    finally:
        places.leave(addressee)
        connections.close_all()
