"""How are due records handed to repair systems, without anybody waiting for them?

As with providers each is sent in a thread of its own, with few places in all and for one system; what finds none
free is still due at the next sweep.
"""

import json
import logging
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import close_old_connections, connections
from django.utils import timezone

from advisor_api.repair_file import FileTrouble, append
from advisor_api.repair_models import RepairRecord
from advisor_api.repair_records import claim, close, due_records, keep_trying
from detectors.credential_folder import credential_named
from detectors.provider_tasks import Places
from detectors.providers.posting import ACCEPTED, post
from detectors.providers.provider import NoAnswer, NothingYet
from detectors.stores.store import StoreTrouble

log = logging.getLogger(__name__)
PLACES = Places()


def start_due(now: datetime) -> int:
    """Start what is due and finds a place; how many. Records of one node go one after the other."""
    started = 0
    for row in due_records(now):
        system = row.system_id
        if system is None or not PLACES.take(system):
            continue
        mine = False
        try:
            mine = claim(row, now)
        finally:
            if not mine:
                PLACES.leave(system)
        if mine:
            threading.Thread(target=_body, args=(row, system), name=f"hand-off {row.name}", daemon=True).start()
            started += 1
    return started


def _body(row: RepairRecord, system: int) -> None:
    try:
        close_old_connections()
        hand_over(row, timezone.now)
    except Exception:  # the row is due again after its lease
        log.exception("could not keep what came of %s", row.key)
    finally:
        PLACES.leave(system)
        connections.close_all()


def hand_over(row: RepairRecord, clock: Callable[[], datetime]) -> None:
    """Hand a claimed record to its system, and keep what came of it."""
    try:
        send(row)
    except (NothingYet, FileTrouble) as trouble:
        keep_trying(row, str(trouble), clock())
    except (NoAnswer, StoreTrouble) as trouble:
        close(row, "failed", str(trouble), clock())
    else:
        close(row, "sent", "", clock())


def send(row: RepairRecord) -> None:
    """Send it. Raises `NothingYet` and `FileTrouble` when it may pass, `NoAnswer` and `StoreTrouble` otherwise."""
    system = row.system
    if system is None:
        raise NoAnswer("nobody is told there any more")
    if system.kind == "file":
        append(_folder(), system.file, row.body, again=row.tries > 1)
        return
    credential = credential_named(system.credential)
    body = json.dumps(row.body, allow_nan=False).encode()
    post(
        system.address,
        body,
        credential.authorization,
        credential.authorities,
        system.timeout_seconds,
        taken=ACCEPTED,
        key=row.key,
    )


def _folder() -> Path:
    named = settings.REKINDLE["REKINDLE_HANDOFF_DIR"]
    return Path(named) if named else Path(settings.STATE_DIR) / "hand-off"
