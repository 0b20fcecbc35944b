"""How is a checkpoint saved so that a death in the middle leaves the one before?"""

import json
import os
from pathlib import Path

TRACKER = "latest_checkpointed_iteration.txt"


def save(folder: Path, step: int) -> None:
    """Write the checkpoint of a step, then let the tracker file point to it; each by an atomic rename."""
    folder.mkdir(parents=True, exist_ok=True)
    _replace(folder / f"iter_{step:07d}.json", json.dumps({"step": step}))
    _replace(folder / TRACKER, str(step))


def load(folder: Path) -> int:
    """The step of the newest complete checkpoint, 0 without one."""
    try:
        step = int((folder / TRACKER).read_text())
        return int(json.loads((folder / f"iter_{step:07d}.json").read_text())["step"])
    except (FileNotFoundError, ValueError, KeyError):
        return 0


def _replace(path: Path, text: str) -> None:
    draft = path.with_suffix(".draft")
    with draft.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
