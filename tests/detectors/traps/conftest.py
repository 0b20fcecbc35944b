"""What do the traps share?"""

from pathlib import Path

import pytest

from tests.detectors.traps.stage import Stage


@pytest.fixture
def stage(db: None, tmp_path: Path) -> Stage:
    """An empty cluster of 64 nodes at the start of the story."""
    return Stage(tmp_path)
