"""Does the admin add, compare, activate, export and import policies, and change none?"""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from advisor_api.models import PolicyActivation, PolicyVersion
from audit.models import AuditEvent
from recovery_site.groups import GROUPS
from tests.advisor_api.world import a_policy, an_advice
from workloads.models import Cluster

pytestmark = pytest.mark.django_db
ROOT = "/admin/advisor_api/policyversion"


@pytest.fixture
def admin(people: dict[str, User]) -> Client:
    client = Client()
    client.force_login(people["root"])
    return client


@pytest.fixture
def client_with(db: None) -> Callable[..., Client]:
    def make(*names: str) -> Client:
        user = User.objects.create_user("-".join(names) or "bare", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=names))
        client = Client()
        client.force_login(user)
        return client

    return make


def added(values: str = "{}", **more: object) -> dict[str, object]:
    return {"cluster": "", "partition": "", "user": "", "values": values, "note": "", **more}


def activated(admin: Client, version: PolicyVersion, seen: int = 0, reason: str = "calmer") -> int:
    form = {"number_seen": str(seen), "reason": reason}
    return admin.post(f"{ROOT}/{version.pk}/activate/", form).status_code


def test_a_version_is_added_then_activated(admin: Client, cluster: Cluster) -> None:
    form = added('{"max_requeues": 2}', cluster=cluster.pk, note="less")
    assert admin.post(f"{ROOT}/add/", form).status_code == 302
    version = PolicyVersion.objects.get()
    assert (version.values, version.created_by) == ({"max_requeues": 2}, "root")
    said = AuditEvent.objects.get(type="configuration").sentence
    assert said == f"root added policy {version.pk} of demo; it is not active yet. less"
    assert an_advice(cluster, now=timezone.now()).policy != version
    assert "max_requeues" in admin.get(f"{ROOT}/{version.pk}/activate/").content.decode()
    assert activated(admin, version) == 302
    assert an_advice(cluster, 101, now=timezone.now()).policy == version
    said = AuditEvent.objects.filter(type="configuration").order_by("-id")[0].sentence
    assert said == f"root made policy {version.pk} of demo the active one (before: no policy): calmer"
    page = admin.get(f"{ROOT}/{version.pk}/change/").content.decode()
    assert "It is active for demo" in page and "calmer" in page
    assert PolicyVersion.objects.get(pk=version.pk).values == {"max_requeues": 2}


def test_an_older_one_becomes_active_again(admin: Client) -> None:
    first, second = a_policy({"max_requeues": 1}), a_policy({"max_requeues": 2})
    assert activated(admin, first, 2, "back") == 302
    assert list(PolicyActivation.objects.order_by("number").values_list("version", "number")) == [
        (first.pk, 1),
        (second.pk, 2),
        (first.pk, 3),
    ]
    assert PolicyVersion.objects.count() == 2


def test_who_saw_an_older_state_is_refused(admin: Client) -> None:
    first, second = a_policy({"max_requeues": 1}), a_policy({"max_requeues": 2})
    form = {"number_seen": "1", "reason": "I was late"}
    found = admin.post(f"{ROOT}/{first.pk}/activate/", form)
    assert found.status_code == 409
    text = found.content.decode()
    assert f"Somebody was first: policy {second.pk} of all clusters is active since you looked." in text
    assert 'name="number_seen" value="2"' in text and "I was late" in text
    assert PolicyActivation.objects.count() == 2


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({"number_seen": "1", "reason": " "}, "Say why"),
        ({"number_seen": "", "reason": "r"}, "does not say which policy was active"),
        ({"number_seen": "x", "reason": "r"}, "The number in the form is none"),
        ({"number_seen": "1", "reason": "r" * 501}, "at most 500"),
        ({"number_seen": "1", "reason": "r"}, "is what holds already"),
        ({}, "Say why"),
    ],
)
def test_an_activation_that_is_not_usable(admin: Client, form: dict[str, str], sentence: str) -> None:
    version = a_policy({})
    found = admin.post(f"{ROOT}/{version.pk}/activate/", form)
    assert found.status_code == 400
    assert sentence in found.content.decode()
    assert PolicyActivation.objects.count() == 1


