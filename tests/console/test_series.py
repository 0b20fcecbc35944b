"""Does a job's page tell its throughput and where its newest checkpoint is, whatever a log calls it?"""

from datetime import datetime, timedelta

import pytest
from django.test import Client

from console.job_rows import throughput_of
from tests.console.sample import Sample
from workloads.models import Attempt
from workloads.progress_models import Checkpoint, ProgressPoint

SAID: list[tuple[str, list[tuple[float | None, float | None]], str]] = [
    ("nothing", [], ""),
    ("points without it", [(None, None)], ""),
    ("the newest that tells it", [(1.0, None), (8012.0, 400.12), (None, None)], "8,012 tokens/s, 400.1 TFLOP/s"),
    ("of a whole job", [(850_000.0, None)], "850,000 tokens/s"),
    ("one alone", [(None, 401.2)], "401.2 TFLOP/s"),
]


@pytest.mark.parametrize(("values", "words"), [case[1:] for case in SAID], ids=[case[0] for case in SAID])
def test_throughput_in_words(values: list[tuple[float | None, float | None]], words: str) -> None:
    points = [ProgressPoint(tokens_per_second=tokens, tflop_per_second=tflop) for tokens, tflop in values]
    assert throughput_of(points) == words


def test_the_page_of_a_job_shows_both(as_viewer: Client, rows: Sample, now: datetime) -> None:
    newest = Attempt.objects.filter(job=rows.recovered).order_by("-index")[0]
    ProgressPoint.objects.create(attempt=newest, at=now, step=871, tokens_per_second=8012.0)
    for place in ("/ckpt/old", "/ckpt/<script>alert(1)</script>"):
        Checkpoint.objects.create(attempt=newest, at=now, step=850, deed="saved", place=place)
    Checkpoint.objects.create(attempt=newest, at=now, step=500, deed="loaded", place="/ckpt/loaded")
    Attempt.objects.filter(pk=newest.pk).update(changed_at=now + timedelta(seconds=1))
    page = as_viewer.get("/panels/job_summary/demo/4711/0").content.decode()
    assert "8,012 tokens/s" in page
    assert "/ckpt/&lt;script&gt;" in page
    assert "<script>" not in page and "/ckpt/old" not in page and "/ckpt/loaded" not in page
