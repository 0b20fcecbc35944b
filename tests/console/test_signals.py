"""Is what the sources of a cluster give the detectors shown to whoever may read, without being a burden?"""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client

from detectors.models import Feed
from detectors.signal_keeping import Busy, looks
from detectors.signals.grade import Grade
from detectors.signals.mapping import Candidate, Mapped
from detectors.signals.remark import Remark
from detectors.signals.report import JobReport, Report
from tests.console.sample import HOSTILE, Sample
from workloads.models import Cluster

PAGE, REPORT = "/clusters/demo/signals", "/clusters/demo/signals/report"


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    looks.forget()
    yield
    looks.forget()


@pytest.mark.parametrize("who", ["viewer", "operator", "admin"])
def test_whoever_has_an_account_reads_it(who: str, cast: dict[str, User], rows: Sample, client: Client) -> None:
    client.force_login(cast[who])
    page = client.get(PAGE).content.decode()
    assert 'hx-get="/clusters/demo/signals/report"' in page and "Looking at the sources" in page
    text = client.get(REPORT).content.decode()
    assert "4711-1" in text and "Cannot be looked at" in text
    assert "<html" not in text
    assert 'href="/clusters/demo/signals"' in client.get("/clusters/demo").content.decode()


def test_a_stranger_learns_nothing(client: Client, rows: Sample) -> None:
    assert client.get(PAGE).status_code == 302
    answer = client.get(REPORT)
    assert (answer.status_code, answer.content) == (401, b"Sign in again.")
    assert client.get("/clusters/nowhere/signals/report").status_code == 401


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_it_is_only_read(method: str, as_viewer: Client, rows: Sample) -> None:
    assert getattr(as_viewer, method)(PAGE).status_code == 405
    assert getattr(as_viewer, method)(REPORT).status_code == 405


def test_without_scripts_the_page_waits_for_the_report(as_viewer: Client, rows: Sample) -> None:
    text = as_viewer.get(f"{PAGE}?whole=1").content.decode()
    assert "<html" in text and "4711-1" in text and "hx-trigger" not in text


def test_one_job(as_viewer: Client, rows: Sample) -> None:
    assert 'report?job=4711"' in as_viewer.get(f"{PAGE}?job=4711").content.decode()
    text = as_viewer.get(f"{REPORT}?job=4711").content.decode()
    assert "4711-1" in text and "4712" not in text
    assert "demo has no job 99." in as_viewer.get(f"{REPORT}?job=99").content.decode()
    assert as_viewer.get(f"{REPORT}?job=x").status_code == 200
    assert as_viewer.get(f"{REPORT}?job=99999999999999999999").status_code == 200


def test_what_is_not_there_is_404(as_viewer: Client, rows: Sample) -> None:
    assert as_viewer.get("/clusters/nowhere/signals").status_code == 404
    assert as_viewer.get("/clusters/nowhere/signals/report").status_code == 404


def test_too_many_looks_at_once_are_said(as_viewer: Client, rows: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_args: object) -> Report:
        raise Busy("Other clusters are looked at right now; ask again.")

    monkeypatch.setattr("console.views.signals.kept_report", busy)
    assert "Other clusters are looked at right now; ask again." in as_viewer.get(REPORT).content.decode()


def test_hostile_text_does_not_act(as_viewer: Client, rows: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    remark = Remark("log", Grade.WRONG, HOSTILE, HOSTILE, HOSTILE)
    mapped = Mapped((Candidate("job_id", HOSTILE, 0.5, HOSTILE, (HOSTILE,)),), command=HOSTILE)
    report = Report("demo", rows.cluster.seen_at, (remark,), (JobReport(4711, 1, (remark,)),), mapped)
    monkeypatch.setattr("console.views.signals.kept_report", lambda *_args: report)
    text = as_viewer.get(REPORT).content.decode()
    assert "<script>" not in text and "\x1b" not in text and "\u202e" not in text and "\x07" not in text
    assert "&lt;script&gt;" in text


def test_a_look_changes_nothing(as_viewer: Client, rows: Sample) -> None:
    before = list(Cluster.objects.values()), list(Feed.objects.values())
    as_viewer.get(REPORT)
    assert (list(Cluster.objects.values()), list(Feed.objects.values())) == before
