"""May those who may act on an incident, others not, and only on what they saw?"""

import re
from datetime import datetime, timedelta
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from advisor_api.silence_models import Silence
from audit.event_type import EventType
from audit.models import AuditEvent
from detectors.choice_models import IncidentChoice, IncidentNote
from detectors.models import Incident, Verdict
from tests.console.incident_rows import allow, make_failures
from tests.console.sample import HOSTILE, Sample
from tests.console.test_incidents import an_incident

REASON = {"reason": "ticket 813"}


@pytest.fixture
def operator(cast: dict[str, User], as_operator: Client) -> Client:
    allow(cast["operator"])
    return as_operator


@pytest.fixture
def other(cast: dict[str, User], operator: Client) -> Client:
    """Another operator at the same time."""
    allow(cast["admin"])
    client = Client()
    client.force_login(cast["admin"])
    return client


@pytest.fixture
def incident(rows: Sample, now: datetime) -> Incident:
    """An open one with three attempts of three jobs."""
    made = an_incident(rows, now, shared=True)
    failed(rows, now, made, 3)
    return made


def failed(rows: Sample, now: datetime, incident: Incident, number: int, mark: str = "stale") -> list[Verdict]:
    return make_failures(rows.cluster, now, incident, number, mark)


def to(name: str, incident: Incident) -> str:
    return reverse(f"incident-{name}", args=[incident.uuid])


def events(action: str) -> int:
    return AuditEvent.objects.filter(type=EventType.INCIDENT, action=action).count()


class TestWho:
    @pytest.mark.parametrize("name", ["answer", "unanswer", "note", "join", "split"])
    def test_a_viewer_and_a_stranger_may_not(
        self, name: str, as_viewer: Client, client: Client, incident: Incident
    ) -> None:
        for method in (as_viewer.get, as_viewer.post):
            assert method(to(name, incident)).status_code == 403
        assert Client().post(to(name, incident)).status_code == 302
        page = as_viewer.get(reverse("incident", args=[incident.uuid])).content.decode()
        assert to(name, incident) not in page

    def test_silences_neither(self, as_viewer: Client, rows: Sample, now: datetime) -> None:
        row = Silence.objects.create(
            cluster=rows.cluster,
            node="n03",
            reason="r",
            owner="o",
            made_by="o",
            since=now,
            until=now + timedelta(1),
        )
        for address in (reverse("silence-new"), reverse("silence-end", args=[row.uuid])):
            assert as_viewer.get(address).status_code == as_viewer.post(address).status_code == 403
        assert "End it" not in as_viewer.get(reverse("silences")).content.decode()


class TestAcknowledging:
    def test_and_back_with_the_reason_in_the_trail(self, operator: Client, incident: Incident) -> None:
        page = operator.get(to("answer", incident)).content.decode()
        assert "Everybody sees that you are at it" in page and 'name="version" value="1"' in page
        answer = operator.post(to("answer", incident), {**REASON, "version": 1}, follow=True)
        text = answer.content.decode()
        assert "You are at it" in text and "by operator" in text and "Nobody is at it…" in text
        assert events("acknowledged") == 1
        operator.post(to("unanswer", incident), {**REASON, "version": 2})
        incident.refresh_from_db()
        assert (incident.acknowledged_at, incident.acknowledged_by, incident.version) == (None, "", 3)
        assert events("not acknowledged") == 1

    @pytest.mark.parametrize(
        ("form", "status", "says"),
        [
            ({"version": 1}, 400, "Say why"),
            ({"reason": "  ", "version": 1}, 400, "Say why"),
            ({"reason": "a\0b", "version": 1}, 400, "characters"),
            ({"reason": "x" * 501, "version": 1}, 400, "500"),
            ({**REASON}, 400, "open the page again"),
            ({**REASON, "version": "x"}, 400, "open the page again"),
            ({**REASON, "version": 9}, 409, "Somebody changed the incident"),
        ],
    )
    def test_what_cannot_be_used_changes_nothing(
        self, form: dict[str, object], status: int, says: str, operator: Client, incident: Incident
    ) -> None:
        answer = operator.post(to("answer", incident), form)
        assert answer.status_code == status and says in answer.content.decode()
        incident.refresh_from_db()
        assert incident.acknowledged_at is None and not events("acknowledged")

    def test_of_two_at_once_the_second_is_told(self, operator: Client, other: Client, incident: Incident) -> None:
        for client in (operator, other):
            client.get(to("answer", incident))
        operator.post(to("answer", incident), {**REASON, "version": 1})
        answer = other.post(to("answer", incident), {**REASON, "version": 1})
        assert answer.status_code == 409
        assert "operator has acknowledged it meanwhile" in answer.content.decode()
        assert events("acknowledged") == 1

    def test_one_that_is_over_is_not_acknowledged(
        self, operator: Client, incident: Incident, now: datetime
    ) -> None:
        Incident.objects.filter(pk=incident.pk).update(ended_at=now, open_key=None)
        answer = operator.post(to("answer", incident), {**REASON, "version": 1})
        assert answer.status_code == 409 and "is over" in answer.content.decode()


