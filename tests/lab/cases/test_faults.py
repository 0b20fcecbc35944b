"""Is every fault of the issue there, well written, and does it really strike?"""

import json
from collections import Counter
from typing import Any

import pytest

from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from lab.cases.case import NO_KIND, Case, Did, Sort
from lab.cases.catalogue import CASES
from lab.cases.faults import FAULTS
from lab.dialects.known import DIALECTS
from lab.real.outside import OUTSIDE
from lab.simulate import outside
from lab.simulate.logs import MemoryLogs
from lab.simulate.model import Cluster
from lab.simulate.settings import Settings
from lab.texts.texts import TEXTS
from lab.trainer.orders import parse

START = 1_795_968_000.0
REQUIRED = {
    "unhandled exception on one rank": "exception-one-rank",
    "unhandled exception on all": "exception-everywhere",
    "ImportError on one host": "import-error-one-host",
    "bad argument": "bad-argument",
    "shape mismatch": "shape-mismatch",
    "corrupt checkpoint": "corrupt-checkpoint",
    "checkpoint directory full": "checkpoint-folder-full",
    "read-only file system": "read-only-on-one-host",
    "SIGKILL": "sigkill",
    "SIGTERM": "sigterm",
    "SIGSEGV": "sigsegv",
    "SIGABRT": "sigabrt",
    "SIGSTOP on rank 0": "stopped-rank-0",
    "SIGSTOP on another rank": "stopped-other-rank",
    "a held GIL": "held-interpreter",
    "a rank that sleeps before a collective": "late-for-the-collective",
    "an infinite loop that keeps printing": "endless-loop-that-prints",
    "a stuck data loader": "stuck-data-loader",
    "a memory blow-up killed by a limit": "host-memory-limit",
    "shared memory full": "shared-memory-full",
    "port in use": "port-in-use",
    "node daemon killed": "node-daemon-killed",
    "node drained": "node-drained-then-killed",
    "prolog failure": "prolog-fails",
    "task launch failure": "task-launch-fails",
    "time limit": "time-limit",
    "user cancel": "cancelled-by-user",
    "preemption": "preempted-and-requeued",
    "requeue by Slurm itself": "requeued-by-slurm",
    "slow rank, steady": "slow-steady",
    "slow rank, growing": "slow-growing",
    "slow rank, intermittent": "slow-every-second-step",
    "slow file system": "slow-file-server",
    "NaN loss": "nan-loss",
    "data error at one position": "data-error-at-one-position",
    "two coincident faults": "two-gpus-at-once",
    "a bad node that kills job after job": "bad-node-job-after-job",
    "XID: broken hardware": "xid-79-off-the-bus",
    "XID: caused by the application": "xid-31-page-fault",
    "XID: contained": "xid-94-contained",
    "XID: firmware": "xid-119-firmware-hangs",
    "ECC": "xid-48-ecc",
    "NVLink": "xid-74-nvlink",
    "IB completion errors with a true culprit peer": "completion-errors-of-one-peer",
    "port flap": "port-flap",
    "NCCL watchdog cascade of 64 ranks": "cascade-without-one-rank-64",
    "NCCL watchdog cascade of 512 ranks": "cascade-one-behind-512",
    "allocated but idle": "done-and-stays",
    "GPU off the bus": "cascade-of-lost-gpu-512",
}
ENDS = {  # how the first attempt ends when nobody repairs anything; every other case ends FAILED
    "hang": "RUNNING",
    "spin": "RUNNING",
    "reprint": "RUNNING",
    "slow": "RUNNING",
    "nan": "RUNNING",
    "no_save": "RUNNING",
    "oom": "OUT_OF_MEMORY",
    "node_down": "NODE_FAIL",
    "prolog_failure": "REQUEUED",
    "timeout": "TIMEOUT",
    "cancel": "CANCELLED",
    "preempt": "PREEMPTED",
    "requeue": "REQUEUED",
}
BY_NAME = {case.name: case for case in FAULTS}
every_fault = pytest.mark.parametrize("case", FAULTS, ids=str)


@pytest.mark.parametrize("asked", REQUIRED)
def test_what_the_issue_asks_for_is_there(asked: str) -> None:
    assert REQUIRED[asked] in BY_NAME


