"""Is a command that was asked for long ago never sent, and is a list too long for one argument refused?"""

import pytest

from schedulers.port import Refused, Unreachable
from schedulers.slurm import adapter
from schedulers.slurm.adapter import Slurm
from schedulers.transport import Answer

FIELDS = [
    *(
        "7",
        "7",
        "N/A",
        "0",
        "RUNNING",
        "None",
        "0",
        *["1700000000"] * 3,
        "N/A",
        "0",
        "n01",
        "1",
        "(null)",
        "100",
        "1",
    ),
    *("1", "me", "1000", "a", "main", "(null)", "/", "o", "e", "x", "(null)", "(null)"),
]


class Stopped:
    """A transport that answers one job; `clock` is a machine's, and goes on by `pause` while it is asked."""

    def __init__(self, pause: float) -> None:
        self.pause, self.now = pause, 1000.0
        self.sent: list[tuple[str, ...]] = []

    def run(self, argv: tuple[str, ...], seconds: float) -> Answer:
        if argv[0] != "squeue":
            self.sent.append(argv)
            return Answer(0, "", "")
        self.now += self.pause
        layout = argv[argv.index("-O") + 1]
        field, record = (layout.split(",")[place].partition(":")[2] for place in (0, -1))
        return Answer(0, field.join(FIELDS) + record + "\n", "")


@pytest.mark.parametrize(("pause", "sent"), [(0.1, 1), (14.0, 1), (16.0, 0), (600.0, 0)])
def test_a_process_that_was_stopped_in_the_middle_sends_nothing(
    monkeypatch: pytest.MonkeyPatch, pause: float, sent: int
) -> None:
    transport = Stopped(pause)
    monkeypatch.setattr(adapter.time, "clock_gettime", lambda which: transport.now)
    scheduler = Slurm(transport, 10.0)
    if sent:
        scheduler.requeue_hold(7, running=True)
    else:
        with pytest.raises(Unreachable, match="was stopped in the middle"):
            scheduler.requeue_hold(7, running=True)
    assert len(transport.sent) == sent


def test_more_nodes_than_one_argument_holds_are_refused_and_not_tried_for_ever() -> None:
    transport = Stopped(0.0)
    with pytest.raises(Refused, match="cannot be named"):
        Slurm(transport, 10.0).update_exclusions(7, [f"{'n' * 60}{number:04d}" for number in range(2000)])
    assert transport.sent == []