class TestRemarks:
    def test_they_stand_in_order_under_their_author(
        self, operator: Client, other: Client, incident: Incident
    ) -> None:
        operator.post(to("note", incident), {"text": "Looking at the\nrack."})
        operator.post(to("note", incident), {"text": "Looking at the\nrack."})
        other.post(to("note", incident), {"text": HOSTILE.replace("\x07", "")})
        page = operator.get(reverse("incident", args=[incident.uuid])).content.decode()
        assert page.index("Looking at the<br>rack.") < page.index("<b>admin</b>")
        assert "<script>alert" not in page and "\u202e" not in page
        assert (IncidentNote.objects.filter(incident=incident).count(), events("noted")) == (2, 2)

    @pytest.mark.parametrize("text", ["", " \n ", "x" * 2001, "a\0b"])
    def test_what_cannot_be_kept_is_refused(self, text: str, operator: Client, incident: Incident) -> None:
        assert operator.post(to("note", incident), {"text": text}).status_code == 400
        assert not IncidentNote.objects.filter(incident=incident).exists()


def meaning(page: str) -> dict[str, str]:
    """What a page says before the click: heading to sentences."""
    rows = re.findall(r"<div><dt>([^<]+)</dt><dd>(.*?)</dd></div>", page, re.DOTALL)
    return {heading: unescape(said.replace("<br>", " ")) for heading, said in rows}


def test_a_long_hostile_name_neither_acts_nor_floods(
    operator: Client, incident: Incident, rows: Sample, now: datetime
) -> None:
    into = an_incident(rows, now, "b", sentence=HOSTILE + "x" * 2000)
    failed(rows, now, into, 12, "full")
    page = operator.post(to("join", incident), {**REASON, "version": 1, "target": f"{into.pk}:1"}).content.decode()
    assert "<script>alert" not in page and "\u202e" not in page
    assert "x" * 100 not in meaning(page)["Afterwards"]


def test_what_is_over_stays_where_it_is_when_a_choice_is_taken_back(
    operator: Client, incident: Incident, rows: Sample, now: datetime
) -> None:
    into = an_incident(rows, now, "b")
    failed(rows, now, into, 1, "full")
    operator.post(to("join", incident), {**REASON, "version": 1, "target": f"{into.pk}:1", "confirmed": "yes"})
    Incident.objects.filter(pk=into.pk).update(ended_at=now, open_key=None)
    page = operator.get(reverse("incident-undo", args=[IncidentChoice.objects.get().uuid])).content.decode()
    assert meaning(page)["Afterwards"].startswith("Nothing moves: “Storage b is in trouble” is over")


