"""Are the limits of a cluster what the operator's guide says?"""

from pathlib import Path

import pytest

from workloads.limits import DEFAULT_LIMITS, effective_limits

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "operators-guide.md"


@pytest.mark.parametrize(("name", "default"), DEFAULT_LIMITS.items())
def test_every_limit_has_its_line_in_the_guide(name: str, default: float) -> None:
    assert f"| `{name}` | {default:g} |" in GUIDE.read_text()


def test_a_clusters_own_limits_lie_over_the_defaults() -> None:
    limits = effective_limits({"hang_floor_seconds": 5})
    assert limits["hang_floor_seconds"] == 5.0
    assert {**limits, "hang_floor_seconds": 60.0} == DEFAULT_LIMITS
