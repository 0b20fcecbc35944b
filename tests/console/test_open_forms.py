"""Does a form that stands open learn that what it speaks of has changed, by whom, and nothing else?

The forms are read off `console/urls.py`: a new one that is compared with what was seen and does not ask fails.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import unescape

import pytest
from django.contrib.auth.models import Permission, User
from django.db.models import F
from django.test import Client
from django.utils import timezone

from advisor_api.models import Advice, Exclusion, Pause, PolicyVersion
from advisor_api.silence_models import Silence
from benchmarks.console_addresses import addresses
from console.models import SavedView
from console.open_forms import KINDS, MARK_AT_MOST, address_of
from detectors.models import Incident
from tests.console.everything import make_everything
from tests.console.sample import Sample
from workloads.models import Cluster

STILL = re.compile(r'data-still="([^"]*)"')
FORM = re.compile(r'<form method="post"(?! action="/sign-out").*?</form>', re.DOTALL)
NOT_COMPARED = {
    "silence-new": "a silence is made beside others, whatever holds",
    "view-new": "there is nothing yet that could change",
    "audit": "asks for a look at the trail",
    "notifications": "sends a test message",
    "notification": "sends again what was given up",
    "policy-replay": "only computes",
}
REASON = {"reason": "ticket 813"}


@pytest.fixture
def root(cast: dict[str, User], rows: Sample, now: datetime) -> User:
    """Whoever may do all, and one of each thing that a form speaks of."""
    return make_everything(now)


@pytest.fixture
def one(root: User, client: Client) -> Client:
    """The person whose form stands open."""
    client.force_login(root)
    return client


@pytest.fixture
def two(root: User) -> Client:
    """Somebody else who may do all."""
    other = Client()
    other.force_login(User.objects.create_superuser("other", password=None))
    return other


def questions(page: str) -> list[str]:
    """What the forms of a page ask whether all still stands."""
    return [unescape(address) for address in STILL.findall(page)]


def opened(client: Client, address: str) -> list[str]:
    answer = client.get(address)
    assert answer.status_code == 200, address
    found = questions(answer.content.decode())
    assert found, address
    return found


def says(client: Client, asked: list[str]) -> list[dict[str, object]]:
    answers = [client.get(address) for address in asked]
    assert {answer.status_code for answer in answers} <= {200, 204}
    return [json.loads(answer.content) for answer in answers if answer.status_code == 200]


def test_every_form_that_is_compared_asks_and_is_not_told_of_what_did_not_change(one: Client) -> None:
    with_forms = set()
    for name, address in addresses():
        page = one.get(address).content.decode()
        for form in FORM.findall(page):
            with_forms.add(name)
            assert (name in NOT_COMPARED) is not bool(questions(form)), name
            assert says(one, questions(form)) == [], name
    assert with_forms > {"approval", "step-hold", "cluster-mode", "node-exclude", "incident-split", "pause-end"}
    assert with_forms >= set(NOT_COMPARED) - {"notification"}


def test_a_form_asks_for_the_permission_of_its_page(one: Client, cast: dict[str, User]) -> None:
    stranger, viewer = Client(), Client()
    viewer.force_login(cast["viewer"])
    looked = 0
    for name, address in addresses():
        for asked in questions(one.get(address).content.decode()):
            looked += 1
            assert stranger.get(asked).status_code == 401, name
            may = viewer.get(address).status_code
            assert (may, viewer.get(asked).status_code) in {(403, 403), (404, 200)}, name
    assert looked > 10


@dataclass(frozen=True)
class Case:
    """A page, what somebody else does, and the sentence of the open form (without times)."""

    page: Callable[[Sample], str]
    deed: Callable[[Client, Sample], object]
    sentence: str
    refused: bool = True


def demo() -> Cluster:
    return Cluster.objects.get(name="demo")


def incident() -> Incident:
    return Incident.objects.filter(ended_at=None).order_by("pk")[0]


def act(client: Client, address: str, **said: str) -> None:
    assert client.post(address, {**REASON, **said}).status_code == 302, address


def on_incident(tail: str) -> Callable[[Sample], str]:
    return lambda rows: f"/incidents/{incident().uuid}/{tail}"


def acknowledged(client: Client, rows: Sample) -> None:
    act(client, f"/incidents/{incident().uuid}/acknowledge", version=str(incident().version))


def paused(client: Client, rows: Sample) -> None:
    seen = ",".join(str(pk) for pk in Pause.objects.filter(cluster=demo()).values_list("pk", flat=True))
    more = {"scope": "user", "value": "eve", "lasts": "2h", "until": "", "seen": seen}
    act(client, "/clusters/demo/pause", **more, confirmed="yes")


def paused_there(client: Client, rows: Sample) -> None:
    """What the advice that waits speaks of: nothing is begun there, so a yes would do nothing."""
    more = {"scope": "cluster", "value": "", "lasts": "2h", "until": "", "seen": ""}
    act(client, "/clusters/far-away/pause", **more, confirmed="yes")


def only_watched(client: Client, rows: Sample) -> None:
    version = str(Cluster.objects.get(name="far-away").mode_version)
    act(client, "/clusters/far-away/mode", mode="monitor", version_seen=version, confirmed="yes")


def resumed(client: Client, rows: Sample) -> None:
    act(client, f"/clusters/demo/pauses/{Pause.objects.get(cluster=demo()).pk}/end")


def rejected(client: Client, rows: Sample) -> None:
    act(client, f"/approvals/{rows.waiting.pk}", decision="reject", generation="1")


def step() -> Advice:
    return Advice.objects.get(attempt__job__number=500)


def silenced() -> Silence:
    return Silence.objects.get(node="n06")


def switched(client: Client, rows: Sample) -> None:
    version = str(demo().mode_version)
    act(client, "/clusters/demo/mode", mode="monitor", version_seen=version, confirmed="yes")


def activated(client: Client, rows: Sample) -> None:
    version = PolicyVersion.objects.order_by("-pk")[0]
    act(client, f"/admin/advisor_api/policyversion/{version.pk}/activate/", number_seen="0")


CASES = {
    "mode": Case(
        lambda rows: "/clusters/demo/mode",
        switched,
        "The mode of demo was switched by other, after you opened this page.",
    ),
    "approval": Case(
        lambda rows: f"/approvals/{rows.waiting.pk}",
        rejected,
        'The advice on 99-0 was moved to "abandoned" by other, after you opened this page.',
    ),
    "several": Case(
        lambda rows: "/approvals/several",
        rejected,
        "The advice on 99-0 no longer waits for an answer, after you opened this page.",
        refused=False,
    ),
    "approval, paused": Case(
        lambda rows: f"/approvals/{rows.waiting.pk}",
        paused_there,
        "Rekindle was paused on all of far-away by other, after you opened this page. A yes on 99-0 would be ",
        refused=False,
    ),
    "approval, only watched": Case(
        lambda rows: f"/approvals/{rows.waiting.pk}",
        only_watched,
        "The mode of far-away was switched by other, after you opened this page. A yes on 99-0 would be refused "
        "now: far-away is in monitor mode. A no is taken.",
        refused=False,
    ),
    "several, paused": Case(
        lambda rows: "/approvals/several",
        paused_there,
        "Rekindle was paused on all of far-away by other, after you opened this page. A yes on 99-0 would be ",
        refused=False,
    ),
    "hold": Case(
        lambda rows: f"/steps/{step().pk}/hold",
        paused,
        "demo has another pause by other, after you opened this page.",
    ),
    "pause": Case(
        lambda rows: "/clusters/demo/pause", paused, "demo has another pause by other, after you opened this page."
    ),
    "a pause less": Case(
        lambda rows: "/clusters/demo/pause",
        resumed,
        "The pause of user ana was ended by other, after you opened this page.",
    ),
    "the end of a pause": Case(
        lambda rows: f"/clusters/demo/pauses/{Pause.objects.get(cluster=demo()).pk}/end",
        resumed,
        "The pause of user ana was ended by other, after you opened this page.",
    ),
    "exclude": Case(
        lambda rows: "/clusters/demo/exclude/n05",
        lambda client, rows: act(client, "/clusters/demo/exclude/n05", lasts="2h", seen="", understood="yes"),
        "n05 was left out by other, after you opened this page.",
    ),
    "lift": Case(
        lambda rows: "/clusters/demo/lift/n02",
        lambda client, rows: act(client, "/clusters/demo/lift/n02", seen=str(Exclusion.objects.get(node="n02").pk)),
        "n02 was given back by other, after you opened this page.",
    ),
    "acknowledge": Case(
        on_incident("acknowledge"), acknowledged, "The incident was changed by other, after you opened this page."
    ),
    "remark": Case(
        on_incident("remark"),
        acknowledged,
        "The incident was changed by other, after you opened this page.",
        refused=False,
    ),
    "join": Case(
        on_incident("join"), acknowledged, "The incident was changed by other, after you opened this page."
    ),
    "split": Case(
        on_incident("split"), acknowledged, "The incident was changed by other, after you opened this page."
    ),
    "the end of a silence": Case(
        lambda rows: f"/silences/{silenced().uuid}/end",
        lambda client, rows: act(client, f"/silences/{silenced().uuid}/end"),
        "The silence was ended by other, after you opened this page.",
    ),
    "policy": Case(
        lambda rows: f"/admin/advisor_api/policyversion/{PolicyVersion.objects.order_by('-pk')[1].pk}/activate/",
        activated,
        "Which policy holds for demo was changed by other, after you opened this page.",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_open_form_says_who_changed_what_it_speaks_of(
    case: Case, one: Client, two: Client, rows: Sample
) -> None:
    asked = opened(one, case.page(rows))
    assert says(one, asked) == []
    begun = timezone.now().replace(microsecond=0)
    case.deed(two, rows)
    (said,) = says(one, asked)
    sentence, at = str(said["sentence"]), re.search(r" at (\d\d:\d\d:\d\d) UTC", str(said["sentence"]))
    if at is not None:
        assert f"{begun:%H:%M:%S}" <= at[1] <= f"{timezone.now():%H:%M:%S}"
    assert (at is not None) is (" by " in sentence)
    assert re.sub(r" at \d\d:\d\d:\d\d UTC", "", sentence).startswith(case.sentence)
    assert said["refused"] is case.refused
    (mine,) = says(two, asked)
    assert str(mine["sentence"]) == sentence.replace("by other", "by you, in another window")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_happens_elsewhere_is_not_told(case: Case, one: Client, two: Client, rows: Sample) -> None:
    asked = opened(one, case.page(rows))
    far = Cluster.objects.get(name="demo-monitor")
    act(two, "/clusters/demo-monitor/mode", mode="approve", version_seen=str(far.mode_version), confirmed="yes")
    more = {"scope": "user", "value": "eve", "lasts": "2h", "until": "", "seen": "", "confirmed": "yes"}
    act(two, "/clusters/demo-monitor/pause", **more)
    act(two, "/clusters/demo/exclude/n04", lasts="2h", seen="", understood="yes")
    last = Incident.objects.filter(ended_at=None).order_by("-pk")[0]
    act(two, f"/incidents/{last.uuid}/acknowledge", version=str(last.version))
    assert says(one, asked) == []


CLOCK = {
    "a pause": (
        lambda rows: f"/clusters/demo/pauses/{Pause.objects.get(cluster=demo()).pk}/end",
        lambda past: Pause.objects.update(until=past),
        "A pause ran out",
    ),
    "an exclusion": (
        lambda rows: "/clusters/demo/lift/n02",
        lambda past: Exclusion.objects.update(until=past),
        "What kept n02 out ran out",
    ),
    "an advice": (
        lambda rows: f"/approvals/{rows.waiting.pk}",
        lambda past: Advice.objects.update(expires_at=past),
        "The advice on 99-0 expired",
    ),
    "a silence": (
        lambda rows: f"/silences/{silenced().uuid}/end",
        lambda past: Silence.objects.update(until=past),
        "The silence ran out",
    ),
    "an incident": (
        on_incident("acknowledge"),
        lambda past: Incident.objects.filter(ended_at=None).update(ended_at=past),
        "The incident was over",
    ),
    "a view": (
        lambda rows: f"/views/{SavedView.objects.get().pk}",
        lambda past: SavedView.objects.update(revision=F("revision") + 1),
        "The view was changed",
    ),
}


@pytest.mark.parametrize("case", CLOCK.values(), ids=CLOCK)
def test_what_ends_by_the_clock_is_told_without_a_name(
    case: tuple[Callable[[Sample], str], Callable[[datetime], object], str], one: Client, rows: Sample
) -> None:
    page, ends, sentence = case
    asked = opened(one, page(rows))
    ends(timezone.now() - timedelta(seconds=1))
    (said,) = says(one, asked)
    assert str(said["sentence"]).startswith(sentence) and " by " not in str(said["sentence"])


@pytest.mark.parametrize("page", ["/approvals/{key}", "/approvals/several"])
def test_a_yes_that_would_be_refused_is_said_on_the_page_and_when_it_is_taken_again(
    page: str, one: Client, two: Client, rows: Sample
) -> None:
    paused_there(two, rows)
    address = page.format(key=rows.waiting.pk)
    text = one.get(address).content.decode()
    assert "You cannot approve it now, for it would not be acted on: far-away is paused" in text
    assert not re.search(r'name="shown"[^>]* checked', text), "what cannot be approved is not ticked"
    assert "<strong>cannot be approved now:</strong> far-away is paused" in one.get("/approvals").content.decode()
    asked = opened(one, address)
    assert says(one, asked) == []
    act(two, f"/clusters/far-away/pauses/{Pause.objects.get(cluster__name='far-away').pk}/end")
    (said,) = says(one, asked)
    assert said["refused"] is False
    assert str(said["sentence"]).startswith("What kept the advice on 99-0 from being carried out is over. A yes is")


def test_newer_advice_is_told(one: Client, rows: Sample, now: datetime) -> None:
    asked = opened(one, f"/steps/{step().pk}/hold")
    old = step()
    old.pk, old.generation = None, 2
    old.save(force_insert=True)
    (said,) = says(one, asked)
    assert str(said["sentence"]).startswith("Newer advice was given on 500-0")


CONFIRMED = {
    "mode": ("/clusters/demo/mode", {"mode": "monitor", "version_seen": "{version}"}, switched),
    "pause": (
        "/clusters/demo/pause",
        {"scope": "user", "value": "bob", "lasts": "2h", "until": "", "seen": "{pauses}"},
        paused,
    ),
    "join": ("/incidents/{incident}/join", {"version": "1", "target": "{other}:1"}, acknowledged),
    "split": ("/incidents/{incident}/split", {"version": "1", "verdict": "{verdict}"}, acknowledged),
}


@pytest.mark.parametrize("case", CONFIRMED.values(), ids=CONFIRMED)
def test_a_confirmation_asks_by_what_its_first_page_has_shown(
    case: tuple[str, dict[str, str], Callable[[Client, Sample], None]], one: Client, two: Client, rows: Sample
) -> None:
    address, fields, deed = case
    words = {
        "version": str(demo().mode_version),
        "pauses": str(Pause.objects.get(cluster=demo()).pk),
        "incident": str(incident().uuid),
        "other": str(Incident.objects.filter(ended_at=None).order_by("pk")[1].pk),
        "verdict": str(incident().verdicts.order_by("pk")[0].pk),
    }
    said = {name: value.format(**words) for name, value in fields.items()}
    page = one.post(address.format(**words), {**REASON, **said}).content.decode()
    assert 'name="confirmed"' in page
    asked = questions(page)
    assert asked and says(one, asked) == []
    deed(two, rows)
    assert len(says(one, asked)) == 1


def test_of_a_join_the_other_incident_counts_too(one: Client, two: Client, rows: Sample) -> None:
    mine, other = Incident.objects.filter(ended_at=None).order_by("pk")[:2]
    said = {**REASON, "version": str(mine.version), "target": f"{other.pk}:{other.version}"}
    asked = questions(one.post(f"/incidents/{mine.uuid}/join", said).content.decode())
    act(two, f"/incidents/{other.uuid}/acknowledge", version=str(other.version))
    assert len(says(one, asked)) == 1


def test_a_right_that_is_taken_away_is_told_at_the_form(cast: dict[str, User], root: User) -> None:
    operator = Client()
    operator.force_login(cast["operator"])
    asked = opened(operator, "/clusters/demo/exclude/n05")
    assert says(operator, asked) == []
    cast["operator"].user_permissions.clear()
    answer = operator.get(asked[0])
    assert answer.status_code == 403
    assert "You may no longer do this" in json.loads(answer.content)["sentence"]


def test_the_reason_stays_when_the_mode_was_switched_meanwhile(one: Client, two: Client, rows: Sample) -> None:
    said = {**REASON, "mode": "approve", "version_seen": str(demo().mode_version)}
    switched(two, rows)
    answer = one.post("/clusters/demo/mode", said)
    assert answer.status_code == 409
    assert 'value="ticket 813"' in answer.content.decode()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("of", ["", "0", "x/y", "9" * 30, "<script>", "٣", "demo", "-1"])
def test_a_question_that_makes_no_sense_is_no_error(kind: str, of: str, one: Client) -> None:
    for mark in ("", "x", ",,,", "9" * 400, "1:1,2", "\u202e"):
        answer = one.get(address_of(kind, of, mark))
        assert answer.status_code in {200, 204}, mark


@pytest.mark.parametrize(
    "query",
    ["", "kind=nothing", "kind=mode&of=%00", "kind=mode&mark=a%00", f"kind=mode&of={'x' * 500}",
     f"kind=mode&of=demo&mark={'1' * (MARK_AT_MOST + 1)}"],
)  # fmt: skip
def test_what_is_no_form_of_ours_is_refused(query: str, one: Client) -> None:
    assert one.get(f"/forms/still?{query}").status_code == 400


def test_of_a_view_of_somebody_else_nothing_is_told(cast: dict[str, User], one: Client, now: datetime) -> None:
    own = SavedView.objects.create(owner=cast["admin"], name="mine", query="?user=ana", created_at=now)

    def said(key: int, mark: int) -> tuple[int, bytes]:
        answer = as_viewer.get("/forms/still", {"kind": "view", "of": f"{key}", "mark": f"{mark}"})
        return answer.status_code, answer.content

    as_viewer = Client()
    as_viewer.force_login(cast["viewer"])
    assert said(own.pk, 1) == said(own.pk, 2) == said(own.pk + 1, 1)
    SavedView.objects.update(shared=True)
    assert said(own.pk, 1)[0] == 204 and b"was changed" in said(own.pk, 2)[1]
    SavedView.objects.update(shared=False, owner=cast["viewer"])
    assert said(own.pk, 1)[0] == 204


def test_it_is_only_asked(one: Client) -> None:
    assert one.post(address_of("mode", "demo", "1")).status_code == 405


def test_a_name_of_a_person_acts_as_text(one: Client, root: User, rows: Sample) -> None:
    hostile = Client()
    hostile.force_login(User.objects.create_superuser('<b>x</b>\u202e"', password=None))
    asked = opened(one, "/clusters/demo/mode")
    switched(hostile, rows)
    (said,) = says(one, asked)
    assert "\u202e" not in str(said["sentence"]) and "<b>x</b>" in str(said["sentence"])


@pytest.mark.django_db
def test_each_kind_names_a_permission_that_there_is() -> None:
    there = {f"{app}.{name}" for app, name in Permission.objects.values_list("content_type__app_label", "codename")}
    assert {kind.permission for kind in KINDS.values()} - {""} <= there


def test_the_form_of_a_policy_of_all_clusters_hears_of_all_clusters(one: Client, now: datetime) -> None:
    version = PolicyVersion.objects.create(created_at=now, created_by="admin", values={})
    page = one.get(f"/admin/advisor_api/policyversion/{version.pk}/activate/").content.decode()
    assert 'data-live-topics="overview"' in page
