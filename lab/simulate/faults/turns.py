"""Which faults do not end the attempt by themselves? Silence, empty turning, and what others do to the job."""

from lab.simulate.effects import CancelledByUser, Hung, NodeLost, OutOfTime, Preempted, PrologFailed, Requeued
from lab.simulate.faults.blow import Beat, Blow, Kind

LEAST_SECONDS = 0.1  # between two turns of a spinning process


def _turning(blow: Blow) -> float:
    return max(blow.fault.seconds, LEAST_SECONDS)


TURNS: dict[str, Kind] = {
    "hang": lambda blow: [Beat(0, blow.fault.lines, Hung())],
    "lines": lambda blow: [Beat(0, blow.fault.lines)],
    "pause": lambda blow: [Beat(0, blow.fault.lines), Beat(blow.fault.seconds, blow.fault.after)],
    "spin": lambda blow: [Beat(0, blow.fault.lines), Beat(_turning(blow), blow.fault.lines, again=True)],
    "reprint": lambda blow: [Beat(0, blow.fault.lines), Beat(_turning(blow), again=True, reprint=True)],
    "node_down": lambda blow: [Beat(0, blow.fault.lines, NodeLost(blow.node))],
    "cancel": lambda blow: [Beat(0, blow.fault.lines, CancelledByUser())],
    "timeout": lambda blow: [Beat(0, blow.fault.lines, OutOfTime())],
    "preempt": lambda blow: [Beat(0, blow.fault.lines, Preempted())],
    "requeue": lambda blow: [Beat(0, blow.fault.lines, Requeued())],
    "prolog_failure": lambda blow: [Beat(0, (), PrologFailed(blow.node))],
}
