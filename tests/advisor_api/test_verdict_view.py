"""Is a verdict served with exactly the fields of the schema, filled from what is stored?"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models import Value
from django.db.models.functions import Concat

from advisor_api.deciding import decide
from advisor_api.policy.guards import GUARDS
from advisor_api.verdict_guards import guards_of
from advisor_api.verdict_view import whole_verdict
from detectors.judging import judge
from detectors.models import Excerpt, Feed, Verdict
from detectors.reading import read_attempt
from tests.advisor_api.diagnosing.test_verdict import CALIBRATION, PARTS, ROWS, TOP
from tests.advisor_api.world import a_cluster, a_job, a_policy, a_verdict, an_attempt, culprit
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
    assert whole["recommendation"]["guards"] == [], "nothing was decided yet"
    assert whole["workload"]["cycle"] == 0 and whole["coverage"]["log_lag_s"] >= 0
    assert set(whole["root_cause"]["calibration"]) == CALIBRATION


def test_the_line_of_a_quote_is_told_where_the_stored_copy_begins_at_the_first_byte(tmp_path: Path) -> None:
    verdict = judged(tmp_path)
    lines = (tmp_path / "slurm-1000.out").read_text().split("\n")
    rows = whole_verdict(verdict)["evidence"]
    assert rows and all(lines[row["line"] - 1].startswith(row["quote"]) for row in rows)
    Excerpt.objects.filter(attempt=verdict.attempt).update(text=Concat(Value("x"), "text"))
    assert [row["line"] for row in whole_verdict(verdict)["evidence"]] == [None] * len(rows), "it says other text"
    Excerpt.objects.filter(attempt=verdict.attempt).delete()
    assert [row["line"] for row in whole_verdict(verdict)["evidence"]] == [None] * len(rows), "it was forgotten"


def test_how_far_behind_the_log_was_is_told_as_long_as_its_reading_is_known(tmp_path: Path) -> None:
    verdict = judged(tmp_path)
    ended_at = verdict.attempt.ended_at
    assert ended_at is not None
    for seconds, lag in ((40.0, 40.0), (-5.0, 0.0)):
        Feed.objects.filter(attempt=verdict.attempt).update(moved_at=ended_at - timedelta(seconds=seconds))
        assert whole_verdict(verdict)["coverage"]["log_lag_s"] == lag
    Feed.objects.filter(attempt=verdict.attempt).delete()
    assert whole_verdict(verdict)["coverage"]["log_lag_s"] is None


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
    assert advised["guards"][:4] == ["max_nodes:ok", "job_need:ok", "partition_share:ok", "user_share:ok"]
    assert [one.partition(":")[0] for one in advised["guards"][4:]] == [rule.name for rule in GUARDS]
    assert {one.partition(":")[2] for one in advised["guards"]} == {"ok"}


GUARDED = [
    ("one node too many", {"max_nodes_per_incident": 1}, ("n02", "n03"), 60, "max_nodes:stopped"),
    ("too many of the partition", {"min_exclusions": 0, "max_excluded_share": 0.01}, ("n03",), 20,
     "partition_share:stopped"),
    ("the job needs it", {}, ("n03",), 3, "job_need:stopped"),
    ("its own log alone says so", {}, ("n02", "n03"), 40, "user_share:stopped"),
]  # fmt: skip


@pytest.mark.parametrize(("policy", "named", "nodes", "guard"), [one[1:] for one in GUARDED],
                         ids=[one[0] for one in GUARDED])  # fmt: skip
def test_the_cap_that_forbids_an_exclusion_is_a_guard_that_stopped(
    policy: dict[str, Any], named: tuple[str, ...], nodes: int, guard: str
) -> None:
    cluster = a_cluster(nodes=nodes)
    if policy:
        a_policy(policy, cluster)
    verdict = a_verdict(an_attempt(a_job(cluster)), implicated=[culprit(host) for host in named])
    advice = decide(verdict, verdict.judged_at + timedelta(seconds=1))
    assert advice is not None and "n03" not in advice.excluded_nodes
    told = whole_verdict(verdict)["recommendation"]["guards"]
    assert [one for one in told if one.endswith(":stopped")] == [guard]


def test_a_guard_that_left_it_alone_is_told() -> None:
    job = a_job(a_cluster(), name="rekindle-watch")
    verdict = a_verdict(an_attempt(job))
    assert decide(verdict, verdict.judged_at + timedelta(seconds=1)) is None
    told = whole_verdict(verdict)["recommendation"]["guards"]
    assert "own_job:stopped" in told and "scheduler_unseen:ok" in told


@pytest.mark.parametrize("facts", [{}, {"named": 3}, {"kind": "flood"}], ids=["empty", "another shape", "unknown"])
def test_an_advice_of_another_version_has_no_caps(facts: dict[str, Any]) -> None:
    verdict = a_verdict(an_attempt(a_job(a_cluster())))
    advice = decide(verdict, verdict.judged_at + timedelta(seconds=1))
    assert advice is not None
    advice.facts, advice.trace, advice.judged_by = facts, ["nonsense", {"rule": "own_job", "applied": True}], []
    assert guards_of(verdict, advice) == ["own_job:stopped"]


@pytest.mark.parametrize("body", [{}, {"workload": 3, "root_cause": None}], ids=["empty", "of another shape"])
def test_a_body_of_another_version_is_served_without_what_it_lacks(body: dict[str, Any]) -> None:
    verdict = a_verdict(an_attempt(a_job(a_cluster())))
    Verdict.objects.filter(pk=verdict.pk).update(body=body)
    verdict.refresh_from_db()
    exact(whole_verdict(verdict))