def test_a_policy_of_a_place_is_withdrawn_and_that_of_all_is_not(admin: Client, cluster: Cluster) -> None:
    everybody, mine = a_policy({"max_requeues": 4}), a_policy({"max_requeues": 2}, cluster)
    assert admin.get(f"{ROOT}/{mine.pk}/withdraw/").status_code == 200
    assert admin.post(f"{ROOT}/{mine.pk}/withdraw/", {"number_seen": "1", "reason": "done"}).status_code == 302
    assert an_advice(cluster, now=timezone.now()).policy == everybody
    found = admin.post(f"{ROOT}/{everybody.pk}/withdraw/", {"number_seen": "1", "reason": "done"})
    assert found.status_code == 400 and "is not withdrawn" in found.content.decode()
    assert AuditEvent.objects.filter(sentence__startswith="root withdrew the policy of demo").count() == 1
    assert activated(admin, mine, 2, "again") == 302


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        (added('{"max_requeues": -1}'), "max_requeues must be from 0"),
        (added('{"nothing": 1}'), "is no policy value"),
        (added("[1]"), "Write the values as"),
        (added("{"), "Enter a valid JSON"),
        (added('{"max_requeues": 1, "max_requeues": 2}'), "Enter a valid JSON"),
        (added('{"exclude_confidence": NaN}'), "between 0 and 1"),
        (added(partition="gpu"), "names its cluster"),
        (added(user="tess"), "names its cluster"),
        (added(cluster="one", partition="gpu", user="tess"), "not of both"),
        (added(cluster="one", partition="a,b"), "one name"),
        (added('{"storm_restarts": 9}', cluster="one", user="tess"), "cannot be said for one user"),
    ],
)
def test_a_bad_policy_is_refused_with_a_sentence(
    admin: Client, cluster: Cluster, form: dict[str, object], sentence: str
) -> None:
    form = {**form, "cluster": cluster.pk if form["cluster"] else ""}
    found = admin.post(f"{ROOT}/add/", form)
    assert found.status_code == 200
    assert sentence in found.content.decode()
    assert not PolicyVersion.objects.exists()


def test_a_policy_is_never_changed_or_deleted(admin: Client) -> None:
    version = a_policy({})
    form = added('{"max_requeues": 1}')
    assert admin.post(f"{ROOT}/{version.pk}/change/", form).status_code == 403
    assert admin.post(f"{ROOT}/{version.pk}/delete/", {"post": "yes"}).status_code == 403
    for verb in ("change", "delete"):
        row = PolicyActivation.objects.get()
        assert admin.post(f"/admin/advisor_api/policyactivation/{row.pk}/{verb}/", {"post": "y"}).status_code == 403
    assert PolicyVersion.objects.get().values == {}


def test_a_new_one_is_made_from_an_old_one(admin: Client, cluster: Cluster) -> None:
    version = a_policy({"max_requeues": 7}, cluster, partition="gpu")
    page = admin.get(f"{ROOT}/add/?from={version.pk}").content.decode()
    assert "&quot;max_requeues&quot;: 7" in page and 'value="gpu"' in page
    for wrong in ("999999", "x", "1" * 40, "-1", "%00", "²"):
        assert admin.get(f"{ROOT}/add/?from={wrong}").status_code == 200


def test_two_are_compared_with_what_the_values_mean(admin: Client) -> None:
    one, two = a_policy({"max_requeues": 7}), a_policy({"max_requeues": 8, "hold_seconds": 60})
    chosen = {"action": "compare_two", "_selected_action": [one.pk, two.pk]}
    page = admin.post(f"{ROOT}/", chosen, follow=True).content.decode()
    assert "<td>7</td><td>8</td><td>10</td><td>requeues of a job in total" in page
    assert "<td>not said</td><td>60</td><td>300</td>" in page
    chosen["_selected_action"] = [one.pk]
    assert "Choose exactly two" in admin.post(f"{ROOT}/", chosen, follow=True).content.decode()
    for query in ("", f"?a={one.pk}", f"?a={one.pk}&b=99", "?a=x&b=y", f"?a={'9' * 50}&b=1"):
        assert admin.get(f"{ROOT}/compare/{query}").status_code == 404


