"""Which healthy logs move in an odd way? Each text is the whole log of a job, with its own progress lines."""

from collections.abc import Iterator

from lab.dialects.dialect import Stage
from lab.dialects.megatron import Megatron
from lab.texts.struck import Spoken, Struck, Text

STEPS = 2000  # of which the job says it has; no text comes to the end of them
EVERY, STEP_SECONDS = 50, 15.0  # a line each 750 s: longer than the 600 s of a job whose rhythm is not yet known
BURST_LINES, BURST_STEP_SECONDS = 40, 12.0  # 8 minutes of silence, then 40 lines at once
CLOCK_OFF_SECONDS = 30.0
HOUR = 3600.0
WRITER = Megatron()


def _stage(struck: Struck, step_seconds: float) -> Stage:
    return Stage(struck.job, f"job{struck.job}", 0, struck.nodes, struck.gpus, STEPS, step_seconds)


def _opening(struck: Struck, stage: Stage, off: float = 0.0) -> list[Spoken]:
    lines = WRITER.opening(stage, 0, struck.at + off) + WRITER.loaded(stage, 0, struck.at + off)
    return [Spoken(0, line) for line in lines]


def _steps(struck: Struck, stage: Stage, steps: range, after: float = 0.0, off: float = 0.0) -> Iterator[Spoken]:
    """These steps, the first one ends a step's time behind `after`; the stamps are wrong by `off`."""
    for place, step in enumerate(steps, 1):
        at = after + place * stage.step_seconds
        for line in WRITER.step(stage, step, stage.step_seconds, struck.at + at + off):
            yield Spoken(at, line)


def every_fifty(struck: Struck) -> tuple[Spoken, ...]:
    """Gradient accumulation makes a step long, and only each 50th is logged."""
    stage = _stage(struck, STEP_SECONDS)
    spoken = _opening(struck, stage)
    for step in range(EVERY, 4 * EVERY + 1, EVERY):
        at = step * STEP_SECONDS
        spoken += [Spoken(at, line) for line in WRITER.step(stage, step, STEP_SECONDS, struck.at + at)]
    return tuple(spoken)


def bursts(struck: Struck) -> tuple[Spoken, ...]:
    """Standard output is buffered: lines come late, forty at once, with the stamps of their steps."""
    stage = _stage(struck, BURST_STEP_SECONDS)
    spoken = _opening(struck, stage)
    for burst in range(3):
        steps = range(burst * BURST_LINES + 1, (burst + 1) * BURST_LINES + 1)
        lines = list(_steps(struck, stage, steps, burst * BURST_LINES * BURST_STEP_SECONDS))
        spoken += [Spoken(lines[-1].after_seconds, one.line) for one in lines]
    return tuple(spoken)


def rollback(struck: Struck) -> tuple[Spoken, ...]:
    """The framework goes back to its checkpoint by itself: the same job counts from 40 again."""
    stage = _stage(struck, 5.0)
    spoken = _opening(struck, stage) + list(_steps(struck, stage, range(1, 41)))
    spoken += [Spoken(201, line) for line in WRITER.saved(stage, 40, struck.at + 201)]
    spoken += _steps(struck, stage, range(41, 61), 200)
    spoken.append(Spoken(301, "loss spike: going back to the checkpoint of iteration 40 on purpose"))
    spoken.append(Spoken(302, f" loading distributed checkpoint from /ckpt/job{struck.job} at iteration 40"))
    spoken.append(
        Spoken(340, f" successfully loaded checkpoint from /ckpt/job{struck.job} [ t 1/1, p 1/1 ] at iteration 40")
    )
    spoken += _steps(struck, stage, range(41, 101), 340)
    return tuple(spoken)


def clock_off(struck: Struck) -> tuple[Spoken, ...]:
    """The host that prints the progress has a clock 30 s in front of the others."""
    stage = _stage(struck, 5.0)
    opening = _opening(struck, stage, CLOCK_OFF_SECONDS)
    return (*opening, *_steps(struck, stage, range(1, 81), 0, CLOCK_OFF_SECONDS))


def summer_time(struck: Struck) -> tuple[Spoken, ...]:
    """Local time is set back by an hour, and on another host's lines forward: the job steps on."""
    stage = _stage(struck, 5.0)
    spoken = _opening(struck, stage) + list(_steps(struck, stage, range(1, 41)))
    spoken += _steps(struck, stage, range(41, 81), 200, -HOUR)
    spoken += _steps(struck, stage, range(81, 121), 400, HOUR)
    return tuple(spoken)


def longer_sequences(struck: Struck) -> tuple[Spoken, ...]:
    """From step 60 the sequences are twice as long: a step takes twice the time, the same work per second."""
    stage = _stage(struck, 5.0)
    spoken = _opening(struck, stage) + list(_steps(struck, stage, range(1, 61)))
    spoken.append(Spoken(300.5, "> curriculum: sequence length 4096 -> 8192, steps take twice as long from here"))
    for one in _steps(struck, _stage(struck, 10.0), range(61, 161), 300):
        line = one.line.replace("(TFLOP/s/GPU): 20.0 ", "(TFLOP/s/GPU): 40.0 ")
        spoken.append(Spoken(one.after_seconds, line))
    return tuple(spoken)


def watcher(struck: Struck) -> tuple[Spoken, ...]:
    """A job that trains nothing: it watches others, and has nothing to say for an hour."""
    return (
        Spoken(0, f"controller: this host is {struck.host}; following the listing of the cluster every 15 s"),
        Spoken(1, "controller: lease taken, mode action, acting on jobs whose comment asks for it"),
        Spoken(2, "watchdog: releases a job that was held for longer than 5 min without advice"),
        Spoken(HOUR + 60, "controller: 240 listings read, 0 advice, 0 commands in the last hour"),
    )


TEXTS: dict[str, Text] = {
    "every_fifty": every_fifty,
    "bursts": bursts,
    "rollback": rollback,
    "clock_off": clock_off,
    "summer_time": summer_time,
    "longer_sequences": longer_sequences,
    "watcher": watcher,
}
