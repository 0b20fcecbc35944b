"""Do all pages of the admin open, for whom they should, with few questions to the database?"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from audit.admin_list import COUNTED, LOOKED_AT, newest_from
from audit.models import AuditEvent
from recovery_site import urls  # noqa: F401  # every admin is registered
from tests.console import sample
from tests.console.everything import make_everything
from workloads.models import Cluster, Job, Node

pytestmark = pytest.mark.django_db
MODELS = {model._meta.label: model for model in admin.site._registry}
QUESTIONS_AT_MOST = 14  # session, person, rights, the list and its count, the choices of up to four filters
HOSTILE = "\x1b[31m<script>alert(1)</script>\u202egnp\u202c\x07"


@pytest.fixture
def everything(settings: Any) -> User:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    sample.cast()
    sample.fill(timezone.now())
    return make_everything(timezone.now())


def browser(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def a_person(name: str, *groups: str, staff: bool = True) -> User:
    person = User(username=name, is_staff=staff)
    person.set_unusable_password()
    person.save()
    person.groups.set(Group.objects.filter(name__in=groups))
    return person


def address(label: str, page: str, *args: Any) -> str:
    return reverse(f"admin:{label.lower().replace('.', '_')}_{page}", args=args)


def pages(label: str) -> Iterator[str]:
    row = MODELS[label]._default_manager.order_by("-pk").first()
    yield address(label, "changelist")
    if row is not None:
        yield from (address(label, page, row.pk) for page in ("change", "history"))


def test_every_page_opens_for_who_may_see_all(everything: User) -> None:
    client = browser(everything)
    for label in MODELS:
        for page in pages(label):
            answer = client.get(page, follow=True)
            assert answer.status_code == 200, page
            assert "<style" not in answer.content.decode(), page
        for term in ("4711", "4711-0", str(2**70), f"{HOSTILE} %_'\" \\"):
            assert client.get(address(label, "changelist"), {"q": term}).status_code == 200, label


@pytest.mark.parametrize("groups", [[], ["Operators"]], ids=["viewer", "operator"])
def test_viewers_and_operators_have_no_business_there(everything: User, groups: list[str]) -> None:
    client = browser(a_person("olga", *groups, staff=False))
    for label in MODELS:
        for page in pages(label):
            answer = client.get(page)
            assert answer.status_code == 302 and "/admin/login/" in answer["Location"], page


def test_administrators_reach_what_they_edit(everything: User) -> None:
    client = browser(a_person("adam", "Administrators"))
    added = ("workloads.Cluster", "advisor_api.PolicyVersion", "detectors.SiteSignature", "advisor_api.ApiToken")
    for label in (*added, "auth.User", "advisor_api.Pause", "advisor_api.Exclusion"):
        assert client.get(address(label, "changelist")).status_code == 200, label
        assert client.get(address(label, "add")).status_code == 200, label
    assert client.get(address("auth.Group", "changelist")).status_code == 200
    assert client.get(address("auth.Group", "add")).status_code == 403
    assert client.get(address("audit.AuditEvent", "changelist")).status_code == 403


def test_nothing_is_deleted_by_anybody(everything: User) -> None:
    client = browser(everything)
    before = AuditEvent.objects.count()
    for label, model in MODELS.items():
        row = model._default_manager.order_by("-pk").first()
        count = model._default_manager.count()
        chosen = {"action": "delete_selected", "_selected_action": [row.pk if row else 1], "post": "yes"}
        client.post(address(label, "changelist"), chosen)
        if row is not None and label != "auth.Group":
            assert client.post(address(label, "delete", row.pk), {"post": "yes"}).status_code == 403, label
        assert model._default_manager.count() == count, label
    assert AuditEvent.objects.count() == before


def test_who_may_nothing_reaches_nothing_by_a_crafted_form(everything: User) -> None:
    client = browser(a_person("nina"))
    before = AuditEvent.objects.count()
    for label, model in MODELS.items():
        row = model._default_manager.order_by("-pk").first()
        key = row.pk if row else 1
        for action in admin.site._registry[model].actions or ():
            chosen = {"action": action, "_selected_action": [key], "confirmed": "yes", "reason": "r"}
            assert client.post(address(label, "changelist"), chosen).status_code == 403, (label, action)
        for page in ("add", "change", "delete", "history"):
            args = [] if page == "add" else [key]
            for query in ("", "?_popup=1&_to_field=id", "?_changelist_filters=q%3Dx"):
                answer = client.post(address(label, page, *args) + query, {"post": "yes", "_popup": "1"})
                # a page of a row that is there or not: never anything else than a refusal
                assert answer.status_code in {302, 403, 405}, (label, page, query)
                assert answer.status_code != 302 or answer["Location"] == "/admin/", (label, page)
        asked = {"app_label": model._meta.app_label, "model_name": model._meta.model_name, "field_name": "cluster"}
        assert client.get(reverse("admin:autocomplete"), {**asked, "term": ""}).status_code == 403
    assert AuditEvent.objects.count() == before


def test_an_administrator_reaches_no_more_by_a_crafted_form(everything: User) -> None:
    client = browser(a_person("adam", "Administrators"))
    cluster = Cluster.objects.get(name="demo")
    client.post(address("workloads.Cluster", "change", cluster.pk), {"mode": "monitor", "mode_version": "9"})
    cluster.refresh_from_db()
    assert (cluster.mode, cluster.mode_version) == ("action", 1)
    own = Group.objects.get(name="Administrators").pk
    for page in ("change", "delete"):
        assert client.post(address("auth.Group", page, own), {"name": "x"}).status_code == 403
    assert client.post(address("auth.User", "change", everything.pk), {"username": "root"}).status_code == 403
    assert client.post(reverse("admin:auth_user_password_change", args=[everything.pk]), {}).status_code == 403


def test_who_may_nothing_is_not_told_whether_what_he_saw_holds(everything: User) -> None:
    client = browser(a_person("nina"))
    for label in ("workloads.Cluster", "auth.User"):
        row = MODELS[label]._default_manager.order_by("pk").first()
        assert row is not None
        for seen in ("", "0" * 64):
            assert client.post(address(label, "change", row.pk), {"_seen": seen}).status_code == 403


@pytest.mark.parametrize(
    ("label", "sent"),
    [
        ("auth.Group", {"name": "night", "permissions": "9" * 30}),
        ("advisor_api.ApiToken", {"name": "x", "role": "viewer", "days": "9", "clusters": "9" * 30}),
        ("workloads.Cluster", {"name": "x", "partitions": '{"a":' * 5000}),
        ("advisor_api.PolicyVersion", {"values": "[" * 50_000}),
    ],
)
def test_what_no_page_sends_is_refused_and_no_fault(label: str, sent: dict[str, str], everything: User) -> None:
    before = MODELS[label]._default_manager.count()
    assert browser(everything).post(address(label, "add"), sent).status_code in {200, 400}
    assert MODELS[label]._default_manager.count() == before


class TestManyRows:
    @pytest.fixture
    def many(self, everything: User) -> User:
        now = timezone.now()
        cluster = Cluster.objects.get(name="demo")
        for number in range(60):
            job = sample.job(cluster, 9000 + number, now, name=f"job {number}")
            sample.attempt(job, 0, "running", now)  # type: ignore[arg-type]  # its stored form
            Node.objects.create(cluster=cluster, name=f"m{number}", state="idle", partitions=[], seen_at=now)
            User.objects.create(username=f"person{number}")
        return everything

    def test_a_list_asks_little_however_many_rows(self, many: User) -> None:
        client = browser(many)
        for label in MODELS:
            for query in ({}, {"q": "9001"}, {"q": "job 3"}):
                with CaptureQueriesContext(connection) as asked:
                    assert client.get(address(label, "changelist"), query).status_code == 200
                assert len(asked) <= QUESTIONS_AT_MOST, (label, query, [one["sql"][:150] for one in asked])

    def test_nothing_that_grows_is_counted_sorted_or_read_whole(self, many: User) -> None:
        client = browser(many)
        for label, model in MODELS.items():
            if not getattr(admin.site._registry[model], "is_long", False):
                continue
            with CaptureQueriesContext(connection) as asked:
                client.get(address(label, "changelist"), {"o": "1.2.-3", "_facets": "True"})
            table = f'FROM "{model._meta.db_table}"'
            for one in (one["sql"].replace("`", '"') for one in asked if table in one["sql"].replace("`", '"')):
                assert "LIMIT" in one or model._default_manager.count() <= 50, (label, one)  # one page
                assert "DISTINCT" not in one, (label, one)
                ordered = one.partition(" ORDER BY ")[2].partition(" LIMIT ")[0].split(", ")
                assert "COUNT(*) FROM (SELECT" in one or len(ordered) <= 2, (label, one)

    def test_what_stands_in_a_long_column_is_not_read_for_a_list(self, many: User) -> None:
        client = browser(many)
        for label, column in (("detectors.Excerpt", '"text"'), ("advisor_api.Advice", '"trace"')):
            with CaptureQueriesContext(connection) as asked:
                client.get(address(label, "changelist"))
            assert not [one for one in asked if f".{column}" in one["sql"].replace("`", '"')], label


def test_a_count_ends_somewhere() -> None:
    class Many:
        """As a query that never ends to find rows."""

        def order_by(self) -> "Many":
            return self

        def __getitem__(self, asked: slice) -> "Many":
            self.asked = asked.stop
            return self

        def count(self) -> int:
            return int(self.asked)

    made = admin.site._registry[Job].paginator(Many(), 50)  # type: ignore[arg-type]
    assert (made.count, made.more) == (COUNTED, True)
    assert newest_from(Job) == -LOOKED_AT  # no row is there


@pytest.mark.parametrize(
    ("label", "query"),
    [
        ("auth.User", "password__startswith=pbkdf2"),
        ("auth.User", "email__regex=(a%2B)%2B"),
        ("advisor_api.ApiToken", "digest__startswith=a"),
        ("workloads.Job", "comment__contains=secret"),
        ("workloads.Job", "cluster__raw_answer__contains=x"),
        ("workloads.Job", "wish__regex=x"),
        ("audit.AuditEvent", "payload__contains=x"),
    ],
)
def test_an_address_asks_only_what_a_filter_asks(everything: User, label: str, query: str) -> None:
    assert browser(everything).get(f"{address(label, 'changelist')}?{query}").status_code == 400


def test_text_cannot_act(everything: User) -> None:
    cluster = Cluster.objects.get(name="demo")
    job = sample.job(cluster, 77, timezone.now(), name=HOSTILE, comment=HOSTILE)
    client = browser(everything)
    for page in (address("workloads.Job", "changelist"), address("workloads.Job", "change", job.pk)):
        text = client.get(page).content.decode()
        assert "⟨ESC⟩[31m&lt;script&gt;" in text and "⟨U+202E⟩" in text
        assert not {"\x1b", "\x07", "\u202e", "\u202c"} & set(text)


def test_a_row_leads_to_the_trail_and_to_the_console(everything: User) -> None:
    client = browser(everything)
    job = Job.objects.get(number=4711)
    page = client.get(address("workloads.Job", "change", job.pk)).content.decode()
    assert f'href="{reverse("job", args=["demo", 4711, 0])}"' in page
    assert f'href="{reverse("audit")}?cluster=demo&amp;job=4711"' in page
    for label, model in MODELS.items():
        row = model._default_manager.order_by("-pk").first()
        if row is None:
            continue
        context = client.get(address(label, "change", row.pk)).context
        for name in ("trail_address", "console_address"):
            if context and context.get(name):
                answer = client.get(context[name])
                assert answer.status_code == 200, (label, name)
                assert name != "trail_address" or answer.context["wanted"].mistake == "", label


def test_a_form_filled_in_over_something_else_is_refused(everything: User) -> None:
    client = browser(everything)
    person = a_person("vera")
    page = address("auth.User", "change", person.pk)
    seen = client.get(page).context["seen"]
    person.groups.add(Group.objects.get(name="Operators"))  # somebody else, meanwhile
    form = {"username": "vera", "first_name": "V", "is_active": "on", "_seen": seen}
    answer = client.post(page, form, follow=True)
    assert "somebody has changed it since you looked" in answer.content.decode()
    person.refresh_from_db()
    assert person.first_name == "" and person.groups.exists()
    now = {**form, "_seen": client.get(page).context["seen"], "groups": [Group.objects.get(name="Operators").pk]}
    assert client.post(page, now).status_code == 302
    person.refresh_from_db()
    assert person.first_name == "V"


def test_garbage_is_chosen(everything: User) -> None:
    client = browser(everything)
    chosen = {"action": "lift_now", "_selected_action": ["x", "-1", str(10**40), "1' OR 1=1"]}
    assert client.post(address("advisor_api.Exclusion", "changelist"), chosen).status_code in {200, 302}


def test_the_front_page_is_by_what_it_is_for(everything: User) -> None:
    page = browser(everything).get("/admin/").content.decode()
    order = [page.index(f">{title}</a>") for title in ("Clusters", "Policies", "People and tokens", "Who is told")]
    assert order == sorted(order)
    assert f'href="{reverse("overview")}"' in page
