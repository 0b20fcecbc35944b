"""Is every event found by whatever it says, page by page, and does the whole trail leave the site safely?"""

import asyncio
import csv
import io
import json
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import AsyncClient, Client

from advisor_api import trail_export
from advisor_api.pseudonyms import Pseudonyms
from advisor_api.trail_export import COLUMNS
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.models import AuditArchive, AuditEvent
from audit.trail import Actor, Entry, Subject, record
from tests.advisor_api.conftest import Api
from tests.advisor_api.world import a_job, an_attempt
from workloads.subjects import subject_of

pytestmark = pytest.mark.django_db
PATH = "/v1/trail"
ID = UUID("3f0c5a1e-7b0e-5d36-9a43-5b8f6c1e2d10")
RULE = Actor(ActorKind.RULE, "policy")
ABOUT = ("job_number", "attempt_index", "heimdall_job_id", "node")
WHEN = datetime.fromisoformat("2026-11-29T10:00:00+00:00")


def write(cluster: str = "demo", at: datetime = WHEN, **words: Any) -> AuditEvent:
    about = {
        name: words.pop(name)
        for name in ("job_number", "attempt_index", "heimdall_job_id", "node")
        if name in words
    }
    values = {"type": EventType.ACTION, "actor": RULE, "sentence": "said", **words}
    return record([Entry(subject=Subject(cluster, **about), **values)], at)[0]


def found(api: Api, query: str) -> list[str]:
    answer = api.get(f"{PATH}?{query}")
    assert answer.status == 200, answer.json
    return [one["sentence"] for one in answer.json["items"]]


FILTERS: list[tuple[str, dict[str, Any]]] = [
    ("jobId=7", {"job_number": 7}),
    ("jobId=7&attemptIndex=1", {"job_number": 7, "attempt_index": 1}),
    (f"heimdallJobId={ID}", {"heimdall_job_id": ID}),
    ("node=n03", {"node": "n03"}),
    ("pattern=xid.48", {"pattern": "xid.48"}),
    ("action=release", {"action": "release"}),
    ("actor=olga", {"actor": Actor(ActorKind.PERSON, "olga")}),
    ("actorKind=person", {"actor": Actor(ActorKind.PERSON, "olga")}),
    ("eventType=verdict", {"type": EventType.VERDICT}),
    ("eventLevel=error", {"level": Level.ERROR}),
    ("traceId=abc", {"trace_id": "abc"}),
    ("since=2026-11-29T11:00:00Z", {"at": WHEN + timedelta(hours=1)}),
    ("until=2026-11-29T10:00:00Z", {"at": WHEN - timedelta(microseconds=1)}),
]


@pytest.mark.parametrize(("query", "words"), FILTERS, ids=[query for query, _ in FILTERS])
def test_each_filter_finds_its_own(api: Api, query: str, words: dict[str, Any]) -> None:
    write(sentence="another")
    write("second", sentence="of another cluster", **words)
    write(sentence="mine", **words)
    within = "&until=2026-11-30T00:00:00Z" if "until" not in query else ""
    assert found(api, f"cluster=demo&{query}{within}") == ["mine"]


