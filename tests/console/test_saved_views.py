"""Can views be kept, shared, changed and deleted, by whom, and what does the trail say of it?"""

from datetime import datetime

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from advisor_api.refusals import Bad
from audit.event_type import EventType
from audit.models import AuditEvent
from console.models import SavedView
from console.saved_views import OWN_AT_MOST, Wish, keep
from tests.console.sample import Sample

HOSTILE = '<script>alert(1)</script> "q" \u202egnp'


@pytest.fixture
def sharing(cast: dict[str, User]) -> User:
    operator = cast["operator"]
    operator.user_permissions.add(Permission.objects.get(codename="share_view"))
    return operator


def told() -> list[str]:
    return list(
        AuditEvent.objects.filter(type=EventType.CONFIGURATION, action="view").values_list("sentence", flat=True)
    )


def test_the_filters_of_the_page_become_a_view(as_viewer: Client, rows: Sample) -> None:
    page = as_viewer.get("/jobs?state=failed&user=ana").content.decode()
    assert f"{reverse('view-new')}?state=failed&amp;user=ana" in page
    form = as_viewer.get(f"{reverse('view-new')}?state=failed&user=ana").content.decode()
    assert "state: Failed" in form and "Share it" not in form
    answer = as_viewer.post(reverse("view-new"), {"name": "Mine", "query": "?user=ana&state=failed"})
    assert answer.headers["Location"] == "/jobs?state=failed&user=ana"
    assert '<h1 class="page-title">Mine</h1>' in as_viewer.get("/jobs?state=failed&user=ana").content.decode()
    assert told() == [], "what only its owner sees is nobody else's matter"


def test_the_list_opens_with_the_default_and_the_way_out_of_it(as_viewer: Client, rows: Sample) -> None:
    for name, query in (("a", "?state=failed"), ("b", "?state=blind")):
        as_viewer.post(reverse("view-new"), {"name": name, "query": query, "default": "on"})
    assert as_viewer.get("/jobs").headers["Location"] == "/jobs?state=blind"
    assert SavedView.objects.filter(is_default=True).count() == 1
    assert as_viewer.get("/jobs?state=live").status_code == 200


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"name": "", "query": ""}, "Give the view a name."),
        ({"name": "x" * 81, "query": ""}, "at most 80"),
        ({"name": "a\u202eb", "query": ""}, "plain text in one line"),
        ({"name": "a", "query": "?state=nonsense"}, "There is no state of that name"),
        ({"name": "there", "query": ""}, "There is a view named there already."),
    ],
)
def test_what_cannot_be_a_view_changes_nothing(
    sent: dict[str, str], said: str, cast: dict[str, User], as_viewer: Client, rows: Sample, now: datetime
) -> None:
    keep(cast["viewer"], Wish("there", "", shared=False, default=False), now)
    answer = as_viewer.post(reverse("view-new"), sent)
    assert answer.status_code == 400
    assert said in answer.content.decode()
    assert SavedView.objects.count() == 1


def test_markup_in_a_name_is_text(cast: dict[str, User], as_viewer: Client, rows: Sample, now: datetime) -> None:
    keep(cast["operator"], Wish("<b>bold</b>", "?q=%3Cscript%3E", shared=True, default=False), now)
    for address in ("/jobs", reverse("views")):
        text = as_viewer.get(address).content.decode()
        assert "&lt;b&gt;bold&lt;/b&gt;" in text and "<b>bold" not in text


def test_who_may_not_share_does_not(as_viewer: Client, rows: Sample) -> None:
    as_viewer.post(reverse("view-new"), {"name": "a", "query": "", "shared": "on"})
    assert not SavedView.objects.get().shared


def test_a_shared_view_is_everybodys_and_the_trail_tells(
    sharing: User, as_operator: Client, as_viewer: Client, rows: Sample
) -> None:
    as_operator.post(reverse("view-new"), {"name": "night", "query": "?state=blind", "shared": "on"})
    view = SavedView.objects.get()
    assert "night" in as_viewer.get("/jobs").content.decode()
    assert as_viewer.get(reverse("view", args=[view.pk])).status_code == 404, "seen is not owned"
    sent = {"name": "day", "query": view.query, "shared": "on", "revision": "1", "deed": "save"}
    assert as_operator.post(reverse("view", args=[view.pk]), sent).status_code == 302
    assert (
        as_operator.post(reverse("view", args=[view.pk]), {**sent, "revision": "2", "deed": "delete"}).status_code
        == 302
    )
    assert told() == [
        "operator shares view night of the list of jobs: ?state=blind",
        "operator changed the shared view day of the list of jobs: ?state=blind",
        "operator deleted the shared view day of the list of jobs: ?state=blind",
    ]


def test_of_two_windows_the_first_wins_and_the_second_is_told(as_viewer: Client, rows: Sample) -> None:
    as_viewer.post(reverse("view-new"), {"name": "a", "query": ""})
    address = reverse("view", args=[SavedView.objects.get().pk])
    sent = {"name": "b", "query": "", "revision": "1", "deed": "save"}
    assert as_viewer.post(address, sent).status_code == 302
    late = as_viewer.post(address, {**sent, "name": "c"})
    assert late.status_code == 409
    assert "nothing was changed by you" in late.content.decode()
    assert SavedView.objects.get().name == "b"
    assert as_viewer.post(address, {**sent, "deed": "delete"}).status_code == 409
    assert SavedView.objects.exists()


def test_there_is_an_end_to_views(cast: dict[str, User], as_viewer: Client, rows: Sample, now: datetime) -> None:
    for number in range(OWN_AT_MOST):
        keep(cast["viewer"], Wish(f"view {number}", f"?q={number}", shared=False, default=False), now)
    with pytest.raises(Bad, match="delete one first"):
        keep(cast["viewer"], Wish("one more", "", shared=False, default=False), now)
    assert as_viewer.get("/jobs").content.decode().count('<li><a class="chip" href="/jobs?q=') == OWN_AT_MOST


def test_a_stranger_sees_no_views(client: Client, rows: Sample) -> None:
    for name in ("views", "view-new"):
        assert client.get(reverse(name)).status_code == 302