class TestYaml:
    TEXT = "format: rekindle-policy/1\ncluster: demo\npartition: gpu\nnote: n\nvalues:\n  max_requeues: 3\n"

    def test_what_is_exported_is_imported(self, admin: Client, cluster: Cluster) -> None:
        found = admin.post(f"{ROOT}/import/", {"text": self.TEXT})
        assert found.status_code == 302
        version = PolicyVersion.objects.get()
        assert (version.partition, version.values, version.note) == ("gpu", {"max_requeues": 3}, "n")
        assert not PolicyActivation.objects.exists()
        answer = admin.get(f"{ROOT}/{version.pk}/export/")
        assert answer.content.decode() == self.TEXT
        assert answer["Content-Disposition"] == f'attachment; filename="policy-{version.pk}.yaml"'
        again = SimpleUploadedFile("p.yaml", answer.content)
        assert admin.post(f"{ROOT}/import/", {"file": again, "text": ""}).status_code == 302
        assert PolicyVersion.objects.count() == 2

    @pytest.mark.parametrize(
        ("form", "sentence"),
        [
            ({"text": ""}, "one of the two"),
            ({"text": "a: &x 1\nb: *x"}, "Line 1: anchors and aliases"),
            ({"text": TEXT.replace("demo", "nowhere")}, "There is no cluster"),
            ({"text": TEXT + "x: 1\n"}, "Line 7: &#x27;x&#x27; is not known"),
            ({"file": b"\xff"}, "not UTF-8"),
            ({"file": b"#" * 70_000}, "more than 65536 bytes"),
            ({"text": "#" * 70_000}, "at most 65536"),
            ({"text": TEXT, "file": b"x"}, "one of the two"),
        ],
    )
    def test_what_is_not_usable(
        self, admin: Client, cluster: Cluster, form: dict[str, str | bytes], sentence: str
    ) -> None:
        sent = {name: SimpleUploadedFile("p", one) if isinstance(one, bytes) else one for name, one in form.items()}
        found = admin.post(f"{ROOT}/import/", sent)
        assert found.status_code == 200
        assert sentence in found.content.decode()
        assert not PolicyVersion.objects.exists()


def test_each_page_asks_for_its_permission(client_with: Callable[..., Client]) -> None:
    one, two = a_policy({}), a_policy({"max_requeues": 1})
    view, add = client_with("view_policyversion"), client_with("add_policyversion")
    switch = client_with("view_policyversion", "activate_policy")
    pages = {
        f"{ROOT}/compare/?a={one.pk}&b={two.pk}": (200, 403, 200),
        f"{ROOT}/{one.pk}/export/": (200, 403, 200),
        f"{ROOT}/import/": (403, 200, 403),
        f"{ROOT}/add/": (403, 200, 403),
        f"{ROOT}/{one.pk}/activate/": (403, 403, 200),
        f"{ROOT}/{one.pk}/withdraw/": (403, 403, 200),
    }
    for address, expected in pages.items():
        assert tuple(who.get(address).status_code for who in (view, add, switch)) == expected, address
        assert Client().get(address).status_code == 302
    assert "/activate/" not in view.get(f"{ROOT}/{one.pk}/change/").content.decode()
    assert "/activate/" in switch.get(f"{ROOT}/{one.pk}/change/").content.decode()
    assert activated(view, one, 2) == 403
    assert activated(switch, one, 2) == 302


def test_the_groups_have_what_they_need() -> None:
    administrators = set(GROUPS["Administrators"])
    assert {f"advisor_api.{name}" for name in ("add_policyversion", "activate_policy")} <= administrators
    assert "advisor_api.activate_policy" not in GROUPS["Operators"]


def test_hostile_text_is_shown_and_does_not_act(admin: Client) -> None:
    text = "<script>alert(1)</script>\u202e"
    version = PolicyVersion.objects.create(values={}, note=text, created_at=timezone.now(), created_by=text)
    other = a_policy({})
    assert activated(admin, version, 1, "<script>alert(1)</script>") == 302
    for address in (f"{ROOT}/", f"{ROOT}/{version.pk}/change/", f"{ROOT}/compare/?a={version.pk}&b={other.pk}"):
        page = admin.get(address).content.decode()
        assert "<script>alert" not in page
