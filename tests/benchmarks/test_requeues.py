"""Is the way from an advice to Slurm's own record of the requeue read off as it is named? No number is asserted."""

import time
from typing import Any

import pytest

from benchmarks.requeues import WAYS, Run, broken, moments, prepare, requeues, result
from benchmarks.rigs import Rig

LOG = """[2026-11-30T02:56:39.945] _job_complete: JobId=2 done
[2026-11-30T02:56:41.712] Requeuing JobId=2
[2026-11-30T02:56:41.900] Requeuing JobId=12
[2026-11-30T02:57:41.712] Requeuing JobId=2
[2026-11-30T02:57:41.712] error: Requeuing JobId=3
[2026-11-30T02:57:41.712] Requeuing JobId=4 at somebody's word
"""


def event(kind: str, second: int, attempt: int = 0, action: str = "") -> dict[str, Any]:
    return {
        "eventType": kind,
        "attemptIndex": attempt,
        "receivedAt": f"1970-01-01T00:00:{second:02d}Z",
        "eventProducedAt": str(second * 1_000_000 + 500_000),
        "action": action,
    }


def test_the_first_requeue_of_each_job_counts_in_the_machines_own_time() -> None:
    found = requeues(LOG)
    assert set(found) == {2, 12}
    assert time.strftime("%H:%M:%S", time.localtime(found[2]["requeued"])) == "02:56:41"
    assert found[12]["requeued"] - found[2]["requeued"] == pytest.approx(0.188, abs=0.001)


def test_the_first_advice_counts_and_nothing_of_the_next_attempt() -> None:
    trail = [
        event("advice", 3),
        event("advice", 4),
        event("intent", 5),
        event("action", 6, action="SLURM_REQUEUE_HOLD"),
        event("action", 7, attempt=1, action="SLURM_RELEASE"),
        event("action", 8, action="SLURM_RELEASE"),
    ]
    assert moments(trail) == {"stored": 3.0, "heard": 5.5, "released": 8.5}


def test_a_run_that_failed_is_counted() -> None:
    found = {"stored": 0.0, "heard": 1.0, "requeued": 2.0, "released": 3.0}
    text = result([Run("failed", found), None], 2)
    assert "1 of 2 requeued" in text
    assert "| 1 | 2.00 | 2.00 | 2.00 | 2.00 |" in text


@pytest.mark.slurm
def test_a_failed_job_on_a_real_slurm_reaches_every_station_in_order() -> None:
    with Rig(simulated=False, default_limits=False) as rig:
        prepare(rig, 1.0)
        run = broken(rig, "failed", "failed")
    assert run is not None
    ways = [way.start for way in WAYS[:2]] + ["requeued", "released"]
    assert [run.found[way] for way in ways] == sorted(run.found[way] for way in ways)
