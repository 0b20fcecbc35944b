"""Is a mode switched only by who may, with a reason, twice confirmed, and never from a stale page?"""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from audit.models import AuditEvent
from tests.console.sample import Sample
from workloads.models import Cluster

ADDRESS = "/clusters/demo-monitor/mode"
ASKED = {"mode": "action", "version_seen": "1", "reason": "watched for a week"}
CONFIRMED = ASKED | {"confirmed": "yes"}


def mode() -> tuple[str, int]:
    return Cluster.objects.values_list("mode", "mode_version").get(name="demo-monitor")


def switches() -> int:
    return AuditEvent.objects.filter(type="mode_changed").count()


@pytest.mark.parametrize("who", ["viewer", "operator"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_without_the_permission_it_is_forbidden(
    who: str, method: str, cast: dict[str, User], client: Client, rows: Sample
) -> None:
    client.force_login(cast[who])
    assert getattr(client, method)(ADDRESS, CONFIRMED).status_code == 403
    assert mode() == ("monitor", 1)


def test_a_stranger_is_sent_to_the_sign_in(client: Client, rows: Sample) -> None:
    assert client.post(ADDRESS, CONFIRMED).status_code == 302
    assert mode() == ("monitor", 1)


def test_another_site_cannot_switch(cast: dict[str, User], rows: Sample) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast["admin"])
    assert client.post(ADDRESS, CONFIRMED).status_code == 403
    assert mode() == ("monitor", 1)


def test_the_first_post_only_says_what_would_change(as_admin: Client, rows: Sample) -> None:
    answer = as_admin.post(ADDRESS, ASKED)
    text = answer.content.decode()
    assert answer.status_code == 200
    assert "demo-monitor goes from monitor to action." in text
    assert (
        "1 job runs there now. A job in any partition may be acted on if its comment asks for mode action." in text
    )
    assert "acknowledgeSchedulerActions is not set for this cluster" in text
    assert mode() == ("monitor", 1)
    assert switches() == 0


def test_the_second_post_switches_with_its_reason_in_the_trail(as_admin: Client, rows: Sample) -> None:
    answer = as_admin.post(ADDRESS, CONFIRMED, follow=True)
    assert "demo-monitor is in action mode now." in answer.content.decode()
    assert mode() == ("action", 2)
    event = AuditEvent.objects.get(type="mode_changed")
    assert "watched for a week" in event.sentence
    assert (event.actor_kind, event.actor) == ("person", "admin")


@pytest.mark.parametrize("step", [ASKED, CONFIRMED], ids=["at the first post", "at the confirmation"])
def test_a_stale_page_is_refused_with_a_sentence(step: dict[str, str], as_admin: Client, rows: Sample) -> None:
    as_admin.post(ADDRESS, CONFIRMED | {"mode": "approve"})
    answer = as_admin.post(ADDRESS, step)
    assert answer.status_code == 409
    assert "Nothing was changed by you" in answer.content.decode()
    assert mode() == ("approve", 2)
    assert switches() == 1
    assert 'name="version_seen" value="2"' in answer.content.decode(), "the form goes on from what is true now"


def test_somebody_first_between_the_look_and_the_write(
    as_admin: Client, rows: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    from console.views import mode as door

    real = door.switch_mode

    def late(*arguments: object) -> object:
        Cluster.objects.filter(name="demo-monitor").update(mode="approve", mode_version=2)
        return real(*arguments)

    monkeypatch.setattr(door, "switch_mode", late)
    assert as_admin.post(ADDRESS, CONFIRMED).status_code == 409
    assert mode() == ("approve", 2)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"reason": ""}, "Say why: the reason goes into the audit trail."),
        ({"reason": "   "}, "Say why: the reason goes into the audit trail."),
        ({"reason": "x" * 501}, "at most 500 characters"),
        ({"mode": "berserk"}, "berserk is no mode; known are monitor, approve and action."),
        ({"mode": ""}, "Choose a mode."),
        ({"version_seen": "x"}, "not a number; open the page again"),
        ({"version_seen": ""}, "open the page again"),
        ({"mode": "monitor"}, "is in mode monitor already"),
    ],
)
def test_a_form_that_cannot_be_used_changes_nothing(
    change: dict[str, str], sentence: str, as_admin: Client, rows: Sample
) -> None:
    answer = as_admin.post(ADDRESS, CONFIRMED | change)
    assert answer.status_code == 400
    assert sentence in answer.content.decode()
    assert mode() == ("monitor", 1)
    assert switches() == 0


def test_a_cluster_that_is_not_there_is_404(as_admin: Client, rows: Sample) -> None:
    assert as_admin.post("/clusters/nowhere/mode", CONFIRMED).status_code == 404


def test_open_advice_is_shown_before_the_switch(as_admin: Client, rows: Sample) -> None:
    text = as_admin.post("/clusters/far-away/mode", ASKED).content.decode()
    assert "1 advice is open now and listed below" in text
    assert "Restart 99-0 without f02" in text
