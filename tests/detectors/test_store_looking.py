"""Is whoever sets up a log store told what it shows, in one sentence?"""

import pytest

from detectors.store_looking import look_at_store
from detectors.stores.store import Answer
from tests.detectors.stores.pretend import Pretend
from tests.detectors.test_store_reading import at, ns, stored_cluster

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("kind", ["loki", "victorialogs"])
@pytest.mark.parametrize(
    ("count", "labels", "mapped", "sentence"),
    [
        (0, {}, "job_id", "has no line of any job in the last 5 minutes"),
        (3, {"job_id": "7"}, "job_id", "gave 3 lines of the last 5 minutes, 3 of them with a job's number"),
        (200, {"job_id": "7"}, "job_id", "gave 100 or more lines"),
        (1, {"job_id": "7"}, "slurm_job", "none with the label 'slurm_job'; one of them has: "),
    ],
)
def test_what_the_store_shows(kind: str, count: int, labels: dict[str, str], mapped: str, sentence: str) -> None:
    pretend = Pretend(kind)
    for number in range(count):
        pretend.push(ns(at(-250 + number)), "a line", labels)
    cluster = stored_cluster(kind, log_store_labels={"job_id": mapped, "node": "node"})
    assert sentence in look_at_store(cluster, at(), pretend.answer)


def test_a_store_that_refuses() -> None:
    pretend = Pretend("loki", fails=Answer(401, b"no org id"))
    said = look_at_store(stored_cluster("loki"), at(), pretend.answer)
    assert said.startswith("The log store cannot be seen: Loki answered 401") and said.endswith(
        "every job is blind."
    )
