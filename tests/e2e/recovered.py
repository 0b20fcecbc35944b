"""What must be so of a job that came back by itself, and how is a part killed on the way?"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.parts.person import Person, told, types
from lab.parts.running import PYTHON, until


def killing(mark: Path) -> list[str]:
    """The command through which a part kills itself once, and makes the file `mark` before (see `killing`)."""
    return [PYTHON, "-m", "tests.e2e.killing", str(mark)]


def advice_of(trail: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The advice events of a trail."""
    return [event for event in trail if event["eventType"] == "advice"]


def assert_recovered_once(person: Person, cluster: str, number: int, seconds: float = 90) -> list[dict[str, Any]]:
    """Wait until the job has completed; one advice, one restart, the named node left out. Returns the trail."""

    def completed() -> list[dict[str, Any]] | None:
        trail = person.trail(cluster, number)
        return trail if "training_completed" in types(trail) else None

    def story() -> str:
        return f"job {number} recovered and completed:\n{told(person.trail(cluster, number))}"

    trail = until(completed, seconds, story, pause=1)
    first, second = person.attempts(cluster, number)
    excluded = [event["payload"]["excluded_nodes"] for event in advice_of(trail)]
    assert len(excluded) == 1 and len(excluded[0]) == 1, excluded
    assert excluded[0][0] in first["allocatedNodes"]
    assert excluded[0][0] not in second["allocatedNodes"]
    assert second["progress"]["loadedCheckpointStep"] == first["progress"]["lastCheckpointStep"]
    keys = [event["pattern"] for event in trail if event["eventType"] == "anomaly"]
    assert types(trail).count("allocation_restarted") == types(trail).count("progress_resumed") == 1
    assert keys
    return trail