class TestJoining:
    def test_into_another_after_reading_what_it_means(
        self, operator: Client, incident: Incident, rows: Sample, now: datetime
    ) -> None:
        into = an_incident(rows, now, "b", shared=True)
        failed(rows, now, into, 2, "full")
        page = operator.get(to("join", incident)).content.decode()
        assert "Storage b is in trouble" in page and f'value="{into.pk}:1"' in page
        form = {**REASON, "version": 1, "target": f"{into.pk}:1"}
        page = operator.post(to("join", incident), form).content.decode()
        assert meaning(page) == {
            "Afterwards": "“Storage b is in trouble” goes on, with 5 attempts: its own 2, and 3 from here. "
            "This one, “Storage a is in trouble”, is over. Its page stays, and leads there.",
            "From now on": "New failures of either cause come to “Storage b is in trouble”. Once that is over, the "
            "next such failure opens one incident for both causes. It stays so until somebody takes it back: no "
            "later verdict on these attempts moves them.",
            "Restarts": "Restarts are held, and a person is asked, when one shared cause has stopped 3 jobs or "
            "more. Jobs are counted by incident. Now: 3 in this one (held) and 2 in the other one (not held). "
            "Afterwards: 5 in the joined one (held). Advice that was given stays as it is: only the next decisions "
            "count anew.",
            "To take it back": "Open “Storage b is in trouble”, and under “Joined and split” choose “Take it "
            "back…”. What came from here then returns, with what has come by this cause since, and this incident "
            "is open again. Once that incident is over, what is in it stays there, and only new failures are "
            "grouped as before.",
        }
        assert not IncidentChoice.objects.exists()
        page = operator.post(to("join", incident), {**form, "confirmed": "yes"}, follow=True).content.decode()
        assert "They are one incident now" in page and "Storage a is in trouble" in page
        assert into.verdicts.count() == 5
        old = operator.get(reverse("incident", args=[incident.uuid])).content.decode()
        assert "joined it into another incident" in old and "I am at it…" not in old
        choice = IncidentChoice.objects.get()
        address = reverse("incident-undo", args=[choice.uuid])
        assert address in page
        before = meaning(operator.get(address).content.decode())["Afterwards"]
        assert before.startswith("“Storage a is in trouble” is open again, with what it had")
        operator.post(address, {**REASON, "version": 2})
        incident.refresh_from_db()
        assert incident.ended_at is None and into.verdicts.count() == 2
        assert "Taken back by operator" in operator.get(reverse("incident", args=[into.uuid])).content.decode()

    def test_what_makes_no_sense_is_refused(
        self, operator: Client, incident: Incident, rows: Sample, now: datetime
    ) -> None:
        abroad = an_incident(rows, now, "c", cluster=rows.monitor)
        for target, status, says in (
            (f"{incident.pk}:1", 400, "the incident itself"),
            (f"{abroad.pk}:1", 400, "of two clusters"),
            ("999999:1", 400, "no such incident"),
            ("1; DROP TABLE", 400, "open the page again"),
            ("", 400, "Choose the incident"),
        ):
            form = {**REASON, "version": 1, "target": target, "confirmed": "yes"}
            answer = operator.post(to("join", incident), form)
            assert (answer.status_code, says in answer.content.decode()) == (status, True), target
        assert not IncidentChoice.objects.exists()

    def test_of_two_at_once_the_second_is_told(
        self, operator: Client, other: Client, incident: Incident, rows: Sample, now: datetime
    ) -> None:
        into = an_incident(rows, now, "b")
        failed(rows, now, into, 1)
        form = {**REASON, "version": 1, "target": f"{into.pk}:1", "confirmed": "yes"}
        assert operator.post(to("join", incident), form).status_code == 302
        answer = other.post(to("join", incident), form)
        assert answer.status_code == 409 and "Nothing was changed by you" in answer.content.decode()
        assert IncidentChoice.objects.count() == 1


class TestSplitting:
    def test_some_attempts_after_reading_what_it_means(self, operator: Client, incident: Incident) -> None:
        first = incident.verdicts.order_by("pk")[0]
        page = operator.get(to("split", incident)).content.decode()
        assert f'value="{first.pk}"' in page
        form = {**REASON, "version": 1, "verdict": [first.pk]}
        page = operator.post(to("split", incident), form).content.decode()
        said, (one, two, three) = meaning(page), [v.attempt.label for v in incident.verdicts.order_by("pk")]
        assert said["Afterwards"] == (
            f"A new incident has one attempt: {one}. This one, “Storage a is in trouble”, goes on with 2 attempts: "
            f"{two}, {three}."
        )
        assert (
            "the jobs tell: those that go take their next failures along. All other failures" in said["From now on"]
        )
        assert "Now: 3 in this one (held). Afterwards: 1 in the new one (not held) and 2" in said["Restarts"]
        assert "All that it has then returns here" in said["To take it back"]
        hidden = dict(re.findall(r'name="(version|reason|confirmed|chosen)" value="([^"]*)"', page))
        answer = operator.post(to("split", incident), hidden, follow=True)
        assert "This is an incident of its own now" in answer.content.decode()
        mine = IncidentChoice.objects.get().target
        assert (mine.verdicts.get(), incident.verdicts.count()) == (first, 2)
        assert events("split") == events("moved") == 1

    def test_by_cause(self, operator: Client, incident: Incident, rows: Sample, now: datetime) -> None:
        failed(rows, now, incident, 2, "full")
        assert "All with one cause" in operator.get(to("split", incident)).content.decode()
        form = {**REASON, "version": 1, "fingerprint": ["full"]}
        page = operator.post(to("split", incident), form).content.decode()
        assert "Every new failure of its cause comes to the new one. All other" in meaning(page)["From now on"]
        assert 'name="fingerprint" value="full"' in page
        operator.post(to("split", incident), {**form, "confirmed": "yes"})
        assert incident.verdicts.count() == 3

    @pytest.mark.parametrize(
        ("form", "status"),
        [
            ({}, 400),
            ({"fingerprint": "stale"}, 400),
            ({"verdict": "x"}, 400),
            ({"chosen": "1,2,;"}, 400),
            ({"chosen": "999999", "confirmed": "yes"}, 409),
            ({"chosen": ",".join(["1"] * 1001)}, 400),
            ({"version": 7, "fingerprint": "other", "confirmed": "yes"}, 409),
        ],
    )
    def test_what_makes_no_sense_is_refused(
        self, form: dict[str, object], status: int, operator: Client, incident: Incident
    ) -> None:
        answer = operator.post(to("split", incident), {**REASON, "version": 1, **form})
        assert answer.status_code == status
        assert not IncidentChoice.objects.exists() and incident.verdicts.count() == 3


