"""Are the stations of a recovery read off its trail as they are named? No measured number is asserted."""

from typing import Any

import pytest

from benchmarks.log_eye import LogEye
from benchmarks.stations import Way, percentile, stations, table


def event(type_: str, second: int, attempt: int = 0, **more: Any) -> dict[str, Any]:
    """An event stored at a second of the day; what the scheduler did was half a second before."""
    return {
        "eventType": type_,
        "attemptIndex": attempt,
        "receivedAt": f"1970-01-01T00:00:{second:02d}Z",
        "eventProducedAt": str(second * 1_000_000 - 500_000),
        "sentence": "",
        "action": "",
        "payload": {},
        **more,
    }


TRAIL = [
    event("anomaly", 1, payload={"kind": "early_warning"}),
    event("anomaly", 2, payload={"kind": "crash"}),
    event("anomaly", 3, payload={"kind": "crash"}),
    event("attempt_state", 4, sentence="Attempt 1-0 is failed (exit code 1)."),
    event("verdict", 5),
    event("verdict", 6),
    event("advice", 7),
    event("verdict", 8),
    event("action", 9, action="SLURM_REQUEUE_HOLD"),
    event("action", 10, action="SLURM_RELEASE"),
    event("verdict", 11, attempt=1),
    event("progress_resumed", 12, attempt=1),
]


def test_each_station_is_the_event_that_counted() -> None:
    assert stations(TRAIL, {"zero": 0.5}, "crash") == {
        "zero": 0.5,
        "anomaly": 2,
        "end": 4,
        "verdict": 6,
        "advice": 7,
        "held": 8.5,
        "released": 9.5,
        "told": 12,
    }


def test_what_was_not_reached_is_not_counted() -> None:
    ways = (Way("zero", "advice", "all"), Way("zero", "told", "never", part=True))
    lines = table(ways, [{"zero": 1.0, "advice": 2.0}, {"zero": 1.0, "advice": 4.0}, {"zero": 1.0}]).splitlines()
    assert lines[2:] == ["| all | 2 | 2.00 | 2.90 | 1.00 | 3.00 |", "| &nbsp;&nbsp;*never* | 0 | | | | |"]


@pytest.mark.parametrize(("percent", "expected"), [(50, 10.5), (95, 19.05)])
def test_percentiles_lie_between_values(percent: int, expected: float) -> None:
    assert percentile([float(value) for value in range(1, 21)], percent) == pytest.approx(expected)


def test_the_eye_tells_the_attempts_apart(tmp_path: Any) -> None:
    eye = LogEye(tmp_path / "no-such-file")
    eye.close()
    eye._look(b" iteration 11/ 40 |\n", 1.0)
    eye._look(b" iteration 11/ 40 |\nXid 48\n", 2.0)
    eye._look(b" successfully loaded checkpoint from x at iteration 10\n", 3.0)  # the requeue truncated the file
    eye._look(b" successfully loaded checkpoint from x at iteration 10\n iteration 11/ 40 |\n", 4.0)
    eye._look(b" successfully loaded checkpoint from x at iteration 10\n iteration 12/ 40 |\n", 5.0)
    assert (eye.step_at, eye.fault_at, eye.runs_at, eye.beyond_at) == ({11: 1.0}, 2.0, 3.0, 5.0)
