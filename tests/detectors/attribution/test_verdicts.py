"""Named cases: which verdict do these facts lead to?"""

from dataclasses import dataclass
from typing import Any

import pytest

from detectors.attribution.action import VerdictAction
from detectors.attribution.attributing import attribute
from detectors.attribution.evidence_status import EvidenceStatus
from detectors.attribution.facts import Facts, NodeFacts
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from schedulers.states import JobState
from tests.detectors.attribution.building import (
    FOUR,
    NOW,
    aborts,
    at,
    attempt,
    earlier,
    ecc,
    facts,
    never_stepped,
    quote,
    symptom,
)

RESTART, EXCLUDE, STOP = VerdictAction.RESTART, VerdictAction.RESTART_EXCLUDE, VerdictAction.STOP
NONE, HOLD, ASK = VerdictAction.NONE, VerdictAction.HOLD, VerdictAction.ASK
LOST_N03 = tuple(NodeFacts(name, ("down", "not_responding") if name == "n03" else ("idle",)) for name in FOUR)
RANKS = tuple((rank, FOUR[rank // 2]) for rank in range(8))


@dataclass(frozen=True)
class Case:
    """Facts and what must come out: the action, the culprits, the layer and perhaps signature and sentence."""

    name: str
    facts: Facts
    action: VerdictAction
    culprits: tuple[str, ...] = ()
    layer: Layer = Layer.UNKNOWN
    signature: str = ""
    sentence: str = ""


def hang(signature: str = "hang.silence", basis: str = "step", **changes: Any) -> Any:
    values = {"kind": AnomalyKind.HANG, "sentence": "No step for 90 s after step 120", "before_end": 12}
    return symptom(signature, **{**values, "layer": Layer.UNKNOWN, "basis": basis, "key": "hang", **changes})


def slow(**changes: Any) -> Any:
    values = {"kind": AnomalyKind.STRAGGLER, "sentence": "A step takes 15 s instead of 10 s", "basis": "step"}
    return symptom("straggler.steps", Layer.UNKNOWN, Role.CANDIDATE, **{**values, **changes})


def not_a_number(**changes: Any) -> Any:
    values = {"kind": AnomalyKind.NAN, "sentence": "The loss is not a number"}
    return symptom("num.loss_nan_value", Layer.APPLICATION, Role.CANDIDATE, **{**values, **changes})


def live(**changes: Any) -> Any:
    values = {"state": JobState.RUNNING, "ended_at": None, "exit_code": None, "exit_signal": None, "reason": ""}
    return attempt(**{**values, **changes})


def never_stepped_live(**changes: Any) -> Any:
    return never_stepped(**{"state": JobState.RUNNING, "ended_at": None, "exit_code": None, **changes})


HARDWARE = (
    Case(
        "an ECC error names its host, the aborts of all others are victims",
        facts(ecc("n03", sentence="Uncorrectable ECC error on n03, 17 times.", count=17), aborts()),
        EXCLUDE,
        ("n03",),
        Layer.HARDWARE_GPU,
        "cuda.ecc",
        "Uncorrectable ECC error on n03",
    ),
    Case(
        "a rank becomes a host by the rank map",
        facts(ecc(ranks=(5,)), aborts(), ranks=RANKS),
        EXCLUDE,
        ("n03",),
        Layer.HARDWARE_GPU,
        sentence="Uncorrectable ECC error on n03",
    ),
    Case(
        "an ECC error without host borrows that of the first failed task of srun",
        facts(
            ecc(),
            symptom(
                "slurm.task_exit",
                Layer.FRAMEWORK,
                Role.CONFIRM,
                4,
                nodes=("n02", "n03"),
                evidence=(
                    quote("srun: error: n03: task 2: Exited with exit code 1", "n03", offset=10),
                    quote("srun: error: n02: task 1: Exited with exit code 1", "n02", offset=90),
                ),
            ),
        ),
        EXCLUDE,
        ("n03",),
        Layer.HARDWARE_GPU,
    ),
    Case(
        "an ECC error without host borrows that of torchrun's block",
        facts(ecc(), symptom("elastic.block_host", Layer.FRAMEWORK, Role.CONFIRM, 4, nodes=("n04",))),
        EXCLUDE,
        ("n04",),
        Layer.HARDWARE_GPU,
    ),
    Case(
        "torchrun's block names a victim when the watchdog spoke before it",
        facts(
            ecc(),
            symptom("pg.watchdog_timeout", Layer.FRAMEWORK, Role.SECONDARY, 6),
            symptom("elastic.block_host", Layer.FRAMEWORK, Role.CONFIRM, 4, nodes=("n04",)),
        ),
        RESTART,
        (),
        Layer.HARDWARE_GPU,
    ),
    Case(
        "a line that names a host outside the job names nobody",
        facts(ecc("n99")),
        RESTART,
        (),
        Layer.HARDWARE_GPU,
    ),
    Case(
        "a long host name is its node",
        facts(ecc("n03.cluster.local")),
        EXCLUDE,
        ("n03",),
        Layer.HARDWARE_GPU,
    ),
    Case(
        "line and rank map name different hosts: both kept, neither left out",
        facts(ecc("n01", ranks=(5,), confidence=0.95), ranks=RANKS),
        RESTART,
        ("n01", "n03"),
        Layer.HARDWARE_GPU,
    ),
    Case(
        "a fatal XID just before a CUDA error is the cause",
        facts(
            symptom("xid.79", Layer.HARDWARE_GPU, before_end=20, nodes=("n02",), confidence=0.99),
            symptom("cuda.launch_failure", Layer.APPLICATION, Role.CANDIDATE, 8, nodes=("n02",), confidence=0.5),
        ),
        EXCLUDE,
        ("n02",),
        Layer.HARDWARE_GPU,
        "xid.79",
    ),
    Case(
        "a fatal XID on every node of the job is no node's fault",
        facts(symptom("xid.79", Layer.HARDWARE_GPU, nodes=FOUR), aborts()),
        RESTART,
        (),
        Layer.FRAMEWORK_COMM,
    ),
    Case(
        "XID 45 on every GPU after a kill is no fault at all",
        facts(
            symptom("xid.45", Layer.FRAMEWORK, Role.SECONDARY, nodes=FOUR),
            attempt=attempt(state=JobState.CANCELLED, exit_code=0),
        ),
        NONE,
        (),
        Layer.SCHEDULER,
    ),
    Case(
        "three hosts of four with the same message are suspects at most",
        facts(ecc("n01", "n02", "n03")),
        RESTART,
        (),
        Layer.HARDWARE_GPU,
    ),
    Case(
        "an ECC error long before the last progress explains nothing",
        facts(ecc("n03", before_end=1500), aborts()),
        RESTART,
        (),
        Layer.FRAMEWORK_COMM,
    ),
    Case(
        "the job trained on after the message: it was not fatal",
        facts(ecc("n03", before_end=60, step=110), aborts()),
        RESTART,
        (),
        Layer.FRAMEWORK_COMM,
    ),
    Case(
        "a contained memory error once: the same nodes again",
        facts(symptom("xid.94", Layer.HARDWARE_GPU, nodes=("n02",), confidence=0.85)),
        RESTART,
        ("n02",),
        Layer.HARDWARE_GPU,
    ),
    Case(
        "a contained memory error on the same host again: without it",
        facts(
            symptom("xid.94", Layer.HARDWARE_GPU, nodes=("n02",), confidence=0.85),
            earlier=(earlier(signature="xid.94", culprits=("n02",)),),
            attempt=attempt(index=1),
        ),
        EXCLUDE,
        ("n02",),
        Layer.HARDWARE_GPU,
    ),
    Case(
        "a container that cannot be mounted: stop",
        facts(
            symptom("pyxis.mount", Layer.SCHEDULER, nodes=FOUR, confidence=0.85), aborts(), attempt=never_stepped()
        ),
        STOP,
        (),
        Layer.SCHEDULER,
    ),
    Case(
        "one broken link suspects, and leaves nobody out",
        facts(
            symptom("nccl.ib.completion", Layer.HARDWARE_NETWORK, Role.CANDIDATE, nodes=("n01",), confidence=0.8),
            aborts(),
        ),
        RESTART,
        (),
        Layer.HARDWARE_NETWORK,
    ),
)

SCHEDULER = (
    Case(
        "a node failure names the node that is down now, not the first of the allocation",
        facts(
            symptom("slurm.node_failure", Layer.SCHEDULER, nodes=("n01",)),
            attempt=attempt(state=JobState.NODE_FAIL, reason="NodeDown"),
            nodes=LOST_N03,
        ),
        EXCLUDE,
        ("n03",),
        Layer.HARDWARE_HOST,
        sentence="The scheduler lost a node on n03",
    ),
    Case(
        "a node failure names the nodes that srun was told of, where nobody asks for their states",
        facts(
            symptom("slurm.node_failure", Layer.HARDWARE_HOST, nodes=()),
            symptom("slurm.node_failure_on", Layer.HARDWARE_HOST, before_end=7, nodes=("n03",)),
            attempt=attempt(state=JobState.NODE_FAIL, reason="NodeDown"),
            nodes=(),
        ),
        EXCLUDE,
        ("n03",),
        Layer.HARDWARE_HOST,
        sentence="The scheduler lost a node on n03",
    ),
    Case(
        "a node failure while every node is up again names nobody",
        facts(attempt=attempt(state=JobState.NODE_FAIL)),
        RESTART,
        (),
        Layer.HARDWARE_HOST,
    ),
    Case(
        "a drained node is not a lost node",
        facts(
            attempt=attempt(state=JobState.NODE_FAIL),
            nodes=(NodeFacts("n02", ("idle", "drain"), reason="maintenance"),),
        ),
        RESTART,
        (),
        Layer.HARDWARE_HOST,
    ),
    Case(
        "connection errors to a lost node are victims",
        facts(
            symptom("nccl.ib.completion", Layer.HARDWARE_NETWORK, Role.CANDIDATE, 30, nodes=("n01",)),
            attempt=attempt(state=JobState.NODE_FAIL),
            nodes=LOST_N03,
        ),
        EXCLUDE,
        ("n03",),
        Layer.HARDWARE_HOST,
    ),
    Case(
        "a cancel is the user's wish",
        facts(aborts(), attempt=attempt(state=JobState.CANCELLED, exit_code=0)),
        NONE,
        (),
        Layer.SCHEDULER,
        "slurm.state.cancelled",
        "Cancelled",
    ),
    Case(
        "a cancel after broken hardware is a reaction, and still no restart",
        facts(ecc("n03", before_end=100), attempt=attempt(state=JobState.CANCELLED, last_step_at=at(110))),
        NONE,
        ("n03",),
        Layer.HARDWARE_GPU,
    ),
    Case(
        "the exceptions that a cancel causes are its victims",
        facts(
            symptom("slurm.cancelled", Layer.SCHEDULER, Role.SECONDARY, 20),
            symptom("py.syntax", Layer.APPLICATION, before_end=10, nodes=("n01",)),
            attempt=attempt(state=JobState.CANCELLED),
        ),
        NONE,
        (),
        Layer.SCHEDULER,
    ),
    Case(
        "a time limit is no failure",
        facts(aborts(), attempt=attempt(state=JobState.TIMEOUT)),
        NONE,
        (),
        Layer.SCHEDULER,
    ),
    Case(
        "a preemption is no failure",
        facts(attempt=attempt(state=JobState.PREEMPTED)),
        NONE,
        (),
        Layer.SCHEDULER,
    ),
    Case(
        "a job that hung until its time limit hung, and the limit still owns it",
        facts(hang(before_end=900), attempt=attempt(state=JobState.TIMEOUT, last_step_at=at(900))),
        NONE,
        (),
        Layer.UNKNOWN,
        sentence="No step for 90 s after step 120",
    ),
    Case(
        "requeued already",
        facts(ecc("n03"), attempt=attempt(state=JobState.REQUEUED)),
        NONE,
        ("n03",),
        Layer.HARDWARE_GPU,
    ),
)

APPLICATION = (
    Case(
        "an import error on all hosts: stop",
        facts(symptom("py.import", Layer.USER, nodes=FOUR), attempt=never_stepped()),
        STOP,
        (),
        Layer.USER,
    ),
    Case(
        "an import error on so many hosts that not all are listed: stop",
        facts(
            symptom("py.import", Layer.USER, nodes=tuple(f"g{n:03}" for n in range(32)), count=512),
            attempt=never_stepped(nodes=tuple(f"g{n:03}" for n in range(64))),
        ),
        STOP,
        (),
        Layer.USER,
    ),
    Case(
        "an import error on one host of four: that host's environment",
        facts(symptom("py.import", Layer.USER, nodes=("n02",)), attempt=never_stepped()),
        EXCLUDE,
        ("n02",),
        Layer.USER,
    ),
    Case(
        "an import error on the only host: stop",
        facts(symptom("py.import", Layer.USER), attempt=never_stepped(nodes=("n01",))),
        STOP,
        ("n01",),
        Layer.USER,
    ),
    Case(
        "wrong arguments: stop",
        facts(symptom("py.argparse", Layer.USER, confidence=0.97), attempt=never_stepped(exit_code=2)),
        STOP,
        (),
        Layer.USER,
    ),
    Case(
        "a checkpoint of another model: stop",
        facts(symptom("ckpt.mismatch", Layer.USER, confidence=0.92, nodes=("n01", "n02")), attempt=never_stepped()),
        STOP,
        ("n01", "n02"),
        Layer.USER,
    ),
    Case(
        "a quota error before a cascade of 500 aborts with clocks 3 s apart: quota, stop",
        facts(
            symptom("fs.edquot", Layer.SYSTEM_FILESYSTEM, before_end=5, nodes=("n01",), confidence=0.95),
            aborts(500, before_end=8),
        ),
        STOP,
        ("n01",),
        Layer.SYSTEM_FILESYSTEM,
        "fs.edquot",
    ),
    Case(
        "a full shared disk told by the one that saves: stop",
        facts(
            symptom(
                "fs.enospc",
                Layer.SYSTEM_FILESYSTEM,
                nodes=("n01",),
                confidence=0.85,
                evidence=(quote("OSError: [Errno 28] No space left on device: '/shared/ckpt/120'", "n01"),),
            )
        ),
        STOP,
        ("n01",),
        Layer.SYSTEM_FILESYSTEM,
    ),
    Case(
        "a full folder of the node itself: without that node",
        facts(
            symptom(
                "fs.enospc",
                Layer.SYSTEM_FILESYSTEM,
                nodes=("n02",),
                confidence=0.85,
                evidence=(quote("OSError: [Errno 28] No space left on device: '/tmp/cache'", "n02"),),
            )
        ),
        EXCLUDE,
        ("n02",),
        Layer.SYSTEM_FILESYSTEM,
    ),
    Case(
        "CUDA out of memory on all ranks before the first step: stop",
        facts(
            symptom("cuda.oom", Layer.APPLICATION, ranks=tuple(range(8)), confidence=0.85),
            attempt=never_stepped(),
            ranks=RANKS,
        ),
        STOP,
        (),
        Layer.APPLICATION,
    ),
    Case(
        "CUDA out of memory on one rank at step 4000: once more",
        facts(
            symptom("cuda.oom", Layer.APPLICATION, ranks=(5,), confidence=0.85, step=4000),
            attempt=attempt(last_step=4000),
            ranks=RANKS,
        ),
        RESTART,
        ("n03",),
        Layer.APPLICATION,
    ),
    Case(
        "an illegal memory access with XID 13 is the program's",
        facts(
            symptom("xid.13", Layer.APPLICATION, Role.CANDIDATE, 9, nodes=("n02",), confidence=0.6),
            symptom("cuda.illegal_access", Layer.APPLICATION, Role.CANDIDATE, 8, nodes=("n02",), confidence=0.6),
        ),
        RESTART,
        ("n02",),
        Layer.APPLICATION,
        "cuda.illegal_access",
    ),
    Case(
        "the same illegal access twice on another host is still the program's",
        facts(
            symptom("cuda.illegal_access", Layer.APPLICATION, Role.CANDIDATE, nodes=("n02",), confidence=0.6),
            earlier=(earlier(signature="cuda.illegal_access", culprits=("n01",)),),
            attempt=attempt(index=1),
        ),
        RESTART,
        ("n02",),
        Layer.APPLICATION,
    ),
    Case(
        "an exception on one rank before the cascade of the others",
        facts(
            symptom("py.syntax", Layer.APPLICATION, before_end=8, ranks=(2,), confidence=0.8),
            aborts(before_end=5),
            ranks=RANKS,
        ),
        RESTART,
        ("n02",),
        Layer.APPLICATION,
        "py.syntax",
    ),
    Case(
        "out of memory by the scheduler's word explains the killed worker",
        facts(
            symptom("slurm.task_signal", Layer.FRAMEWORK, Role.CANDIDATE, 9, nodes=("n02",), confidence=0.6),
            symptom("dl.killed", Layer.HARDWARE_HOST, Role.CANDIDATE, 10, nodes=("n02",), confidence=0.6),
            attempt=attempt(state=JobState.OUT_OF_MEMORY, exit_signal=125),
        ),
        RESTART,
        ("n02",),
        Layer.SYSTEM_MEMORY,
    ),
    Case(
        "a kill alone has no known cause",
        facts(
            symptom("slurm.task_signal", Layer.FRAMEWORK, Role.CANDIDATE, nodes=("n02",), confidence=0.6),
            attempt=attempt(exit_code=0, exit_signal=9),
        ),
        RESTART,
        ("n02",),
        Layer.FRAMEWORK,
    ),
    Case(
        "memory taken from another job on the host is a note only",
        facts(
            symptom("slurm.task_signal", Layer.FRAMEWORK, Role.CANDIDATE, 8, nodes=("n02",), confidence=0.6),
            symptom(
                "kernel.oom",
                Layer.APPLICATION,
                before_end=20,
                nodes=("n02",),
                evidence=(quote("oom-kill:task_memcg=/slurm/uid_7/job_77/step_0,task=python,pid=9", "n02"),),
            ),
        ),
        RESTART,
        ("n02",),
        Layer.FRAMEWORK,
        "slurm.task_signal",
    ),
    Case(
        "memory taken from this very job is the cause",
        facts(
            symptom("slurm.task_signal", Layer.FRAMEWORK, Role.CANDIDATE, 8, nodes=("n02",), confidence=0.6),
            symptom(
                "kernel.oom",
                Layer.APPLICATION,
                before_end=20,
                nodes=("n02",),
                evidence=(quote("oom-kill:task_memcg=/slurm/uid_7/job_1042/step_0,task=python,pid=9", "n02"),),
            ),
        ),
        RESTART,
        ("n02",),
        Layer.APPLICATION,
        "kernel.oom",
    ),
    Case(
        "a command that was not found: stop",
        facts(attempt=never_stepped(exit_code=127)),
        STOP,
        (),
        Layer.USER,
        sentence="The job's command was not found",
    ),
    Case(
        "one host lost its mount while the others go on: without it",
        facts(symptom("fs.enotconn", Layer.SYSTEM_FILESYSTEM, nodes=("n04",), confidence=0.85)),
        EXCLUDE,
        ("n04",),
        Layer.SYSTEM_FILESYSTEM,
    ),
    Case(
        "a stale handle on all hosts: wait and restart",
        facts(symptom("fs.stale", Layer.SYSTEM_FILESYSTEM, nodes=FOUR, confidence=0.8)),
        RESTART,
        (),
        Layer.SYSTEM_FILESYSTEM,
    ),
)

ALIVE = (
    Case(
        "a job that has become slow: a person is asked, nobody is named",
        facts(slow(), attempt=live()),
        ASK,
        signature="straggler.steps",
        sentence="A step takes 15 s instead of 10 s",
    ),
    Case("a job that is as fast as before: nothing to do", facts(slow(refuted=True), attempt=live()), NONE),
    Case(
        "a slow job that ends is judged by its end",
        facts(slow(), attempt=attempt()),
        RESTART,
        sentence="Failed with exit code 1, cause unknown",
    ),
    Case(
        "a job that is slow and stands still is judged by its silence",
        facts(slow(), hang(), attempt=live()),
        RESTART,
        sentence="No step for 90 s after step 120",
    ),
    Case(
        "a job that saves no checkpoint any more: a person is asked",
        facts(slow(kind=AnomalyKind.NO_CHECKPOINT, sentence="No checkpoint since step 60"), attempt=live()),
        ASK,
        sentence="No checkpoint since step 60",
    ),
    Case(
        "silent, and never a step: a person is asked whether it trains at all",
        facts(hang(sentence="No step and no line for 3600 s"), attempt=never_stepped_live()),
        ASK,
        sentence="No step and no line for 3600 s",
    ),
    Case(
        "silent before its first step, but it has trained before: it hangs",
        facts(hang(), attempt=never_stepped_live(index=1), earlier=(earlier(last_step=40),)),
        RESTART,
    ),
    Case(
        "a loss that is no number: back to the last checkpoint, once",
        facts(not_a_number(), attempt=live()),
        RESTART,
        layer=Layer.APPLICATION,
    ),
    Case(
        "a loss that is a number again: nothing to do",
        facts(not_a_number(refuted=True), attempt=live()),
        NONE,
        sentence="Moves again",
    ),
)
HANGS = (
    Case(
        "a hang that names nobody: restart, nobody left out",
        facts(hang(), attempt=live()),
        RESTART,
        (),
        Layer.UNKNOWN,
        sentence="No step for 90 s after step 120",
    ),
    Case(
        "a hang in which a barrier names the missing rank: restart, nobody left out on that alone",
        facts(
            hang("pg.monitored_barrier", "line", ranks=(6,), layer=Layer.FRAMEWORK, key="barrier"),
            attempt=live(),
            ranks=RANKS,
        ),
        RESTART,
        ("n04",),
        Layer.FRAMEWORK,
    ),
    Case(
        "a hang behind broken hardware is the hardware's",
        facts(hang(), ecc("n03", before_end=11), attempt=live()),
        EXCLUDE,
        ("n03",),
        Layer.HARDWARE_GPU,
    ),
    Case(
        "a hang that is over: nothing to do",
        facts(hang(refuted=True), attempt=live()),
        NONE,
        (),
        Layer.UNKNOWN,
        sentence="Moves again",
    ),
    Case(
        "a hang that is over does not explain a later end",
        facts(hang(refuted=True), attempt=attempt(last_step=121)),
        RESTART,
        (),
        Layer.UNKNOWN,
        sentence="Failed with exit code 1, cause unknown",
    ),
    Case(
        "a job that repairs itself is left to it",
        facts(
            symptom("py.syntax", Layer.APPLICATION, nodes=("n01",)),
            symptom("elastic.restart", Layer.FRAMEWORK, Role.SECONDARY),
            hang(),
            attempt=live(),
        ),
        HOLD,
        ("n01",),
        Layer.APPLICATION,
    ),
)

NOTHING = (
    Case(
        "nothing but victims",
        facts(aborts()),
        RESTART,
        (),
        Layer.FRAMEWORK_COMM,
        sentence="Communication broke, cause unknown",
    ),
    Case(
        "no readable log at all",
        facts(attempt=never_stepped(blind_reason="no file was found")),
        RESTART,
        (),
        Layer.UNKNOWN,
        sentence="Failed with exit code 1, cause unknown",
    ),
    Case(
        "killed by a signal and no line",
        facts(attempt=attempt(exit_code=0, exit_signal=9)),
        RESTART,
        (),
        Layer.UNKNOWN,
        "slurm.state.signal",
        "Killed by SIGKILL, cause unknown",
    ),
    Case(
        "aborted by a watchdog's signal: the signal is no cause",
        facts(aborts(), attempt=attempt(exit_code=134)),
        RESTART,
        (),
        Layer.FRAMEWORK_COMM,
    ),
)

CASES = (*HARDWARE, *SCHEDULER, *APPLICATION, *ALIVE, *HANGS, *NOTHING)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_verdict(case: Case) -> None:
    judgement = attribute(case.facts, NOW)
    culprits = tuple(one.host for one in judgement.implicated if one.role == "culprit")
    excluded = {one.host for one in judgement.implicated if one.excludable}
    assert (judgement.action, culprits, judgement.layer) == (case.action, case.culprits, case.layer)
    assert not case.signature or judgement.signature == case.signature
    assert not case.sentence or judgement.sentence == case.sentence
    if case.action is EXCLUDE:
        assert excluded == set(case.culprits)
        assert judgement.body["recommendation"]["exclude"] == list(case.culprits)
    else:
        assert judgement.body["recommendation"]["exclude"] == []


def test_repeat_on_the_same_gpu_leaves_its_host_out() -> None:
    line = "NVRM: Xid (PCI:0000:3b:00): 13, pid=9, Graphics Exception"
    burst = symptom(
        "xid.13", Layer.APPLICATION, Role.CANDIDATE, 9, nodes=("n02",), evidence=(quote(line, "n02"),), count=17
    )
    access = symptom("cuda.illegal_access", Layer.APPLICATION, Role.CANDIDATE, nodes=("n02",), confidence=0.6)

    def judged_after(entity: str) -> Any:
        before = earlier(signature="cuda.illegal_access", culprits=("n02",), entity=entity)
        return attribute(facts(burst, access, earlier=(before,), attempt=attempt(index=1)), NOW)

    same = judged_after("n02/0000:3b:00")
    assert (same.action, same.layer) == (EXCLUDE, Layer.HARDWARE_GPU)
    other = judged_after("n02/0000:9d:00")
    assert (other.action, other.layer) == (RESTART, Layer.APPLICATION)


def test_confidence_grows_with_a_witness_and_falls_with_doubt() -> None:
    plain = attribute(facts(ecc("n03", confidence=0.9)), NOW)
    down = attribute(facts(ecc("n03", confidence=0.9), nodes=LOST_N03), NOW)
    mixed = attribute(facts(ecc("n01", ranks=(5,), confidence=0.9), ranks=RANKS), NOW)
    assert (plain.confidence, down.confidence, mixed.confidence) == (0.9, 0.95, 0.7)


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (facts(ecc("n03")), EvidenceStatus.ESTABLISHED),
        (facts(symptom("fs.stale", Layer.SYSTEM_FILESYSTEM, confidence=0.8)), EvidenceStatus.SUPPORTED),
        (
            facts(symptom("cuda.illegal_access", Layer.APPLICATION, Role.CANDIDATE, confidence=0.6)),
            EvidenceStatus.HYPOTHESIS,
        ),
        (facts(aborts()), EvidenceStatus.UNKNOWN),
    ],
    ids=["proved", "likely", "candidate", "victims"],
)
def test_evidence_status(found: Facts, status: EvidenceStatus) -> None:
    assert attribute(found, NOW).evidence_status is status


def test_every_host_with_only_victims_messages_is_a_victim() -> None:
    judgement = attribute(facts(ecc("n03"), aborts()), NOW)
    roles = {one.host: (one.role, one.excludable) for one in judgement.implicated}
    assert roles == {
        "n03": ("culprit", True),
        "n01": ("victim", False),
        "n02": ("victim", False),
        "n04": ("victim", False),
    }


def test_body_tells_rules_rivals_and_what_is_missing() -> None:
    body = attribute(facts(ecc("n03"), symptom("py.syntax", Layer.APPLICATION, before_end=2), aborts()), NOW).body
    fired = {rule["id"] for rule in body["rules"] if rule["fired"]}
    assert {"cause.first", "remedy.broken_host"} <= fired
    assert all(rule["because"] for rule in body["rules"])
    assert [h["signature_id"] for h in body["hypotheses"]] == ["cuda.ecc", "py.syntax"]
    assert body["hypotheses"][0]["odds"] > body["hypotheses"][1]["odds"]
    assert "no rank map: ranks in the log cannot be turned into hosts" in body["missing_evidence"]
    assert {s["signature_id"]: s["count"] for s in body["symptoms"]}["pg.taking_down"] == 63


def test_blind_attempt_says_that_its_log_is_missing() -> None:
    body = attribute(facts(attempt=never_stepped(blind_reason="no file was found")), NOW).body
    assert "no log could be read: no file was found" in body["missing_evidence"]


@pytest.mark.parametrize(
    ("checkpoints", "advance", "in_a_row"),
    [
        ((None,), "unknown", 0),
        ((100,), "advanced", 0),
        ((100, 200), "advanced", 0),
        ((100, 100), "same", 1),
        ((100, 100, 100), "same", 2),
        ((100, 90, 100, 150), "advanced", 0),
        ((100, None, 100), "same", 1),
    ],
)
def test_advance_counts_new_checkpoints(checkpoints: tuple[int | None, ...], advance: str, in_a_row: int) -> None:
    *before, last = checkpoints
    body = attribute(
        facts(
            ecc("n03"),
            attempt=attempt(index=len(before), last_checkpoint_step=last, last_step=None, last_step_at=None),
            earlier=tuple(earlier(i, last_checkpoint_step=step) for i, step in enumerate(before)),
        ),
        NOW,
    ).body
    assert (body["progress"]["advance"], body["history"]["no_advance"]) == (advance, in_a_row)


@pytest.mark.parametrize(
    ("sentence", "headline"),
    [
        ("An uncorrectable ECC error on n03.", "An uncorrectable ECC error"),
        ("An uncorrectable ECC error on n01, n03, 7 times.", "An uncorrectable ECC error"),
        ("A task ended on n01, n02, n03, n04 and 12 more.", "A task ended"),
        ("CUDA ran out of memory in train.py:step on rank 3, 5.", "CUDA ran out of memory in train.py:step"),
        (
            "A task was killed on n03 (a fault injected on purpose).",
            "A task was killed (a fault injected on purpose)",
        ),
        ("The job waits on purpose.", "The job waits on purpose"),
        ("An error on other7.", "An error on other7"),
    ],
)
def test_a_headline_names_no_host_of_the_attempt(sentence: str, headline: str) -> None:
    """It stands above all attempts that fail so, wherever they ran."""
    found = attribute(facts(ecc(sentence=sentence)), NOW)
    assert found.headline == headline
