"""Which tasks run, how often? Every task may run twice, late, or not at all."""

import gc
import os

from celery import Celery
from celery.schedules import crontab
from celery.signals import worker_process_init
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recovery_site.settings")

broker = settings.REKINDLE["REKINDLE_BROKER_URL"]
in_process = broker.startswith("memory")

app = Celery("rekindle")
app.conf.update(
    broker_url="memory://localhost//" if in_process else broker,  # without a host, every connection warns
    broker_connection_retry_on_startup=True,
    broker_transport_options=(
        # The in-process broker asks once a second by itself: 1.8 s a task instead of 11 ms.
        {"polling_interval": 0.02} if in_process else {}
    ),
    task_ignore_result=True,
    task_acks_late=True,
    task_default_queue="rekindle",
    worker_hijack_root_logger=False,  # else the worker thread takes over the site's own log
    worker_redirect_stdouts=False,  # else it swallows what the embedded site prints
    worker_prefetch_multiplier=1,
    timezone="UTC",
    beat_max_loop_interval=1,
    beat_scheduler="recovery_site.beating:Beat",
)


@worker_process_init.connect  # type: ignore[untyped-decorator]  # Celery has no types
def collect_less_often(**_told: object) -> None:
    """A batch of attempts makes thousands of objects that live as long as it does: looking through them again and
    again took a tenth of a worker's time (measured with 1,000 attempts)."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


app.autodiscover_tasks(["audit", "workloads", "detectors", "advisor_api", "recovery_site"])
app.conf.beat_schedule = {
    "observe due clusters": {
        "task": "workloads.tasks.observe_due",
        "schedule": 0.5,
        "options": {"expires": 5},
    },
    "read due logs": {
        "task": "detectors.tasks.read_due",
        "schedule": settings.REKINDLE["REKINDLE_READ_SECONDS"],
        # What was read may have led to a verdict: it is decided on at once, and not a sweep later.
        "options": {
            "expires": 5,
            "link": app.signature("advisor_api.tasks.decide_due", immutable=True, options={"expires": 5}),
        },
    },
    "read due log stores": {
        "task": "detectors.tasks.read_stores",
        "schedule": settings.REKINDLE["REKINDLE_READ_SECONDS"],
        "options": {"expires": 5},
    },
    "thin series of progress": {"task": "workloads.tasks.thin_series", "schedule": 1.0, "options": {"expires": 5}},
    "read due metrics": {
        "task": "detectors.tasks.read_due_metrics",
        "schedule": 1.0,
        "options": {"expires": 5},
    },
    "judge due attempts": {"task": "detectors.tasks.judge_due", "schedule": 1.0, "options": {"expires": 5}},
    "ask providers": {"task": "detectors.tasks.ask_providers", "schedule": 1.0, "options": {"expires": 5}},
    "end quiet incidents": {"task": "detectors.tasks.end_incidents", "schedule": 60.0, "options": {"expires": 60}},
    "decide due verdicts": {
        "task": "advisor_api.tasks.decide_due",
        "schedule": 1.0,
        "options": {"expires": 5},
    },
    "set timers right": {
        "task": "recovery_site.tasks.set_timers_right",
        "schedule": 5.0,
        "options": {"expires": 5},
    },
    "seal the trail": {"task": "audit.tasks.seal", "schedule": 1.0, "options": {"expires": 5}},
    "hand nodes over": {"task": "advisor_api.tasks.hand_over", "schedule": 1.0, "options": {"expires": 5}},
    "tell people": {"task": "advisor_api.tasks.notify", "schedule": 1.0, "options": {"expires": 5}},
    "warn of tokens": {
        "task": "advisor_api.tasks.warn_of_tokens",
        "schedule": crontab(hour="6", minute="0"),
        "options": {"expires": 3600},
    },
    "forget what is old": {"task": "advisor_api.tasks.forget_old", "schedule": 10.0, "options": {"expires": 30}},
    "follow open recoveries": {
        "task": "advisor_api.tasks.follow_open",
        "schedule": 1.0,
        "options": {"expires": 5},
    },
}
