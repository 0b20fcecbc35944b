"""Which task does the beat start for the site as a whole? A door: it reads the clock and calls one thing."""

from celery import shared_task
from django.utils import timezone

from recovery_site.timers import set_right


@shared_task(name="recovery_site.tasks.set_timers_right", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def set_timers_right() -> None:
    """Make due what a clock that was set back would leave undone."""
    set_right(timezone.now())