def test_by_user(api: Api) -> None:
    theirs = an_attempt(a_job(api.cluster, 100, user="tess"))
    other = an_attempt(a_job(api.cluster, 101, user="tom"))
    for attempt, sentence in ((theirs, "hers"), (other, "his")):
        record([Entry(EventType.ADVICE, subject_of(attempt), RULE, sentence)], WHEN)
    assert found(api, "user=tess") == ["hers"]
    assert found(api, "user=nobody") == []


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_pages_meet_although_events_come_in_between(api: Api, order: str) -> None:
    for number in range(7):
        write(sentence=str(number), node="n1", at=WHEN + timedelta(seconds=number // 3))  # several at one moment
    seen: list[str] = []
    cursor = ""
    while True:
        answer = api.get(f"{PATH}?node=n1&limit=2&sortBy=received_at:{order}&cursor={cursor}").json
        seen += [one["sentence"] for one in answer["items"]]
        cursor = answer["cursor"]
        if not cursor:
            break
        write(sentence="newer", node="n1", at=WHEN + timedelta(days=1))
        write(sentence="older", node="n1", at=WHEN - timedelta(days=1))
    wanted = [str(number) for number in range(7)]
    assert [one for one in seen if one.isdigit()] == (wanted if order == "asc" else wanted[::-1])
    assert api.get(f"{PATH}?node=n2&cursor={cursor or 'x'}").status == 400


@pytest.mark.parametrize(
    "query", ["eventType=nothing", "actorKind=x", "since=yesterday", "limit=0", "limit=101", "jobId=x", "node=%00"]
)
def test_what_is_no_filter_is_refused_in_a_sentence(api: Api, query: str) -> None:
    for path in (PATH, f"{PATH}:export") if "limit" not in query else (PATH,):
        answer = api.get(f"{path}?{query}")
        assert answer.status == 400
        assert answer.message


def test_whoever_sees_several_clusters_says_which(api: Api) -> None:
    assert api.get(PATH, "two").status == 400
    assert api.get(f"{PATH}:export", "two").status == 400
    assert api.get(f"{PATH}:export?cluster=second", "viewer").status == 403


def exported(api: Api, query: str = "") -> str:
    answer = Client().get(f"{PATH}:export?{query}", headers={"Authorization": f"Bearer {api.secrets['viewer']}"})
    assert answer.status_code == 200
    assert "attachment" in answer["Content-Disposition"]
    return b"".join(answer).decode()  # type: ignore[arg-type]


class TestExport:
    def test_all_pages_oldest_first_in_both_forms(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(trail_export, "PAGE", 3)
        for number in range(10):
            write(sentence=str(number), node="n1", at=WHEN + timedelta(seconds=number // 4))
        lines = [json.loads(line) for line in exported(api, "node=n1").splitlines()]
        assert [one["sentence"] for one in lines] == [str(number) for number in range(10)]
        table = list(csv.DictReader(io.StringIO(exported(api, "node=n1&fileFormat=csv"))))
        assert [one["sentence"] for one in table] == [str(number) for number in range(10)]
        assert tuple(table[0]) == COLUMNS == tuple(lines[0])
        assert (lines[0]["receivedAt"], lines[0]["jobId"], table[0]["jobId"]) == ("2026-11-29T10:00:00Z", None, "")

    def test_nothing_is_an_empty_file_or_a_head(self, api: Api) -> None:
        assert exported(api, "node=none") == ""
        assert exported(api, "node=none&fileFormat=csv").strip() == ",".join(COLUMNS)

    @pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", '=HYPERLINK("x")', "-", "\uff1d1+1"])
    def test_no_cell_is_a_formula(self, api: Api, text: str) -> None:
        write(sentence=text, node="n1", action=text[:64], pattern=text, actor=Actor(ActorKind.TOKEN, text))
        (row,) = csv.DictReader(io.StringIO(exported(api, "node=n1&fileFormat=csv")))
        for name in ("sentence", "action", "pattern", "actor"):
            assert row[name] == f"'{text}"

    def test_lines_and_quotes_within_a_cell_stay_one_row(self, api: Api) -> None:
        write(sentence='two\nlines, "quoted"', node="n1", payload={"line": 'a,"b"\r\nc'})
        (row,) = csv.DictReader(io.StringIO(exported(api, "node=n1&fileFormat=csv"), newline=""))
        assert row["sentence"] == 'two\nlines, "quoted"'
        assert json.loads(row["payload"]) == {"line": 'a,"b"\r\nc'}
        assert len(exported(api, "node=n1").splitlines()) == 1

    def test_names_of_people_become_keyed_hashes(self, api: Api) -> None:
        User.objects.create_user("olga")
        a_job(api.cluster, 100, user="tess")
        olga = Actor(ActorKind.PERSON, "olga")
        write(
            sentence="olga approved: ask tess, not tessa", node="n1", actor=olga, payload={"path": "/home/tess/x"}
        )
        write(sentence="gone.person left", node="n1", actor=Actor(ActorKind.PERSON, "gone.person"))
        first, second = (json.loads(line) for line in exported(api, "node=n1&pseudonyms=true").splitlines())
        her, tess = Pseudonyms([]).of("olga"), Pseudonyms([]).of("tess")
        assert her != tess and len(her) == len("person-") + 12
        assert (first["actor"], first["sentence"]) == (her, f"{her} approved: ask {tess}, not tessa")
        assert first["payload"] == {"path": f"/home/{tess}/x"}
        assert "gone.person" not in json.dumps(second)
        assert "olga" in exported(api, "node=n1")

    def test_another_key_gives_other_pseudonyms(self, settings: Any) -> None:
        before = Pseudonyms([]).of("olga")
        assert before == Pseudonyms(["olga"]).of("olga")
        settings.SECRET_KEY = "another"
        assert Pseudonyms([]).of("olga") != before

    def test_the_command_writes_the_same(self, api: Api) -> None:
        for number in range(3):
            write(sentence=str(number), node="n1")
        out = io.StringIO()
        call_command("export_trail", "demo", node="n1", stdout=out)
        assert out.getvalue() == exported(api, "node=n1")
        with pytest.raises(CommandError, match="eventType"):
            call_command("export_trail", "demo", eventType="nothing")


@pytest.mark.django_db(transaction=True)
def test_under_asgi_the_pages_come_one_after_the_other(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trail_export, "PAGE", 2)
    for number in range(5):
        write(sentence=str(number), node="n1")

    async def ask() -> bytes:
        headers = {"Authorization": f"Bearer {api.secrets['viewer']}"}
        answer: Any = await AsyncClient().get(f"{PATH}:export?node=n1", headers=headers)
        assert answer.is_async
        return b"".join([chunk async for chunk in answer])

    assert len(asyncio.run(ask()).splitlines()) == 5


def test_it_is_said_that_older_events_are_in_the_archive(api: Api) -> None:
    write(sentence="young")
    assert api.get(PATH).json["archivedBefore"] is None
    said = {
        "before": "0" * 64,
        "digest": "0" * 64,
        "file_digest": "0" * 64,
        "size": 1,
        "key_id": "k",
        "signature": "s",
    }
    for cluster, seq, days in (("demo", 1, 9), ("demo", 4, 7), ("second", 1, 1)):
        at = WHEN - timedelta(days=days)
        spans = {"first_seq": seq, "last_seq": seq + 2, "first_at": at, "last_at": at, "at": WHEN, "file": "x"}
        AuditArchive.objects.create(cluster=cluster, **spans, **said)
    assert api.get(PATH).json["archivedBefore"] == "2026-11-22T10:00:00Z"
    secret = {"Authorization": f"Bearer {api.secrets['viewer']}"}
    answer = Client().get(f"{PATH}:export", headers=secret)
    assert answer["X-Rekindle-Archived-Before"] == "2026-11-22T10:00:00+00:00"
    said_beside = io.StringIO()
    call_command("export_trail", "demo", stdout=io.StringIO(), stderr=said_beside)
    assert "Events up to 2026-11-22 10:00:00 UTC are in the archive" in said_beside.getvalue()
    call_command("export_trail", "third", stdout=io.StringIO(), stderr=(none := io.StringIO()))
    assert none.getvalue() == ""


def test_an_attempt_s_pages_meet(api: Api) -> None:
    for number in range(7):
        write(sentence=str(number), heimdall_job_id=ID, job_number=7)
    for query in (f"heimdallJobId={ID}", "jobId=7"):
        seen, cursor = [], ""
        for _page in range(4):
            answer = api.get(f"{PATH}?{query}&limit=2&cursor={cursor}").json
            seen += [one["sentence"] for one in answer["items"]]
            cursor = answer["cursor"]
        assert (seen, cursor) == (list("6543210"), "")
