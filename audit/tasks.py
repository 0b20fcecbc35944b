"""Which tasks does the beat start here? Doors: they read the clock and call one thing."""

import logging
from pathlib import Path

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from audit.checkpoints import append, sign_due
from audit.key_change import site_keys
from audit.keyring import Keyring
from audit.looking_over import event_of, look_over
from audit.sealing import AT_ONCE, seal_waiting
from audit.signing import BadKey, kept_key
from audit.trail import record

log = logging.getLogger("rekindle.audit")

TURNS = 5  # of `AT_ONCE` events; what is left then waits for the next task


@shared_task(name="audit.tasks.seal", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def seal() -> None:
    """Seal what waits, and sign what is due. A key that cannot be used stops the signing, never the sealing."""
    for _ in range(TURNS):
        if seal_waiting(timezone.now()) < AT_ONCE:
            break
    try:
        signed = sign_due(lambda: kept_key(settings.AUDIT_KEY_FILE), timezone.now())
        elsewhere = settings.REKINDLE["REKINDLE_AUDIT_CHECKPOINT_FILE"]
        if signed and elsewhere:
            append(Path(elsewhere), signed)
    except (BadKey, OSError) as error:
        log.error("the audit trail could not be signed: %s", error)


@shared_task(name="audit.tasks.verify_chain", ignore_result=True)  # type: ignore[untyped-decorator]
def verify_chain(cluster: str, asked_by: str) -> None:
    """Look over the newest part of a chain, because somebody asked, and write into the trail what was found."""
    try:
        keys = site_keys(settings.AUDIT_KEY_FILE)
    except (BadKey, OSError) as error:
        log.error("the key of the audit trail cannot be used, so nothing is proved: %s", error)
        keys = Keyring()
    looked = look_over(cluster, keys)
    record([event_of(looked, asked_by)], timezone.now())
