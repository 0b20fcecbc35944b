"""What do the tests of the score card build their results from?"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from lab.cases.case import Case, Did, Simulated, Sort, Truth
from lab.score.said import Advised, Judged, Result, Said, Symptom
from lab.simulate.play import Fault, Play
from lab.truth import Injected

START = datetime(2026, 5, 1, 10, 0, tzinfo=UTC)
STRUCK = 100.0  # seconds after the start at which a fault strikes


def at(seconds: float) -> datetime:
    """A moment after the start of the case."""
    return START + timedelta(seconds=seconds)


def a_fault(name: str = "gpu_lost", **truth: Any) -> Case:
    """A crash of one node's hardware, which the case puts on in the simulated cluster."""
    values = {
        "kind": "crash",
        "layers": ("hardware.gpu",),
        "culprit": True,
        "actions": (Did.RESTART_EXCLUDE,),
        "why": "the GPU is broken",
    }
    group = truth.pop("group", "hardware")
    play = Play(faults=(Fault(kind="ecc", step=5),))
    on = Simulated(jobs=((0.0, play),), seconds=300)
    return Case(name, Sort.FAULT, group, "a GPU is lost", Truth(**{**values, **truth}), simulated=on)


def a_trap(name: str = "long_save", actions: tuple[Did, ...] = (), deed: bool = False) -> Case:
    """A healthy job; with `deed` something is done that looks bad."""
    play = Play(faults=(Fault(kind="lines", lines=("error: it only sounds so",)),) if deed else ())
    on = Simulated(jobs=((0.0, play),), seconds=300)
    truth = Truth("none", (), False, actions, "nothing is wrong")
    return Case(name, Sort.TRAP, "trap", "a long save", truth, simulated=on)


def deed(case: Case, seconds: float = STRUCK, **values: Any) -> Injected:
    """The fault strikes job 1, attempt 0, on n03."""
    told = {"job": 1, "attempt": 0, "what": "ecc", "at": at(seconds).timestamp(), "nodes": ("n03",), **values}
    return Injected(case=case.name, **told)


def a_symptom(seconds: float = STRUCK + 4, **values: Any) -> Symptom:
    """Detected `seconds` after the start."""
    told = {
        "job": 1,
        "attempt": 0,
        "kind": "crash",
        "signature": "cuda.ecc",
        "layer": "hardware.gpu",
        "role": "root",
        "basis": "line",
        "happened_at": at(seconds - 1),
        "detected_at": at(seconds),
        "nodes": ("n03",),
    }
    return Symptom(**{**told, **values})


def a_verdict(seconds: float = STRUCK + 6, **values: Any) -> Judged:
    """Judged `seconds` after the start: n03 and its GPU."""
    told = {
        "job": 1,
        "attempt": 0,
        "kind": "crash",
        "layer": "hardware.gpu",
        "signature": "cuda.ecc",
        "confidence": 0.95,
        "action": "restart_exclude",
        "hosts": ("n03",),
        "excludable": ("n03",),
        "judged_at": at(seconds),
        "body_hash": "h",
    }
    return Judged(**{**told, **values})


def an_advice(seconds: float = STRUCK + 7, did: Did = Did.RESTART_EXCLUDE, **values: Any) -> Advised:
    """Given `seconds` after the start; a restart without nodes names n03."""
    nodes = ("n03",) if did is Did.RESTART_EXCLUDE else ()
    told = {"job": 1, "attempt": 0, "nodes": nodes, "rule": "named_node", "advised_at": at(seconds)}
    return Advised(did=did, **{**told, **values})


def said(
    symptoms: Sequence[Symptom] = (),
    verdicts: Sequence[Judged] = (),
    advice: Sequence[Advised] = (),
    commands: Sequence[str] = (),
) -> Said:
    """Everything about job 1."""
    return Said(tuple(symptoms), tuple(verdicts), tuple(advice), tuple(commands), {1: "running"})


ALL_RIGHT = said([a_symptom()], [a_verdict()], [an_advice()])


def result(case: Case, said_: Said = ALL_RIGHT, deeds: Sequence[Injected] | None = None, **values: Any) -> Result:
    """The case after it was put on; its fault struck once unless `deeds` says otherwise."""
    default = [deed(case)] if case.sort is Sort.FAULT else []
    told = {"healthy_seconds": 3600.0, **values}
    return Result(case=case, injected=tuple(default if deeds is None else deeds), said=said_, **told)
