"""Which processes is a demo made of, and has one of them ended?

What they start for a moment, to ask their scheduler, is none of them.
"""

import contextlib
from pathlib import Path

import psutil

BESIDE = {"simulator", "demo-controller", "demo-monitor-controller", "demo-watchdog"}


def parts_of(shell: int, folder: Path) -> dict[str, psutil.Process]:
    """By name: the shell of `./run demo`, the site below it, and what runs beside, by the demo's own folder."""
    parts = {name.stem: psutil.Process(int(name.read_text())) for name in folder.glob("*.pid")}
    assert set(parts) == BESIDE
    parts["shell"] = psutil.Process(shell)
    parts["site"] = next(child for child in parts["shell"].children() if "manage.py" in child.cmdline())
    return parts


def goes_on(process: psutil.Process) -> bool:
    """Whether it has not ended; one that nobody has asked for its status yet has."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
