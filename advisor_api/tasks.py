"""Which tasks does the beat start here? Doors: they read the clock and call one thing."""

from celery import shared_task
from django.utils import timezone

from advisor_api.deciding import decide_all_due
from advisor_api.following import follow


@shared_task(name="advisor_api.tasks.decide_due", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def decide_due() -> None:
    """Decide on every verdict that is due."""
    decide_all_due(timezone.now())


@shared_task(name="advisor_api.tasks.follow_open", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def follow_open() -> None:
    """See what became of the advice that was given."""
    follow(timezone.now())
