"""Can evidence be looked at in the admin, and not be changed?"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from detectors.judging import judge
from detectors.models import Anomaly, Excerpt, Feed, Incident, Verdict
from detectors.reading import read_attempt
from tests.detectors.rows import ECC, Log, again, end, make_attempt, make_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def rows(tmp_path: Path) -> None:
    attempt = make_attempt(make_cluster(tmp_path))
    Log.of(attempt).write(ECC + " <script>alert(1)</script>")
    now = datetime.now(UTC)
    read_attempt(end(attempt, at=now), now)
    judge(again(attempt), now)


@pytest.mark.parametrize("model", [Anomaly, Verdict, Feed, Excerpt, Incident], ids=lambda model: model.__name__)
def test_a_list_and_a_page_to_be_read(rows: None, admin_client: Client, model: Any) -> None:
    name = f"admin:detectors_{model.__name__.lower()}"
    row = model.objects.get() if model is not Anomaly else model.objects.filter(signature="cuda.ecc").get()
    assert admin_client.get(reverse(f"{name}_changelist")).status_code == 200
    page = admin_client.get(reverse(f"{name}_change", args=[row.pk]))
    assert page.status_code == 200 and b"<script>alert(1)" not in page.content
    assert admin_client.get(reverse(f"{name}_add")).status_code == 403
    assert admin_client.post(reverse(f"{name}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
    assert model.objects.filter(pk=row.pk).exists()
