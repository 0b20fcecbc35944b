"""What do people want to train? A stream of works, each with its size, its life and what will become of it."""

import json
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lab.fleet import draws, published
from lab.fleet.classes import (
    CANCELLED,
    EVALUATION,
    HANG,
    LONG_SAVE,
    PREEMPTED,
    PROGRAM,
    START,
    TIME_LIMIT,
    Kind,
)
from lab.fleet.options import Options
from lab.simulate.play import Fault, Play

NAMES = (
    "gpt-pretrain",
    "moe-pretrain",
    "vision-large",
    "speech-base",
    "reward-model",
    "diffusion-xl",
    "protein-fold",
)
USERS = ("trainer", "research", "vision", "speech")


@dataclass(frozen=True, slots=True)
class Work:
    """One thing to be trained. `play` is its first job; `plan` says of which class each of the play's faults is."""

    number: int
    at: float  # epoch seconds of its first submission
    play: Play
    plan: tuple[Kind, ...]

    def kind_of(self, fault: Fault) -> Kind | None:
        """The class of one of its own faults."""
        return next((kind for own, kind in zip(self.play.faults, self.plan, strict=True) if own == fault), None)

    def without(self, gone: Kind) -> "Work":
        """The same work once `gone` has been mended or has passed."""
        left = [pair for pair in zip(self.play.faults, self.plan, strict=True) if pair[1] is not gone]
        play = replace(self.play, faults=tuple(fault for fault, _ in left))
        return replace(self, play=play, plan=tuple(kind for _, kind in left))

    def without_limit(self) -> "Work":
        """The same work with all the time that it needs."""
        return replace(self, play=replace(self.play, time_limit_seconds=0))


def mean_node_hours(options: Options) -> float:
    """Node-hours that a work takes when nothing happens to it."""
    return draws.mean_size(largest(options)) * draws.mean_life() / 3600


def largest(options: Options) -> int:
    """Nodes of the biggest job that is submitted."""
    return max(1, int(options.nodes * published.LARGEST_SHARE))


def works(options: Options) -> Iterator[Work]:
    """The stream, by time: enough to keep `published.BUSY` of the nodes busy, and faster at the start."""
    per_day = options.nodes * 24 * published.BUSY / mean_node_hours(options)
    dice = draws.chance(options.seed, "arrivals")
    first = math.ceil(options.nodes * published.BUSY / draws.mean_size(largest(options)))
    yield from (work(options, number, options.start + 60.0 + 20.0 * number) for number in range(first))
    for number, at in enumerate(draws.times(dice, per_day, options.start, options.end), first):
        yield work(options, number, at)


def work(options: Options, number: int, at: float) -> Work:
    """The work of this number: it depends on the seed and the number alone."""
    dice = draws.chance(options.seed, "work", number)
    nodes, seconds = draws.size(dice, largest(options)), draws.life(dice)
    steps = max(2, round(seconds / options.step_seconds))
    planned = list(_planned(options, dice, steps))
    limit = 0
    if any(kind is TIME_LIMIT for _, kind in planned):
        limit = int(seconds * dice.uniform(0.3, 0.9))
        planned = [one for one in planned if one[1] is not TIME_LIMIT]
    play = Play(
        name=f"{NAMES[number % len(NAMES)]}-{number}",
        user=dice.choice(USERS),
        nodes=nodes,
        comment=COMMENT,
        output="%x_%j.log",
        steps=steps,
        step_seconds=options.step_seconds,
        checkpoint_every=max(1, round(published.CHECKPOINT_SECONDS / options.step_seconds)),
        startup_seconds=draws.within(dice, published.START_UP_SECONDS),
        time_limit_seconds=limit,
        faults=tuple(fault for fault, _ in planned),
    )
    return Work(number, at, play, tuple(kind for _, kind in planned))


def _planned(options: Options, dice: random.Random, steps: int) -> Iterator[tuple[Fault, Kind]]:
    """What its user and its program do to it. At most one of its user's doings ends it."""
    chance = dice.random()
    if chance < published.PROGRAM_SHARE:
        kind = draws.pick(dice, PROGRAM)
        after = draws.delay(dice, published.PROGRAM_MEDIAN_SECONDS, published.PROGRAM_SIGMA)
        step = 0 if kind is START else max(2, min(steps, round(after / options.step_seconds)))
        yield kind.fault(dice, node=dice.randrange(128), step=step, attempt=None), kind
    elif (chance := chance - published.PROGRAM_SHARE) < published.KILLED_SHARE:
        yield CANCELLED.fault(dice, step=dice.randint(1, steps), attempt=None), CANCELLED
    elif (chance := chance - published.KILLED_SHARE) < published.TIME_LIMIT_SHARE:
        yield TIME_LIMIT.fault(dice, attempt=0), TIME_LIMIT
    elif chance - published.TIME_LIMIT_SHARE < published.PREEMPTED_SHARE:
        step = round(published.PREEMPTED_AFTER_SECONDS / options.step_seconds)
        if step < steps:
            yield PREEMPTED.fault(dice, step=dice.randint(step, steps), attempt=0), PREEMPTED
    if dice.random() < published.HANG_SHARE:
        yield HANG.fault(dice, step=dice.randint(2, steps), attempt=0), HANG
    yield from _pauses(options, dice, steps)


def _pauses(options: Options, dice: random.Random, steps: int) -> Iterator[tuple[Fault, Kind]]:
    every = max(1, round(published.CHECKPOINT_SECONDS / options.step_seconds))
    if dice.random() < published.EVALUATION_SHARE and steps > 30:
        step, seconds = dice.randint(25, steps), draws.within(dice, published.EVALUATION_SECONDS)
        fault = EVALUATION.fault(dice, step=step, attempt=0)
        after = (
            f" validation loss at iteration {step - 1} | lm loss value: 2.103841E+00 | lm loss PPL: 8.197605E+00 | "
        )
        yield replace(fault, seconds=seconds, lines=("Evaluating on 40960 samples",), after=(after,)), EVALUATION
    if dice.random() < published.LONG_SAVE_SHARE and steps > 2 * every:
        step, seconds = every * dice.randint(2, steps // every), draws.within(dice, published.LONG_SAVE_SECONDS)
        fault = LONG_SAVE.fault(dice, step=step, attempt=0)
        before = f"saving checkpoint at iteration {step - 1:7d} to /ckpt/long in torch_dist format"
        after = f"  successfully saved checkpoint from iteration {step - 1:7d} to /ckpt/long [ t 1/8, p 1/1 ]"
        yield replace(fault, seconds=seconds, lines=(before,), after=(after,)), LONG_SAVE


COMMENT = json.dumps(
    {
        "nvidia-recovery": {"environment": "fleet", "mode": "action"},
        "APS": {"auto_resume_mode": "requeue", "max_requeue_times": 10},
    }
)
"""Every job of the fleet asks to be recovered: the mode of the cluster decides whether it is."""
