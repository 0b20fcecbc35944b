"""Does any secret of a log reach any table?"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.apps import apps

from audit.masking import masked
from audit.models import AuditEvent
from detectors.judging import judge
from detectors.models import Anomaly, Excerpt, Verdict
from detectors.quoted_lines import line_numbers
from detectors.reading import read_attempt
from tests.detectors.rows import Log, again, end, make_attempt, make_cluster
from workloads.models import Attempt

pytestmark = pytest.mark.django_db
SECRET = "hunter2hunter2"  # what must not be found
LINES = (
    f"export WANDB_API_KEY={SECRET}",
    "step 1 loss 2.0",
    f"GET https://anna:{SECRET}@example.org/model",
    "-----BEGIN RSA PRIVATE KEY-----",
    f"MII{SECRET}",
    "-----END RSA PRIVATE KEY-----",
    "Traceback (most recent call last):",
    '  File "train.py", line 3, in <module>',
    f"    login(token='{SECRET}')",
    f"ValueError: no such user: password={SECRET} on n03",
    f"[rank0]: RuntimeError: CUDA error: uncorrectable ECC error encountered, Authorization: Bearer {SECRET}",
    f"srun: error: n03: task 0: Exited with exit code 1 --password {SECRET}",
)


def everything() -> Iterator[str]:
    """Every row of every table of ours, as text."""
    for room in ("workloads", "detectors", "advisor_api", "audit"):
        for model in apps.get_app_config(room).get_models():
            for row in model._default_manager.values():
                yield f"{model._meta.label} {row}"


@pytest.mark.parametrize("together", [True, False], ids=["read at once", "read line by line"])
def test_none_of_them_reaches_a_table(tmp_path: Path, together: bool) -> None:
    attempt = make_attempt(make_cluster(tmp_path))
    log, now = Log.of(attempt), datetime.now(UTC)
    for lines in [LINES] if together else [(line,) for line in LINES]:
        log.write(*lines)
        read_attempt(again(attempt), now)
    attempt = end(attempt, at=now)
    for seconds in (1, 7):
        read_attempt(again(attempt), now + timedelta(seconds=seconds))
    Attempt.objects.filter(pk=attempt.pk).update(judge_due_at=now)
    verdict = judge(again(attempt), now + timedelta(seconds=30))
    assert Anomaly.objects.exists() and Verdict.objects.exists() and AuditEvent.objects.exists()
    assert not [row for row in everything() if SECRET in row]
    copy = Excerpt.objects.get(why="end")
    assert len(copy.text) == len("\n".join(LINES)) + 1
    assert verdict is not None
    rows = [row for row in verdict.body["evidence"] if str(row.get("file", "")).endswith(".out")]
    numbers = line_numbers(verdict)
    assert rows and all((row["file"], row["offset"]) in numbers for row in rows), "quotes are found in the copy"


def test_detectors_see_the_line_as_it_was_and_store_it_masked(tmp_path: Path) -> None:
    """Of both lines the mask takes the very words by which they are known."""
    attempt = make_attempt(make_cluster(tmp_path))
    error = "CUDA error: uncorrectable ECC error encountered"
    step = "iteration 120/2000 | lm loss: 2.10"
    lines = (f"[rank0]: RuntimeError: password='{error}'", f"secret='{step}'")
    assert not [line for line in lines if error in masked(line) or step in masked(line)]
    Log.of(attempt).write(*lines)
    read_attempt(again(attempt), datetime.now(UTC))
    found = Anomaly.objects.get()
    assert "ecc" in found.signature.lower()
    assert again(attempt).last_step == 120
    assert found.evidence and not [row for row in everything() if "uncorrectable" in row and "password=" in row]
