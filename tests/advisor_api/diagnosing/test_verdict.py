"""Has the verdict exactly the fields of the schema, whatever is known?"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from detectors.attribution.calibration import in_words, measured_at
from tests.advisor_api.diagnosing.running import CRASH, ECC, run, steps, text

TOP = {
    "schema_version", "verdict_id", "supersedes", "phase", "mode", "policy_version", "engine_version",
    "catalogue_version", "workload", "detection", "outcome", "root_cause", "affected_entity", "implicated",
    "symptoms", "evidence", "hypotheses", "rules", "vetoed", "missing_evidence", "coverage", "timeline",
    "progress", "history", "recommendation", "input_hash",
}  # fmt: skip
PARTS = {
    "workload": {"cluster", "job_id", "submit_time", "attempt", "cycle", "user", "nodes", "gpus", "framework",
                 "phase"},
    "detection": {"kind", "signal", "event_time", "seen_at", "latency_s", "witnesses"},
    "outcome": {"layer", "domain", "compound", "label"},
    "root_cause": {"signature_id", "text", "fingerprint", "evidence_status", "confidence", "calibration"},
    "affected_entity": {"kind", "id"},
    "coverage": {"ranks_expected", "ranks_seen", "hosts_seen", "log_lag_s", "gaps"},
    "progress": {"last_step", "last_checkpoint", "max_step_before", "advance"},
    "history": {"same_fingerprint", "no_advance", "attempts", "nodes"},
    "recommendation": {"action", "exclude", "backoff_s", "basis", "budget", "guards", "may_act", "why_not"},
}  # fmt: skip
ROWS = {
    "implicated": {"host", "rank", "local_rank", "gpu", "nic", "role", "confidence", "evidence", "excludable"},
    "symptoms": {"signature_id", "role", "count", "first", "last", "hosts"},
    "evidence": {"id", "source", "host", "file", "offset", "line", "event_time", "clock_doubt_s", "quote",
                 "signature_id", "supports", "refutes"},
    "hypotheses": {"id", "layer", "odds", "would_change_if"},
    "rules": {"id", "fired", "because"},
    "timeline": {"t", "what"},
}  # fmt: skip
CALIBRATION = {"table", "share", "at_least", "at_most", "n", "cases", "effective_n"}
ON_A_HOST = [*steps(0, 40), f"gpu-01: {ECC}", "gpu-02: RuntimeError: NCCL communicator was aborted on rank 1."]


def verdict_on(folder: Path, lines: list[str], *more: str) -> Mapping[str, Any]:
    path = folder / "job.log"
    path.write_text(text(lines))
    return run(path, "--json", *more).verdict


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(CRASH, id="a crash"),
        pytest.param(ON_A_HOST, id="a crash on a named host"),
        pytest.param([ECC], id="a fragment without stamps"),
        pytest.param(steps(0, 40), id="healthy"),
        pytest.param([], id="nothing"),
    ],
)
def test_every_field_and_no_other(tmp_path: Path, lines: list[str]) -> None:
    verdict = verdict_on(tmp_path, lines)
    assert set(verdict) == TOP
    assert {name: set(verdict[name]) for name in PARTS} == PARTS
    for name, fields in ROWS.items():
        assert all(set(row) == fields for row in verdict[name]), name
    assert all(set(one["gpu"]) == {"index", "uuid", "pci"} for one in verdict["implicated"])


def test_a_named_host_is_left_out_by_the_default_policy(tmp_path: Path) -> None:
    verdict = verdict_on(tmp_path, ON_A_HOST)
    advised = verdict["recommendation"]
    assert (advised["action"], advised["exclude"], advised["may_act"]) == ("restart_exclude", ["gpu-01"], False)
    assert next(rule for rule in verdict["rules"] if rule["id"] == "policy.named_node")["fired"]


def test_no_time_is_told_where_no_line_shows_one(tmp_path: Path) -> None:
    verdict = verdict_on(tmp_path, [ECC])
    assert "1970" not in json.dumps({name: part for name, part in verdict.items() if name != "inputs"})
    assert verdict["detection"]["event_time"] is None


def test_how_far_behind_the_log_was_is_told_where_the_scheduler_tells_the_end(tmp_path: Path) -> None:
    (tmp_path / "sacct.json").write_text(json.dumps(PLAIN))
    verdict = verdict_on(tmp_path, CRASH, "--scheduler", str(tmp_path / "sacct.json"))
    assert verdict["coverage"]["log_lag_s"] == 61, "the last step is of 10:00:39, the end of 10:01:40"
    assert verdict_on(tmp_path, CRASH)["coverage"]["log_lag_s"] is None
    assert verdict_on(tmp_path, [ECC], "--scheduler", str(tmp_path / "sacct.json"))["coverage"]["log_lag_s"] is None


def test_what_was_measured_stands_beside_the_claim(tmp_path: Path) -> None:
    told = verdict_on(tmp_path, CRASH)["root_cause"]
    assert told["calibration"] == measured_at(told["confidence"]) and set(told["calibration"]) == CALIBRATION
    assert verdict_on(tmp_path, steps(0, 40))["root_cause"]["calibration"] is None
    assert "of those that claim" not in run(tmp_path / "job.log").out, "of healthy text nothing is claimed"
    (tmp_path / "job.log").write_text(text(CRASH))
    page = " ".join(run(tmp_path / "job.log").out.split())
    assert "% sure; in the lab" in page and in_words(told["calibration"]) in page


@pytest.mark.parametrize("told", [None, "measured-2026", {}, {"share": None}, {"share": "<b>", "at_least": 0}])
def test_what_older_verdicts_tell_of_calibration_has_no_words(told: object) -> None:
    assert in_words(told) == ""


def test_the_end_that_nobody_told_is_missing_evidence(tmp_path: Path) -> None:
    assert any("no scheduler state" in one for one in verdict_on(tmp_path, CRASH)["missing_evidence"])


SACCT_22 = {
    "job_id": 4711, "cluster": "alpha", "partition": "main", "user": "trainer", "nodes": "gpu-[01-02]",
    "exit_code": {"status": "ERROR", "return_code": 1}, "state": {"current": "FAILED", "reason": "NonZeroExitCode"},
    "time": {"start": 1777629600, "end": 1777629700, "submission": 1777629000, "elapsed": 100},
}  # fmt: skip
SACCT_24 = {
    **SACCT_22,
    "exit_code": {
        "status": ["ERROR"],
        "return_code": {"set": True, "infinite": False, "number": 1},
        "signal": {"id": {"set": False, "number": 0}, "name": ""},
    },
    "state": {"current": ["FAILED"], "reason": "NonZeroExitCode"},
    "restart_cnt": 2,
}
PLAIN = {"JobIDRaw": "4711", "State": "FAILED", "ExitCode": "1:0", "NodeList": "gpu-[01-02]", "Start": 1777629600,
         "End": 1777629700, "Cluster": "alpha", "User": "trainer"}  # fmt: skip


@pytest.mark.parametrize(
    "told",
    [
        pytest.param({"jobs": [SACCT_22]}, id="sacct --json of Slurm 22"),
        pytest.param({"jobs": [{**SACCT_22, "time": {"start": 1}}, SACCT_24]}, id="of Slurm 24, two attempts"),
        pytest.param(PLAIN, id="the columns of sacct"),
    ],
)
def test_the_scheduler_is_read_in_every_dialect(tmp_path: Path, told: object) -> None:
    (tmp_path / "sacct.json").write_text(json.dumps(told))
    verdict = verdict_on(tmp_path, CRASH, "--scheduler", str(tmp_path / "sacct.json"))
    workload = verdict["workload"]
    assert (workload["job_id"], workload["nodes"], workload["user"]) == ("4711", 2, "trainer")
    assert "scheduler" in verdict["detection"]["witnesses"]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        pytest.param({"jobs": []}, "no job", id="no job"),
        pytest.param({"jobs": [PLAIN, {**PLAIN, "JobIDRaw": "4712"}]}, "several jobs", id="two jobs"),
        pytest.param({"nodes": "gpu-[01"}, "brackets", id="no list of nodes"),
        pytest.param({"nodes": ["$(x)"]}, "no name of a node", id="no node"),
        pytest.param({"end": "soon"}, "is no time", id="no time"),
        pytest.param([], "no job", id="nothing"),
    ],
)
def test_what_the_scheduler_cannot_mean_is_one_sentence(tmp_path: Path, told: object, words: str) -> None:
    (tmp_path / "sacct.json").write_text(json.dumps(told))
    (tmp_path / "job.log").write_text(text(CRASH))
    ran = run(tmp_path / "job.log", "--scheduler", tmp_path / "sacct.json")
    assert (ran.status, ran.out) == (2, "")
    assert words in ran.err
