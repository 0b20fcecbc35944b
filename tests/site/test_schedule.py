"""Are there tasks of all the names that the beat sends?"""

from recovery_site.celery import app


def test_every_scheduled_task_exists() -> None:
    app.loader.import_default_modules()
    entries = app.conf.beat_schedule.values()
    linked = [entry["options"]["link"].task for entry in entries if "link" in entry["options"]]
    assert linked == ["advisor_api.tasks.decide_due"]
    assert {entry["task"] for entry in entries} | set(linked) <= set(app.tasks)


def test_what_waited_too_long_is_dropped() -> None:
    assert all(entry["options"]["expires"] > 0 for entry in app.conf.beat_schedule.values())
