"""On which machine, in which state, was something measured?"""

import os
import platform
from datetime import UTC, datetime
from pathlib import Path


def machine_line() -> str:
    """One line for the head of a result: date, processors, memory, load of the last minute, Python."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {_processor()} ({os.cpu_count()} cores), {memory:.0f} GiB, "
        f"load {os.getloadavg()[0]:.1f} at this moment, Python {platform.python_version()}"
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()
