"""Can the trail be read in the admin, and can nobody change it there?"""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.models import AuditEvent
from audit.trail import Actor, Entry, Subject, record
from tests.audit.people import signed_in
from tests.workloads.scripted import START
from workloads.identity import heimdall_id


@pytest.fixture
def event(db: None) -> AuditEvent:
    """One event of an attempt."""
    subject = Subject("demo", 12345, 0, 0, heimdall_id("demo", 12345, 0, 0), "n03")
    actor = Actor(ActorKind.SCHEDULER, "slurm")
    return record([Entry(EventType.ATTEMPT_SEEN, subject, actor, "<b>first seen</b>")], START)[0]


@pytest.fixture(params=["superuser", "every permission"])
def mighty(request: pytest.FixtureRequest, db: None) -> Client:
    """Whoever could change most."""
    superuser = request.param == "superuser"
    return signed_in("auditor", superuser=superuser, everything=not superuser)


def stored() -> list[dict[str, Any]]:
    return list(AuditEvent.objects.values())


def test_events_are_neither_changed_nor_deleted_nor_added(mighty: Client, event: AuditEvent) -> None:
    before = stored()
    form = {"sentence": "nothing happened", "actor": "nobody", "cluster": "demo", "type": "anomaly", "post": "yes"}
    change = reverse("admin:audit_auditevent_change", args=[event.pk])
    delete = reverse("admin:audit_auditevent_delete", args=[event.pk])
    add = reverse("admin:audit_auditevent_add")
    assert [mighty.post(address, form).status_code for address in (change, delete, add)] == [403, 403, 403]
    assert [mighty.get(address).status_code for address in (delete, add)] == [403, 403]
    assert stored() == before


def test_the_list_offers_no_action_and_takes_none(mighty: Client, event: AuditEvent) -> None:
    before = stored()
    address = reverse("admin:audit_auditevent_changelist")
    page = mighty.get(address)
    assert b'name="action"' not in page.content
    form = {
        "action": "delete_selected",
        "_selected_action": [event.pk],
        "post": "yes",
        "index": 0,
        "select_across": 1,
    }
    mighty.post(address, form)
    mighty.post(address, {"form-TOTAL_FORMS": 1, "form-INITIAL_FORMS": 1, "form-0-id": event.pk, "_save": "Save"})
    assert stored() == before


def test_an_event_is_read_with_its_text_escaped(mighty: Client, event: AuditEvent) -> None:
    page = mighty.get(reverse("admin:audit_auditevent_change", args=[event.pk]))
    assert page.status_code == 200
    assert b"&lt;b&gt;first seen&lt;/b&gt;" in page.content
    assert b"<b>first seen</b>" not in page.content
    assert b'name="_save"' not in page.content


@pytest.mark.parametrize(
    ("payload", "shown"),
    [
        ({}, "–"),
        ({"step": 3}, "{&quot;step&quot;: 3}"),
        (
            {"nodes": ["n01", "n02"], "said": "<b>é</b> " * 10},
            "{<br>  &quot;nodes&quot;: [<br>    &quot;n01&quot;,<br>    &quot;n02&quot;<br>  ],<br>"
            f"  &quot;said&quot;: &quot;{'&lt;b&gt;é&lt;/b&gt; ' * 10}&quot;<br>}}",
        ),
    ],
    ids=["nothing", "short", "long and hostile"],
)
def test_stored_json_is_laid_out_and_escaped(db: None, payload: dict[str, Any], shown: str) -> None:
    actor = Actor(ActorKind.SCHEDULER, "slurm")
    event = record([Entry(EventType.ATTEMPT_SEEN, Subject("demo"), actor, "seen", payload=payload)], START)[0]
    page = signed_in("auditor", superuser=True).get(reverse("admin:audit_auditevent_change", args=[event.pk]))
    assert f'<div class="readonly">{shown}</div>' in page.content.decode()


SEARCHES = {
    "job number": ("12345", 1),
    "another job number": ("12346", 0),
    "attempt id": (str(heimdall_id("demo", 12345, 0, 0)), 1),
    "node": ("n03", 1),
    "words": ("first", 1),
    "actor": ("slurm", 1),
    "no UUID": ("12345-", 0),
}


@pytest.mark.parametrize(("text", "found"), SEARCHES.values(), ids=SEARCHES.keys())
def test_search(event: AuditEvent, text: str, found: int) -> None:
    page = signed_in("auditor", superuser=True).get(reverse("admin:audit_auditevent_changelist"), {"q": text})
    assert page.status_code == 200
    assert len(page.context["cl"].result_list) == found


@pytest.mark.parametrize("query", ["type=attempt_seen", "level=info", "cluster=demo", "actor_kind=scheduler"])
def test_filters(event: AuditEvent, query: str) -> None:
    page = signed_in("auditor", superuser=True).get(reverse("admin:audit_auditevent_changelist") + f"?{query}")
    assert len(page.context["cl"].result_list) == 1


def test_a_stranger_is_sent_to_the_sign_in(client: Client, event: AuditEvent) -> None:
    page = client.get(reverse("admin:audit_auditevent_changelist"))
    assert page.status_code == 302
