"""Traps 10 and 11: is the first cause named, and nobody for what only follows?"""

import random
from datetime import timedelta

import pytest

from detectors.models import Anomaly
from lab.texts.struck import Struck
from lab.texts.texts import TEXTS
from tests.detectors.traps.stage import Stage, culprits

STRUCK = Struck(nodes=("n01", "n02"), gpus=8, host="n01", rank=2, gpu=2, process=23456, job=7, at=1_790_000_000.0)
FOUR = ("n01", "n02", "n03", "n04")


def test_trap_10_xid_45_on_every_node_leaves_none_of_them_out(stage: Stage) -> None:
    stage.submit()
    stage.train(1, 10)
    stage.say(
        "[rank3]: RuntimeError: CUDA error: an illegal memory access was encountered",
        *(one.line for one in TEXTS["cancelled_everywhere"](STRUCK)),
    )
    stage.fail()
    stage.wait(60)
    verdict = stage.verdict()
    assert verdict is not None
    assert Anomaly.objects.get(signature="xid.45").count == 16
    assert (verdict.signature, verdict.layer) == ("cuda.illegal_access", "application")
    assert culprits(verdict) == []
    assert all(excluded == [] for _job, _operation, excluded in stage.advised())


def test_trap_10_xid_45_is_no_cause_when_nothing_else_is_told(stage: Stage) -> None:
    stage.submit()
    stage.train(1, 10)
    stage.say(*(one.line for one in TEXTS["cancelled_everywhere"](STRUCK) if one.line.startswith("n02")))
    stage.fail()
    stage.wait(60)
    verdict = stage.verdict()
    assert verdict is not None and (verdict.signature, culprits(verdict)) == ("", [])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("skew", [-5.0, 0.0, 5.0])
def test_trap_11_the_first_cause_is_named_whatever_the_clocks_say(stage: Stage, skew: float, seed: int) -> None:
    """A card of n03 is lost; the ranks of the other nodes time out at different moments, their clocks 5 s off."""
    stage.submit(nodes=FOUR, node_count=4)
    stage.say(
        *(
            f"{host}:100:170 [0] NCCL INFO ncclCommInitRankConfig comm 0xab rank {rank} nranks 4 cudaDev 0 "
            f"nvmlDev 0 busId 1b000 commId 0x1 - Init COMPLETE"
            for rank, host in enumerate(FOUR)
        )
    )
    stage.train(1, 10)
    draw = random.Random(seed)  # no secret
    first = stage.now
    lines = [
        f"{first + timedelta(seconds=skew):%Y-%m-%dT%H:%M:%S.%f}Z n03 kernel: NVRM: Xid (PCI:0000:1b:00): 79, "
        "pid=23456, name=python3, GPU has fallen off the bus."
    ]
    for rank in (0, 1, 3):
        at = first + timedelta(seconds=draw.uniform(0, 5) + draw.choice((-5.0, 0.0, 5.0)))
        lines.append(
            f"[rank{rank}]:[E{at:%m%d %H:%M:%S.%f} ProcessGroupNCCL.cpp:607] [PG ID 0 PG GUID 0(default_pg) Rank "
            f"{rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=78, OpType=ALLREDUCE, "
            "NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600060 milliseconds before timing out."
        )
        lines.append(
            f"[rank{rank}]: torch.distributed.DistBackendError: NCCL communicator was aborted on rank {rank}."
        )
    draw.shuffle(lines)
    stage.say(*lines)
    stage.at += 5
    stage.fail(nodes=FOUR)
    stage.wait(90)
    verdict = stage.verdict()
    assert verdict is not None and verdict.signature == "xid.79"
    assert culprits(verdict) == ["n03"]
    assert stage.acts() == [(7, "restart", ["n03"])]