def test_names_are_unique() -> None:
    assert [name for name, times in Counter(case.name for case in CASES).items() if times > 1] == []


def test_there_are_at_least_36_faults_in_every_group_of_the_card() -> None:
    assert len(FAULTS) >= 36
    assert {case.group for case in FAULTS} == {
        *("program", "signal", "silence", "memory", "storage", "scheduler"),
        *("hardware", "network", "slow", "numbers", "data", "several"),
    }


def test_the_chosen_ones_are_as_many_as_agreed() -> None:
    assert sum(case.representative for case in FAULTS) == 20
    assert sum("simulated" in case.short for case in FAULTS) == 17
    assert sum("slurm" in case.short for case in FAULTS) == 4
    assert all(case.slurm for case in FAULTS if case.representative or "slurm" in case.short)


def test_every_dialect_is_spoken() -> None:
    spoken = {play.dialect for case in FAULTS if case.simulated for _, play in case.simulated.jobs}
    assert spoken == set(DIALECTS)


@every_fault
def test_the_truth_is_complete(case: Case) -> None:
    truth = case.truth
    assert case.sort is Sort.FAULT
    assert truth.kind in {*AnomalyKind, NO_KIND}
    assert set(truth.layers) <= set(Layer)
    assert truth.layers or truth.kind == AnomalyKind.IDLE  # nobody judges it
    assert truth.actions
    assert truth.why and truth.why == truth.why.strip().rstrip(".")
    assert truth.culprit or Did.RESTART_EXCLUDE not in (*truth.actions, *truth.later)
    assert (truth.kind == NO_KIND) <= (truth.actions == (Did.NONE,))


@every_fault
def test_its_texts_and_dialects_exist(case: Case) -> None:
    assert case.simulated is not None
    for _, play in case.simulated.jobs:
        assert play.dialect in DIALECTS
        assert all(not fault.text or fault.text in TEXTS for fault in play.faults)
    orders = case.slurm.orders if case.slurm else ()
    assert all(order["text"] in TEXTS for order in orders if order["kind"] == "text")


@every_fault
def test_it_strikes_in_the_simulated_cluster(case: Case) -> None:
    struck, states = put_on(case)
    assert {fault.kind for fault in struck} == {fault.kind for fault in faults_of(case)}
    assert {fault.text for fault in struck} == {fault.text for fault in faults_of(case)}
    last = faults_of(case)[-1]
    ends = ENDS.get(last.kind, "RUNNING" if last.ends == "hang" else "FAILED")
    assert states == [ends] * len(states)


def faults_of(case: Case) -> list[Any]:
    return [fault for _, play in case.simulated.jobs for fault in play.faults] if case.simulated else []


def put_on(case: Case) -> tuple[list[Any], list[str]]:
    """The faults that struck, and how the first attempt of each job ended, with nobody there to act.

    Of an array, of those tasks that were struck.
    """
    script, struck, jobs = case.simulated, [], []
    assert script is not None
    cluster = Cluster(START, Settings(**{"min_job_age_seconds": 100_000, **script.settings}), MemoryLogs())
    numbers: set[int] = set()
    cluster.on_strike(lambda number, attempt, fault, *where: (struck.append(fault), numbers.add(number)))
    moments: list[tuple[float, Any]] = [*script.jobs, *((act.at, act) for act in script.acts)]
    for at, what in sorted(moments, key=lambda one: one[0]):
        cluster.advance(START + at)
        if hasattr(what, "do"):
            outside.act(cluster, what.do, what.words, jobs)
        else:
            jobs.append(cluster.submit(what))
    cluster.advance(START + script.seconds)
    told = [cluster.jobs[number] for number in jobs]
    return struck, [job.rows[0].state for job in told if job.number in numbers or not job.play.array_job]


@every_fault
def test_the_trainer_understands_its_orders(case: Case) -> None:
    orders = case.slurm.orders if case.slurm else ()
    read = parse(json.dumps([{**order, "host": "n01"} if "host" in order else order for order in orders]))
    assert [order.kind for order in read] == [order["kind"] for order in orders]
    acts = case.slurm.acts if case.slurm else ()
    assert {act.do for act in acts} <= set(OUTSIDE)
