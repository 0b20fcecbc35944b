"""Which options has the stand-in? Whatever is wrong with them is said in one sentence, with exit code 2."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from lab.dialects.known import DIALECTS
from lab.trainer.orders import BadOrder, Order, orders_told, parse

ONE_RANK = """One rank of the stand-in for a training job, as srun or torchrun starts it.
`python -m lab.trainer local --ranks N …` starts all ranks on this machine."""
ENGINES = ("sockets", "torch")


class BadOption(ValueError):
    """One sentence about what is wrong."""


@dataclass(frozen=True, slots=True)
class Options:
    """Of one rank; `timeout_seconds` of a collective, `None`: it waits for ever."""

    steps: int
    step_seconds: float
    checkpoint_every: int
    folder: Path
    address: tuple[str, int]
    orders: tuple[Order, ...]
    dialect: str
    engine: str
    truth: Path | None
    case: str
    timeout_seconds: float | None
    wait_seconds: float


class Parser(argparse.ArgumentParser):
    """A parser that says one sentence instead of its whole usage."""

    def error(self, message: str) -> NoReturn:
        """`BadOption`, with a capital letter and a full stop."""
        raise BadOption(f"{message[:1].upper()}{message[1:].rstrip('.')}.")


def read(words: Sequence[str]) -> Options:
    """The options of a rank. `BadOption` or `BadOrder` for the first one that is wrong."""
    told = _parser().parse_args(words)
    for name in ("steps", "checkpoint_every", "step_seconds", "wait_seconds", "timeout_seconds"):
        least = 1 if isinstance(getattr(told, name), int) else 0
        if getattr(told, name) < least:
            raise BadOption(f"--{name.replace('_', '-')} must be at least {least}.")
    if told.port is None:
        raise BadOption("--port is needed: of the ranks' meeting.")
    if (told.truth is None) != (not told.case):
        raise BadOption("--truth and --case go together.")
    if told.truth is not None and not told.truth.absolute().parent.is_dir():
        raise BadOption(f"--truth: there is no folder {told.truth.absolute().parent}.")
    return Options(
        steps=told.steps,
        step_seconds=told.step_seconds,
        checkpoint_every=told.checkpoint_every,
        folder=told.folder,
        address=(told.address, told.port),
        orders=parse(told.faults),
        dialect=told.dialect,
        engine=told.engine,
        truth=told.truth,
        case=told.case,
        timeout_seconds=told.timeout_seconds or None,
        wait_seconds=told.wait_seconds,
    )


def _parser() -> Parser:
    parser = Parser(
        prog="python -m lab.trainer",
        description=ONE_RANK,
        epilog=orders_told(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_options(parser)
    return parser


def add_options(parser: argparse.ArgumentParser) -> None:
    """What each rank takes; `local` takes it for all of them."""
    parser.add_argument("--steps", type=int, default=60, help="of the whole training; default: 60", metavar="N")
    parser.add_argument("--step-seconds", type=float, default=0.5, help="default: 0.5", metavar="N")
    parser.add_argument("--checkpoint-every", type=int, default=10, help="so many steps; default: 10", metavar="N")
    parser.add_argument(
        "--folder",
        type=Path,
        required=True,
        metavar="DIR",
        help="where checkpoints are kept; what is there is resumed",
    )
    parser.add_argument(
        "--faults", default="[]", metavar="JSON", help="what shall break, where and when; see below"
    )
    parser.add_argument(
        "--dialect", choices=tuple(DIALECTS), default="megatron", help="of the log lines; default: megatron"
    )
    parser.add_argument(
        "--engine", choices=ENGINES, default="sockets", help="torch: PyTorch's own collectives; default: sockets"
    )
    _add_meeting(parser)


def _add_meeting(parser: argparse.ArgumentParser) -> None:
    """Where the ranks meet, and what is written of their deeds."""
    parser.add_argument("--address", default="127.0.0.1", help="of rank 0; default: 127.0.0.1")
    parser.add_argument(
        "--port",
        type=int,
        default=os.environ.get("MASTER_PORT"),
        help="of the ranks' meeting",
        metavar="N",
    )
    parser.add_argument(
        "--truth", type=Path, metavar="FILE", help="where each deed is written down just before it is done"
    )
    parser.add_argument("--case", default="", metavar="NAME", help="whose deeds they are; goes with --truth")
    parser.add_argument(
        "--timeout-seconds",
        type=float,
        default=0.0,
        help="of a collective; 0, the default: it waits for ever",
        metavar="N",
    )
    parser.add_argument(
        "--wait-seconds",
        type=float,
        default=30.0,
        help="for all ranks to come; default: 30",
        metavar="N",
    )


__all__ = ["BadOption", "BadOrder", "Options", "Parser", "read"]
