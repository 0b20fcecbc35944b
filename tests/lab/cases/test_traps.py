"""Are the traps complete, do they all say that nothing is to be done, and is each really a trap?"""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from lab.cases.case import NO_KIND, Case, Did, Sort
from lab.cases.traps import TRAPS
from lab.dialects.known import DIALECTS
from lab.real.outside import OUTSIDE as ON_SLURM
from lab.simulate.outside import OUTSIDE
from lab.simulate.play import KINDS, Fault
from lab.texts.lookalikes import GROUPS, filled
from lab.texts.struck import Struck
from lab.texts.texts import TEXTS
from lab.trainer.orders import parse

LOOKALIKES = json.loads(
    (Path(__file__).parents[3] / "detectors" / "catalogue" / "tables" / "lookalikes.json").read_text()
)
PATTERNS = {row["id"]: row["pattern"] for row in LOOKALIKES}
STRUCK = Struck(nodes=("n01", "n02"), gpus=8, host="n01", rank=2, gpu=2, process=23456, job=7, at=1_790_000_000.0)
REQUIRED = {
    "long evaluation": "long-evaluation",
    "long checkpoint save": "long-save",
    "compile pause": "compile-first-step",
    "long data-index build": "index-build",
    "container pull and imports": "slow-start",
    "long checkpoint load": "slow-load",
    "warnings that say error": "start-up-chatter",
    "retries that succeed": "retries-succeed",
    "a user's own requeue": "owner-requeues",
    "an administrator's hold": "administrator-holds",
    "an administrator's drain": "drained-under-a-job",
    "log rotation": "log-rotated",
    "log truncation": "log-truncated",
    "collector stopped": "collector-stopped",
    "scheduler empty": "listing-empty",
    "scheduler slow": "listing-slow",
    "error inside success": "listing-error-inside",
    "scheduler garbled": "listing-garbled",
    "scheduler stale": "listing-stale",
    "controller down": "controller-down",
    "own rule text": "own-patterns",
    "own audit sentences and orders": "own-words-and-orders",
    "names": "names",
    "escape codes and a 10 MB line": "raw-bytes",
    "logging every 50 steps": "log-every-50-steps",
    "buffered output": "buffered-output",
    "step counter goes back": "steps-go-back",
    "job number reused": "number-reused",
    "XID 45 everywhere": "cancelled-with-xid-45",
    "generated samples": "generated-samples",
    "corrected errors": "corrected-errors",
    "port error, then active": "port-back",
    "long evaluation at the end": "last-evaluation",
    "long save at the end": "last-save",
    "between two trainings": "second-training",
    "suspended": "suspended",
    "silent watcher": "watcher-job",
    "requeue chain": "chain-of-requeues",
    "preempted": "preempted",
    "maintenance": "maintenance",
    "clock off": "clock-off",
    "daylight saving": "summer-time",
    "slow file system": "slow-file-system",
    "MoE imbalance": "moe-imbalance",
    "longer sequences": "longer-sequences",
    "early stopping": "early-stopping",
    "opted out": "not-asked-for",
    "beside a crash": "beside-a-crash",
    "zero counters": "zero-counters",
    "one nan": "one-nan",
    "loss scale": "loss-scale-overflows",
}


def _faults(case: Case) -> list[Fault]:
    assert case.simulated is not None
    return [fault for _, play in case.simulated.jobs for fault in play.faults]


@pytest.mark.parametrize("topic", REQUIRED)
def test_every_required_situation_is_there(topic: str) -> None:
    assert REQUIRED[topic] in {case.name for case in TRAPS}


def test_names_are_unique_and_plain() -> None:
    names = Counter(case.name for case in TRAPS)
    assert names.most_common(1)[0][1] == 1
    assert all(re.fullmatch(r"[a-z0-9-]{3,30}", name) for name in names)


@pytest.mark.parametrize("case", TRAPS, ids=str)
def test_the_truth_of_a_trap_is_that_nothing_is_to_be_done(case: Case) -> None:
    assert case.sort is Sort.TRAP
    assert (case.truth.kind, case.truth.layers, case.truth.culprit) == (NO_KIND, (), False)
    assert case.truth.actions[0] is Did.NONE
    assert set(case.truth.actions) <= {Did.NONE, Did.ASK}
    assert case.truth.why and case.says


@pytest.mark.parametrize("case", TRAPS, ids=str)
def test_a_trap_is_put_on_by_something_that_leaves_a_line_of_truth(case: Case) -> None:
    assert case.simulated is not None
    assert _faults(case) or case.simulated.acts


@pytest.mark.parametrize("case", TRAPS, ids=str)
def test_the_simulated_cluster_knows_the_words_of_the_script(case: Case) -> None:
    assert case.simulated is not None
    for fault in _faults(case):
        assert fault.kind in KINDS
        assert fault.kind != "text" or fault.text in TEXTS
    for act in case.simulated.acts:
        assert act.do in OUTSIDE
        assert act.at < case.simulated.seconds
    for _, play in case.simulated.jobs:
        assert play.dialect in DIALECTS


@pytest.mark.parametrize("name", PATTERNS)
def test_every_lookalike_is_spoken_by_a_trap(name: str) -> None:
    spoken = {fault.text for case in TRAPS for fault in _faults(case)}
    lines = [
        filled(line, STRUCK)
        for group, said in GROUPS.items()
        if group in spoken
        for one, line in said
        if one == name
    ]
    assert lines
    for line in lines:
        assert re.search(PATTERNS[name], line), line


def test_no_line_is_an_example_of_the_catalogue() -> None:
    examples = {row["example"].strip() for row in LOOKALIKES}
    spoken = {line.strip() for said in GROUPS.values() for _, raw in said for line in (raw, filled(raw, STRUCK))}
    assert not examples & spoken


def test_the_reduced_run_and_the_representative_ones_are_as_many_as_they_should_be() -> None:
    assert 6 <= sum("simulated" in case.short for case in TRAPS) <= 10
    assert sum("slurm" in case.short for case in TRAPS) == 2
    assert sum(case.representative for case in TRAPS) == 10
    assert all(case.slurm for case in TRAPS if case.representative or "slurm" in case.short)


@pytest.mark.parametrize("case", [case for case in TRAPS if case.slurm], ids=str)
def test_the_trainer_and_the_real_slurm_know_the_words_of_the_script(case: Case) -> None:
    assert case.slurm is not None
    parse(json.dumps(case.slurm.orders))
    assert case.slurm.orders or case.slurm.acts or case.slurm.sbatch
    assert {act.do for act in case.slurm.acts} <= set(ON_SLURM)
