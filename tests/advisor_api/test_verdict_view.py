"""Is a verdict served with exactly the fields of the schema, filled from what is stored?"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from advisor_api.deciding import decide
from advisor_api.verdict_view import whole_verdict
from detectors.judging import judge
from detectors.models import Verdict
from detectors.reading import read_attempt
from tests.advisor_api.diagnosing.test_verdict import PARTS, ROWS, TOP
from tests.advisor_api.world import a_cluster, a_job, a_verdict, an_attempt
from tests.detectors.rows import ECC, Log, again, end, make_attempt, make_cluster, make_nodes, megatron

pytestmark = pytest.mark.django_db
ECHO = "Response: RuntimeError: CUDA error: an illegal memory access was encountered"
MAP = (
    "{1}:983:1261 [{2}] NCCL INFO ncclCommInitRankConfig comm 0x55f0aa rank {0} nranks 4 cudaDev {2} nvmlDev {2} "
    "busId 9d000 commId 0x1a2b - Init COMPLETE"
)


def exact(whole: dict[str, Any]) -> None:
    """Every field and no other."""
    assert set(whole) == TOP
    assert {name: set(whole[name]) for name in PARTS} == PARTS
    for name, fields in ROWS.items():
        assert all(set(row) == fields for row in whole[name]), name
    assert all(set(one["gpu"]) == {"index", "uuid", "pci"} for one in whole["implicated"])


def judged(folder: Path) -> Verdict:
    attempt = make_attempt(make_cluster(folder))
    make_nodes(attempt.job.cluster)
    start = datetime.now(UTC) - timedelta(seconds=8)
    nodes = again(attempt).nodes
    maps = [MAP.format(rank, nodes[rank // 2], rank % 2) for rank in range(4)]
    steps = [megatron(n, start + timedelta(seconds=n)) for n in range(1, 6)]
    Log.of(attempt).write(*maps, *steps, ECHO, ECHO, ECC.replace("n03", nodes[1]))
    read_attempt(again(attempt), datetime.now(UTC))
    end(attempt, at=datetime.now(UTC))
    for seconds in (0.5, 1.5, 6):
        read_attempt(again(attempt), datetime.now(UTC) + timedelta(seconds=seconds))
    verdict = judge(again(attempt), datetime.now(UTC))
    assert verdict is not None
    return Verdict.objects.select_related("attempt__job__cluster", "supersedes").get(pk=verdict.pk)


def test_a_verdict_is_filled_from_what_is_stored(tmp_path: Path) -> None:
    verdict = judged(tmp_path)
    whole = whole_verdict(verdict)
    exact(whole)
    assert whole["vetoed"] == [{"look_alike": "B37", "count": 2}]
    assert (whole["workload"]["framework"], whole["workload"]["gpus"]) == ("megatron", 4)
    assert (whole["coverage"]["ranks_expected"], whole["coverage"]["ranks_seen"]) == (6, 4)
    assert (whole["phase"], whole["verdict_id"]) == ("fast", str(verdict.uuid))
    assert whole["detection"]["latency_s"] is not None
    assert {"h1"} <= {hypothesis for one in whole["evidence"] for hypothesis in one["supports"]}
    assert whole["timeline"][0]["what"] == "started"
    assert whole["recommendation"]["why_not"] == "no advice was given"


@pytest.mark.parametrize("mode", ["monitor", "approve", "action"])
def test_with_an_advice_it_says_what_the_policy_made_of_it(mode: str) -> None:
    verdict = a_verdict(an_attempt(a_job(a_cluster(mode=mode))))
    assert decide(verdict, verdict.judged_at + timedelta(seconds=1)) is not None
    whole = whole_verdict(verdict)
    exact(whole)
    assert whole["mode"] == ("observe" if mode == "monitor" else mode)
    advised = whole["recommendation"]
    assert (advised["action"], advised["exclude"]) == ("restart_exclude", ["n03"])
    assert advised["may_act"] == (mode == "action") and (advised["why_not"] is None) == (mode == "action")
    assert advised["budget"] == {"left": 3, "of": 3}


@pytest.mark.parametrize("body", [{}, {"workload": 3, "root_cause": None}], ids=["empty", "of another shape"])
def test_a_body_of_another_version_is_served_without_what_it_lacks(body: dict[str, Any]) -> None:
    verdict = a_verdict(an_attempt(a_job(a_cluster())))
    Verdict.objects.filter(pk=verdict.pk).update(body=body)
    verdict.refresh_from_db()
    exact(whole_verdict(verdict))
