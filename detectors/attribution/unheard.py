"""What did the logs of an attempt not tell, although somebody wrote it? It is missing evidence, and said so."""

from detectors.attribution.facts import Facts
from detectors.catalogue.kind import AnomalyKind


def unheard(facts: Facts, kind: AnomalyKind) -> list[str]:
    """Sentences on what was not read yet, and on what breaks off; `kind`: of the verdict."""
    attempt, open_ones = facts.attempt, facts.witnesses.broken_off
    told = []
    if attempt.ended and attempt.read_to_end is False:
        told.append("the logs were not read to their end yet")
    if open_ones and kind is AnomalyKind.CRASH:
        # Observed on Slurm 22.05 with --kill-on-bad-exit: 9 of 300 jobs lost their last lines on a busy machine.
        what = "a traceback" if open_ones == 1 else f"{open_ones} tracebacks"
        told.append(f"the log breaks off inside {what}: what ended the step may have cut off the last lines")
    return told
