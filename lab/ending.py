"""How does a run of the lab end early? By an exception, whatever the signal, so that everything is taken away."""

import contextlib
import signal
import sys
import threading
import types
from collections.abc import Iterator
from typing import NoReturn

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def signals_end() -> Iterator[None]:
    """Within the block, a signal that ends the process does so by `SystemExit`; before and after as it was."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _end) for number in ENDING}
    try:
        yield
    finally:
        for number, hand in before.items():
            signal.signal(number, hand)


def take_no_more() -> None:
    """From here to the end of the block no signal ends anything: a second one must not leave half of it running."""
    if threading.current_thread() is threading.main_thread():
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)


def _end(number: int, _frame: types.FrameType | None) -> NoReturn:
    take_no_more()
    sys.exit(128 + number)  # as a shell says of it
