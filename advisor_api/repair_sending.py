"""How are due records handed to repair systems, without anybody waiting for them?"""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from advisor_api.outgoing_threads import start_each
from advisor_api.repair_file import FileTrouble, append
from advisor_api.repair_models import RepairRecord
from advisor_api.repair_records import claim, close, due_records, keep_trying
from detectors.credential_folder import credential_named
from detectors.provider_tasks import Places
from detectors.providers.posting import ACCEPTED, post
from detectors.providers.provider import NoAnswer, NothingYet
from detectors.stores.store import StoreTrouble

PLACES = Places()


def start_due(now: datetime) -> int:
    """Start what is due and finds a place; how many. Records of one node go one after the other."""
    due = ((row, row.system_id) for row in due_records(now) if row.system_id is not None)
    return start_each(due, PLACES, lambda row: claim(row, now), lambda row: hand_over(row, timezone.now))


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
