"""Are the curves of a job those of its points: thinned, bounded, broken where nothing was told, for who may see?"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from console import job_series
from console.curve_picture import COLOURS, band
from console.job_series import Measure, curves_of
from console.job_window import Window
from console.rendering import bodies
from console.series import Point, pieces_of, thinned, told
from console.templatetags.job_marks import measured
from schedulers.states import JobState
from tests.console import sample
from tests.console.sample import Sample
from workloads.models import Attempt
from workloads.progress_models import ProgressPoint


def points(values: list[float], every: float = 2.0) -> list[Point]:
    return [Point(1000 + every * place, place, value) for place, value in enumerate(values)]


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=300), st.integers(2, 100))
def test_thinned_series_keep_their_extremes_their_order_and_the_bound(values: list[float], most: int) -> None:
    series = points(values)
    (shown,) = thinned(pieces_of(series), most)
    assert len(shown) <= most
    assert max(p.value for p in shown) == max(values)
    assert min(p.value for p in shown) == min(values)
    assert [p.at for p in shown] == sorted({p.at for p in shown})
    assert set(shown) <= set(series)


def test_one_slow_step_of_twenty_thousand_is_still_seen() -> None:
    values = [2.0] * 20_000
    values[12_345] = 40.0
    (shown,) = thinned([points(values)], 2000)
    assert len(shown) <= 2000
    assert (12_345, 40.0) in {(p.step, p.value) for p in shown}
    assert shown[-1].step == 19_999, "the live end stays"


def test_a_pause_breaks_the_curve() -> None:
    early, late = points([2.0] * 100), [Point(p.at + 5000, p.step, p.value) for p in points([2.0] * 100)]
    assert [len(piece) for piece in pieces_of(early + late)] == [100, 100]


def test_a_slow_rhythm_is_no_pause() -> None:
    assert len(pieces_of(points([2.0] * 50, every=600))) == 1


@given(st.integers(1, 400), st.integers(2, 100))
def test_more_breaks_than_points_keep_the_newest(breaks: int, most: int) -> None:
    series = [Point(2000.0 * place + second, place, 1.0) for place in range(breaks) for second in range(3)]
    shown = [point for piece in thinned(pieces_of(series), most) for point in piece]
    assert len(pieces_of(series)) == breaks
    assert len(shown) <= most
    assert shown[-1].step == breaks - 1


def test_a_series_in_numbers() -> None:
    found = told(points([2.0, 3.0, 9.0, 1.0, 2.0]))
    assert (found.count, found.usual, found.greatest.step, found.least.step, found.longest) == (5, 2.0, 2, 3, 2.0)
    assert told([]) is None


def test_the_band_is_what_counts_as_usual() -> None:
    attempt = Attempt(baseline_step_seconds=2.0)
    assert band(attempt, Measure.SECONDS, 1.25) == (1.6, 2.5)
    assert band(attempt, Measure.RATE, 1.25) == (24.0, 37.5)
    assert band(attempt, Measure.TOKENS, 1.25) is None
    assert band(Attempt(), Measure.SECONDS, 1.25) is None


@pytest.mark.parametrize(
    ("value", "measure", "said"),
    [
        (2.14, Measure.SECONDS, "2.1 s"),
        (48_213.7, Measure.TOKENS, "48,214 tokens/s"),
        (312.4567, Measure.TFLOP, "312.5 TFLOP/s"),
        (None, Measure.RATE, "–"),
    ],
)
def test_a_value_is_written_with_its_unit(value: float | None, measure: Measure, said: str) -> None:
    assert measured(value, measure) == said


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    job_series.kept.forget()


def curves(client: Client, job: str = "demo/4711/0", query: str = "") -> dict[str, Any]:
    answer = client.get(f"/jobs/{job}/curves.json{query}")
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/json"
    found: dict[str, Any] = json.loads(answer.content)
    return found


def test_the_points_are_those_of_the_attempts(as_viewer: Client, rows: Sample) -> None:
    data = curves(as_viewer)
    (attempt,) = data["attempts"]
    assert (attempt["index"], attempt["state"], attempt["colour"]) == (1, "running", 1 % COLOURS)
    series = attempt["series"][0]
    assert len(series["at"]) == len(series["value"]) == len(series["step"]) == 121
    assert max(series["value"]) == pytest.approx(2.0 + 0.12 * (60 % 7) + 1.6)
    assert [one["name"] for one in data["measures"]] == ["seconds", "rate"], "no line tells tokens"
    assert attempt["bands"][0] == [pytest.approx(2 / 1.15), pytest.approx(2.3)]


def test_a_window_gives_what_lies_in_it(as_viewer: Client, rows: Sample, now: datetime) -> None:
    start = (now - timedelta(seconds=100)).replace(microsecond=0)
    end = start + timedelta(seconds=40)
    (attempt,) = curves(as_viewer, query=Window(start, end).query)["attempts"]
    at = attempt["series"][0]["at"]
    assert 18 <= len(at) <= 22
    assert start.timestamp() * 1000 <= min(at) and max(at) <= end.timestamp() * 1000


def test_what_a_job_counts_itself_is_its_throughput(as_viewer: Client, rows: Sample) -> None:
    ProgressPoint.objects.update(tokens_per_second=48_000.0)
    data = curves(as_viewer)
    assert data["measures"][1]["unit"] == "tokens/s"
    assert set(data["attempts"][0]["series"][1]["value"]) == {48_000.0}


def test_a_stranger_gets_401_and_nothing_else(client: Client, rows: Sample) -> None:
    answer = client.get("/jobs/demo/4711/0/curves.json")
    assert (answer.status_code, answer.content) == (401, b"Sign in again.")


@pytest.mark.parametrize("address", ["/jobs/demo/1/0/curves.json", "/jobs/nowhere/4711/0/curves.json"])
def test_no_such_job_is_404(address: str, as_viewer: Client, rows: Sample) -> None:
    assert as_viewer.get(address).status_code == 404


def test_curves_are_only_read(as_viewer: Client, rows: Sample) -> None:
    assert as_viewer.post("/jobs/demo/4711/0/curves.json").status_code == 405


def test_the_same_curves_are_not_sent_again(
    as_viewer: Client, rows: Sample, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.views.asked.timezone.now", lambda: now)
    first = as_viewer.get("/jobs/demo/4711/0/curves.json")
    again = as_viewer.get("/jobs/demo/4711/0/curves.json", headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def many_points(rows: Sample, now: datetime, attempts: int, each: int) -> list[Attempt]:
    of = sample.job(rows.cluster, 9001, now)
    made = []
    for index in range(attempts):
        start = now - timedelta(hours=2 * (attempts - index))
        over = start + timedelta(hours=1)
        one = sample.attempt(
            of, index, JobState.FAILED, now, started_at=start, ended_at=over, baseline_step_seconds=2.0
        )
        ProgressPoint.objects.bulk_create(
            ProgressPoint(attempt=one, at=start + timedelta(hours=1) * k / each, step=k, step_seconds=2.0 + k % 3)
            for k in range(each)
        )
        made.append(one)
    return made


def test_thousands_of_points_are_thinned_and_asked_for_once(
    rows: Sample, now: datetime, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    made = many_points(rows, now, attempts=20, each=1000)
    with django_assert_num_queries(1):
        found = curves_of(made, Window())
    assert not found.cut
    for _attempt, known in found.of:
        shown = [point for piece in known[Measure.SECONDS].pieces for point in piece]
        assert 500 <= len(shown) <= 600
        assert {max(p.value for p in shown), min(p.value for p in shown)} == {4.0, 2.0}
    with django_assert_num_queries(0):
        curves_of(made, Window())
    made[-1].changed_at = now + timedelta(seconds=1)
    with django_assert_num_queries(1):
        curves_of(made, Window())


def test_of_too_many_points_the_newest_are_read_and_it_is_said(
    as_viewer: Client, rows: Sample, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_series, "POINTS_READ", 1500)
    many_points(rows, now, attempts=4, each=500)
    data = curves(as_viewer, "demo/9001/0")
    assert data["cut"] is True
    assert [one["index"] for one in data["attempts"]][-3:] == [1, 2, 3]
    text = as_viewer.get("/panels/job_curves/demo/9001/0").content.decode()
    assert "Older points are left out" in text


def test_without_a_script_there_is_a_picture_and_a_table(as_viewer: Client, rows: Sample) -> None:
    text = as_viewer.get(reverse("job", args=["demo", 4711, 0])).content.decode()
    panel = text.partition('id="panel-job_curves"')[2].partition("</section>")[0]
    assert panel.count("<polyline") == 2
    assert 'class="band"' in panel
    assert "121, 750 to 870" in panel
    assert "at step 810" in panel, "the slowest step by name"


def test_a_job_without_steps_says_so(as_viewer: Client, rows: Sample) -> None:
    assert "has told no step times yet" in as_viewer.get("/panels/job_curves/demo/4712/0").content.decode()


@pytest.mark.parametrize("value", [0.0, 1e300, -5.0])
def test_strange_values_break_nothing(value: float, as_viewer: Client, rows: Sample) -> None:
    ProgressPoint.objects.update(step_seconds=value)
    bodies.forget()
    curves(as_viewer)
    assert as_viewer.get("/panels/job_curves/demo/4711/0").status_code == 200


def test_one_point_alone_is_drawn(as_viewer: Client, rows: Sample) -> None:
    last = ProgressPoint.objects.order_by("-at")[0]
    ProgressPoint.objects.exclude(pk=last.pk).delete()
    assert "<polyline" in as_viewer.get("/panels/job_curves/demo/4711/0").content.decode()
    assert curves(as_viewer)["attempts"][0]["series"][0]["step"] == [last.step]


def test_the_axis_of_the_curves_is_folded_where_nothing_ran(as_viewer: Client, rows: Sample, now: datetime) -> None:
    made = many_points(rows, now, attempts=2, each=50)
    Attempt.objects.filter(pk=made[0].pk).update(
        started_at=now - timedelta(days=9), ended_at=now - timedelta(days=9) + timedelta(hours=1)
    )
    (fold,) = curves(as_viewer, "demo/9001/0")["folds"]
    assert abs(datetime.fromtimestamp(fold[0] / 1000, UTC) - (now - timedelta(days=9, hours=-1))) < timedelta(
        seconds=1
    )
