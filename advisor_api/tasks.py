"""Which tasks does the beat start here? Doors: they read the clock and call one thing."""

from datetime import timedelta

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from advisor_api.deciding import decide_all_due
from advisor_api.expiring import warn_of_expiring
from advisor_api.following import follow
from advisor_api.notifying.collecting import collect
from advisor_api.notifying.sending import start_due as start_deliveries
from advisor_api.repair_sending import start_due
from advisor_api.retention import Ages, forget


@shared_task(name="advisor_api.tasks.decide_due", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def decide_due() -> None:
    """Decide on every verdict that is due."""
    decide_all_due(timezone.now())


@shared_task(name="advisor_api.tasks.follow_open", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def follow_open() -> None:
    """See what became of the advice that was given."""
    follow(timezone.now())


@shared_task(name="advisor_api.tasks.hand_over", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def hand_over() -> None:
    """Start the records that repair systems are due; nobody waits for their answers."""
    start_due(timezone.now())


@shared_task(name="advisor_api.tasks.notify", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def notify() -> None:
    """Read what is new in the trail into messages, and start those that are due; nobody waits for receivers."""
    now = timezone.now()
    collect(timedelta(hours=settings.REKINDLE["REKINDLE_NOTIFY_HOURS"]), now)
    start_deliveries(now)


@shared_task(name="advisor_api.tasks.warn_of_tokens", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def warn_of_tokens() -> None:
    """Tell the log which tokens end soon."""
    warn_of_expiring(timezone.now())


@shared_task(name="advisor_api.tasks.forget_old", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def forget_old() -> None:
    """Delete log text, memories and health events that are older than the site keeps them."""
    kept = settings.REKINDLE
    ages = Ages(
        timedelta(days=kept["REKINDLE_KEEP_DETAILS_DAYS"]), timedelta(days=kept["REKINDLE_KEEP_HEALTH_DAYS"])
    )
    forget(ages, timezone.now())
