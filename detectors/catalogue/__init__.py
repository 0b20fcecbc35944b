"""Pure: the signatures and the detectors, as folds over records.

To add a detector: one module with a `fold`, one line in `DETECTORS`. The order matters: what one makes known, those
behind it may use.
"""

from detectors.catalogue import (
    analyses,
    crash,
    endings,
    hang,
    idle,
    not_a_number,
    progress,
    saves,
    straggler,
    witnesses,
)
from detectors.catalogue.detector import Detector

DETECTORS: tuple[Detector, ...] = (
    Detector(progress.NAME, "How far is it, at which rhythm, in which phase?", progress.fold),
    Detector(not_a_number.NAME, "Has the loss stopped being a number?", not_a_number.fold),
    Detector(crash.NAME, "Which symptoms do its lines show?", crash.fold),
    Detector(witnesses.NAME, "What do the ranks tell about each other?", witnesses.fold),
    Detector(analyses.NAME, "What do programs that look at all ranks say of them?", analyses.fold),
    Detector(endings.NAME, "What does the scheduler's word about its end prove?", endings.fold),
    Detector(hang.NAME, "Has it stood still for longer than its history explains?", hang.fold),
    Detector(idle.NAME, "Does it hold its nodes and do nothing with them?", idle.fold),
    Detector(straggler.NAME, "Do its steps take longer than they used to?", straggler.fold),
    Detector(saves.NAME, "Does it train on without saving?", saves.fold),
)