class TestSilencing:
    def test_an_incident_after_seeing_what_it_covers(self, operator: Client, incident: Incident) -> None:
        page = operator.get(reverse("silence-new") + f"?incident={incident.uuid}").content.decode()
        assert 'value="a"' in page and 'value="operator"' in page
        form = {**REASON, "cluster": "demo", "fingerprint": "a", "owner": "olga", "lasts": "2h"}
        page = operator.post(reverse("silence-new"), form).content.decode()
        assert "It covers 1 incident that is open now" in page and "no decision changes" in page
        assert not Silence.objects.exists()
        hidden = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page))
        page = operator.post(reverse("silence-new"), hidden, follow=True).content.decode()
        row = Silence.objects.get()
        assert "Nobody is told of fingerprint a on demo" in page and reverse("silence-end", args=[row.uuid]) in page
        assert timedelta(hours=1) < row.until - row.since <= timedelta(hours=2)
        about = operator.get(reverse("incident", args=[incident.uuid])).content.decode()
        assert "Nobody is told of it until" in about and "Silenced by olga" in about
        end = reverse("silence-end", args=[row.uuid])
        assert operator.post(end, {"reason": ""}).status_code == 400
        assert operator.post(end, REASON).status_code == 302
        again = operator.post(end, REASON)
        assert again.status_code == 409 and "over already" in again.content.decode()

    @pytest.mark.parametrize(
        ("changes", "says"),
        [
            ({"fingerprint": ""}, "without one it would be all of a cluster"),
            ({"cluster": ""}, "Choose a cluster"),
            ({"cluster": "*"}, "no cluster of that name"),
            ({"node": "*"}, "has no node"),
            ({"owner": ""}, "whose silence"),
            ({"reason": ""}, "Say why"),
            ({"lasts": "until", "until": "2027-11-30 10:00"}, "at most 7 days"),
            ({"lasts": "until", "until": "2020-11-30 10:00"}, "in the future"),
            ({"lasts": "until", "until": ""}, "Say until when"),
            ({"lasts": "9y"}, "Choose one of the spans"),
        ],
    )
    def test_nothing_without_name_owner_reason_and_end(
        self, changes: dict[str, str], says: str, operator: Client, rows: Sample
    ) -> None:
        form = {**REASON, "cluster": "demo", "fingerprint": "a", "owner": "olga", "lasts": "2h", "confirmed": "yes"}
        answer = operator.post(reverse("silence-new"), {**form, **changes})
        assert answer.status_code == 400 and says in answer.content.decode()
        assert not Silence.objects.exists()


def test_no_secret_in_a_remark_or_a_reason_is_kept(operator: Client, incident: Incident) -> None:
    secret = "password=hunter2secret"
    for _time in range(2):
        operator.post(to("note", incident), {"text": f"try {secret} on it"})
    operator.post(to("answer", incident), {"reason": secret, "version": 1})
    kept = [
        IncidentNote.objects.get(incident=incident).text,
        *AuditEvent.objects.values_list("sentence", flat=True),
    ]
    assert not any("hunter2secret" in text for text in kept)
