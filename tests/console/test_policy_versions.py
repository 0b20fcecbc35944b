"""Do the pages of policy versions say who let which hold, in what two differ, and what that would have meant?"""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from advisor_api.models import PolicyActivation, PolicyVersion
from tests.advisor_api.world import a_cluster, a_policy, an_advice
from tests.console.sample import HOSTILE
from workloads.models import Cluster

pytestmark = pytest.mark.django_db
LIST, COMPARE = "/policy/versions", "/policy/compare"


@pytest.fixture
def cluster() -> Cluster:
    return a_cluster(now=timezone.now())


@pytest.fixture
def reader(client: Client) -> Client:
    user = User.objects.create_user("vera")
    user.user_permissions.add(Permission.objects.get(codename="view_policyversion"))
    client.force_login(user)
    return client


def test_each_version_says_whether_it_holds_and_who_let_it(reader: Client, cluster: Cluster) -> None:
    old, new = a_policy({"max_requeues": 4}, cluster), a_policy({"max_requeues": 5, "hold_seconds": 9}, cluster)
    draft = PolicyVersion.objects.create(cluster=cluster, values={}, created_at=timezone.now(), created_by="eve")
    text = reader.get(LIST).content.decode()
    rows = {pk: text.partition(f'id="policy-{pk}"')[2].partition("</tr>")[0] for pk in (old.pk, new.pk, draft.pk)}
    assert ">holds</span>" in rows[new.pk] and ">holds</span>" not in rows[old.pk] + rows[draft.pk]
    assert "for a test" in rows[old.pk] and "never" in rows[draft.pk] and "by eve" in rows[draft.pk]
    assert f"?a={old.pk}&amp;b={new.pk}" in rows[new.pk]
    assert "nothing: what is below holds" in rows[draft.pk] and "2 values" in rows[new.pk]


def test_two_versions_are_compared_value_by_value(reader: Client, cluster: Cluster) -> None:
    one, two = a_policy({"max_requeues": 4}, cluster), a_policy({"max_requeues": 5, "hold_seconds": 9}, cluster)
    text = reader.get(f"{COMPARE}?a={one.pk}&b={two.pk}").content.decode()
    assert (
        "<del>4</del>" in text
        and "<ins>5</ins>" in text
        and "not said" in text
        and '<ins>9.0 s</ins> <code class="note">9</code>' in text
    )
    assert "What each would have decided" in text and "do not agree" not in text
    assert "They say the same" in reader.get(f"{COMPARE}?a={one.pk}&b={one.pk}").content.decode()


def test_what_each_would_have_decided_on_past_attempts(reader: Client, cluster: Cluster) -> None:
    now = timezone.now()
    an_advice(cluster, 1, now)
    kept = PolicyActivation.objects.count()
    same, strict = a_policy({"exclude_confidence": 0.8}, now=now), a_policy({"exclude_confidence": 0.99}, now=now)
    text = reader.get(f"{COMPARE}?a={same.pk}&b={strict.pk}&effect=1&since=1d").content.decode()
    assert "<b>1</b> past decision on which they do not agree" in text
    assert f"Policy {same.pk} would have decided 0 of 1 otherwise" in text
    assert f"Policy {strict.pk} would have decided 1 of 1 otherwise" in text
    assert "restart <code>named_node</code> without n03" in text and "restart <code>known_cause</code>" in text
    assert PolicyActivation.objects.count() == kept + 2, "nothing but what the test let hold"
    back = reader.get(f"{COMPARE}?a={strict.pk}&b={strict.pk}&effect=1").content.decode()
    assert "<b>0</b> past decisions on which they do not agree" in back


def test_a_page_that_had_to_stop_says_so(reader: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    now = timezone.now()
    a_policy({"storm_restarts": 99, "max_user_restarts": 99, "max_excluded_share": 1}, now=now)
    for number in range(3):
        an_advice(cluster, number + 1, now)
    strict = a_policy({"exclude_confidence": 0.99}, now=now)
    monkeypatch.setattr("console.policy_pages.MOST", 2)
    text = reader.get(f"{COMPARE}?a={strict.pk}&b={strict.pk}&effect=1").content.decode()
    assert "at least: a page stops" in text


@pytest.mark.parametrize("query", ["", "?a=1", "?a=x&b=y", "?a=999&b=998", f"?a={'9' * 30}&b=1", "?a=%00&b=1"])
def test_versions_that_are_not_there_are_404(query: str, reader: Client, cluster: Cluster) -> None:
    assert reader.get(COMPARE + query).status_code == 404


def test_a_span_that_is_none_is_said(reader: Client, cluster: Cluster) -> None:
    one = a_policy({}, cluster)
    answer = reader.get(f"{COMPARE}?a={one.pk}&b={one.pk}&effect=1&since=soon")
    assert answer.status_code == 400 and "is no span" in answer.content.decode()


def test_who_may_see_what(client: Client, cluster: Cluster) -> None:
    assert (client.get(LIST).status_code, client.get(COMPARE).status_code) == (302, 302)
    client.force_login(User.objects.create_user("nobody"))
    assert (client.get(LIST).status_code, client.get(COMPARE).status_code) == (403, 403)
    assert LIST not in client.get("/policy").content.decode()


def test_hostile_notes_and_reasons_do_nothing(reader: Client, cluster: Cluster) -> None:
    now = timezone.now()
    version = PolicyVersion.objects.create(
        cluster=cluster, partition=HOSTILE[:100], values={}, note=HOSTILE, created_at=now, created_by=HOSTILE[:90]
    )
    PolicyActivation.objects.create(
        place="x", number=1, version=version, reason=HOSTILE, activated_at=now, activated_by=HOSTILE[:90]
    )
    text = (
        reader.get(LIST).content.decode() + reader.get(f"{COMPARE}?a={version.pk}&b={version.pk}").content.decode()
    )
    assert "<script>alert" not in text and "\u202e" not in text and "&lt;script&gt;" in text


@pytest.mark.parametrize("many", [0, 120])
def test_the_number_of_queries_does_not_grow_with_versions(
    many: int, reader: Client, cluster: Cluster, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(many):
        PolicyVersion.objects.create(
            cluster=cluster, partition=f"p{number % 7}", values={}, created_at=timezone.now()
        )
    a_policy({}, cluster)
    with django_assert_max_num_queries(12):
        text = reader.get(LIST).content.decode()
    assert ('rel="next"' in text) is (many > 50)
