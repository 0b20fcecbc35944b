"""Are the pages of the policy true, bounded, for whom they are meant, and without effect?"""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from advisor_api.models import Advice, LeftAlone, PolicyActivation, PolicyVersion
from tests.advisor_api.world import a_cluster, a_policy, an_advice
from tests.console.sample import HOSTILE
from workloads.models import Cluster

pytestmark = pytest.mark.django_db
PAGE, TRY = "/policy", "/policy/replay"
DRAFT = "format: rekindle-policy/1\nvalues:\n  exclude_confidence: 0.99\n"


@pytest.fixture
def cluster() -> Cluster:
    return a_cluster(now=timezone.now())


@pytest.fixture
def reader(client: Client) -> Client:
    user = User.objects.create_user("vera")
    user.user_permissions.add(Permission.objects.get(codename="view_policyversion"))
    client.force_login(user)
    return client


def lines_of(page: str) -> dict[str, str]:
    rows = (part.split("</tr>")[0] for part in page.split('<tr><th scope="row"><code>')[1:])
    return {row.split("</code>")[0]: row for row in rows}


def test_which_value_comes_from_which_policy(reader: Client, cluster: Cluster) -> None:
    now = timezone.now()
    everywhere = a_policy({"max_requeues": 4, "hold_seconds": 50}, now=now)
    whole = a_policy({"max_requeues": 5}, cluster, now)
    part = a_policy({"max_requeues": 6}, cluster, now, partition="gpu")
    own = a_policy({"advice_seconds": 77}, cluster, now, user="tess")
    a_policy({"max_requeues": 9}, cluster, now, user="olga")
    PolicyVersion.objects.create(cluster=cluster, values={"max_requeues": 8}, created_at=now)  # never activated
    rows = lines_of(reader.get(f"{PAGE}?cluster=demo&partition=gpu&user=tess").content.decode())
    assert "<b>6</b></td>" in rows["max_requeues"] and f"Partition</span> policy {part.pk}<" in rows["max_requeues"]
    assert (
        "<b>50 s</b>" in rows["hold_seconds"]
        and f"All clusters</span> policy {everywhere.pk}<" in rows["hold_seconds"]
    )
    assert f"User</span> policy {own.pk}<" in rows["advice_seconds"]
    assert "Program</span></td>" in rows["storm_restarts"]
    rows = lines_of(reader.get(f"{PAGE}?cluster=demo").content.decode())
    assert f"Cluster</span> policy {whole.pk}<" in rows["max_requeues"]
    assert "<b>4</b>" in lines_of(reader.get(PAGE).content.decode())["max_requeues"]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("?cluster=nowhere", 404),
        ("?partition=gpu", 400),
        ("?user=tess", 400),
        ("?cluster=demo&partition=a,b", 400),
        (f"?cluster=demo&user={'x' * 65}", 400),
        ("?cluster=demo&user=%00", 400),
        ("?cluster=demo&partition=gpu&user=tess", 200),
    ],
)
def test_what_is_asked_for_may_be_nonsense(reader: Client, cluster: Cluster, query: str, status: int) -> None:
    answer = reader.get(PAGE + query)
    assert answer.status_code == status
    assert ('role="alert"' in answer.content.decode()) is (status != 200)


def test_a_draft_and_a_stored_version_are_tried(reader: Client, cluster: Cluster) -> None:
    now = timezone.now()
    an_advice(cluster, 1, now)
    version = a_policy({"exclude_confidence": 0.99}, now=now)
    kept = Advice.objects.count(), LeftAlone.objects.count(), PolicyVersion.objects.count()
    for answer in (
        reader.post(TRY, {"text": DRAFT.replace("\n", "\r\n"), "since": "1h"}),
        reader.post(TRY, {"version": str(version.pk), "on": "demo"}),
        reader.get(f"{TRY}?version={version.pk}"),
    ):
        page = answer.content.decode()
        assert "1 of 1 decisions would differ" in page
        assert "restart <code>named_node</code></td><td>n03</td>" in page
        assert "restart <code>known_cause</code></td><td></td><td>rule, nodes</td>" in page
        assert 'href="/jobs/demo/1/0"' in page
    assert (Advice.objects.count(), LeftAlone.objects.count(), PolicyVersion.objects.count()) == kept
    same = reader.post(TRY, {"text": DRAFT.replace("0.99", "0.8")}).content.decode()
    assert "0 of 1 decisions would differ" in same


@pytest.mark.parametrize(
    ("form", "status", "sentence"),
    [
        ({}, 200, "or a draft"),
        ({"text": "a: &x 1"}, 400, "Line 1: anchors"),
        ({"text": DRAFT, "version": "1"}, 400, "one of the two"),
        ({"version": "99"}, 404, "There is no policy version 99."),
        ({"version": "9" * 40}, 404, "There is no such policy version."),
        ({"version": "x"}, 404, "There is no such policy version."),
        ({"text": DRAFT, "since": "soon"}, 400, "is no span"),
        ({"text": DRAFT, "on": "nowhere"}, 404, "There is no cluster"),
        ({"text": DRAFT.replace("values", "cluster: x\nvalues")}, 404, "There is no cluster"),
    ],
)
def test_a_draft_that_is_none(
    reader: Client, cluster: Cluster, form: dict[str, str], status: int, sentence: str
) -> None:
    answer = reader.post(TRY, form)
    assert answer.status_code == status
    assert sentence in answer.content.decode()


def test_a_page_stops_and_says_so(reader: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    now = timezone.now()
    a_policy({"storm_restarts": 99, "max_user_restarts": 99, "max_excluded_share": 1}, now=now)
    for number in range(3):
        an_advice(cluster, number + 1, now)
    monkeypatch.setattr("console.policy_pages.ROWS", 1)
    page = reader.post(TRY, {"text": DRAFT}).content.decode()
    assert "3 of 3 decisions would differ" in page and "the newest 1" in page and "Only the newest" not in page
    monkeypatch.setattr("console.policy_pages.MOST", 2)
    page = reader.post(TRY, {"text": DRAFT}).content.decode()
    assert "2 of 2 decisions would differ" in page and "Only the newest ones" in page


def test_who_may_see_what(client: Client, cluster: Cluster) -> None:
    assert (client.get(PAGE).status_code, client.get(TRY).status_code) == (302, 302)
    client.force_login(User.objects.create_user("nobody"))
    assert (client.get(PAGE).status_code, client.get(TRY).status_code) == (200, 403)
    assert client.post(TRY, {"text": DRAFT}).status_code == 403
    assert client.post(PAGE).status_code == 405
    assert "policy/replay" not in client.get(PAGE).content.decode()
    assert not PolicyActivation.objects.exclude(activated_by="Rekindle").exists()


def test_hostile_text_does_not_act(reader: Client, cluster: Cluster) -> None:
    advice = an_advice(cluster, 1, timezone.now())
    Advice.objects.filter(pk=advice.pk).update(excluded_nodes=[HOSTILE], because=HOSTILE)
    PolicyVersion.objects.create(values={}, note=HOSTILE, created_at=timezone.now())
    page = reader.post(TRY, {"text": DRAFT}).content.decode() + reader.post(TRY, {"text": HOSTILE}).content.decode()
    assert "<script>alert" not in page and "<img" not in page.replace('<img src="/static', "")
    assert "\u202e" not in page.split("</textarea>")[-1]
