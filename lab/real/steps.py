"""Which step does a job's log speak of last? For acts that wait for a step; any dialect of the lab."""

import re

STEP = re.compile(
    rb"iteration +(\d+)/|global_step: (\d+)|\bstep=(\d+), skipped|\bstep: +(\d+) |\[batch=(\d+)/"
    rb"|^step (\d+) \||\b(\d+)/\d+ \[\d",
    re.MULTILINE,
)


def last_step(log: bytes) -> int:
    """The highest step in the log, -1 without any; NeMo and Composer count from zero in some places."""
    return max((int(next(filter(None, found))) for found in STEP.findall(log)), default=-1)
