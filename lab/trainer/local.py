"""How does one machine run all ranks by itself? As srun does with --kill-on-bad-exit: one fails, all end."""

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
import types
from collections.abc import Sequence
from dataclasses import dataclass

from lab.trainer.options import BadOption, Options, Parser, add_options, read
from lab.trainer.orders import orders_told

PURPOSE = """All ranks of the stand-in for a training job, on this machine. As with srun --kill-on-bad-exit, all end
when one fails. Exit status: that of the first rank that failed; 2 for a mistake; 130 after Ctrl-C."""
GRACE_SECONDS = 1.0  # in which the other ranks may tell by themselves that a peer has gone
TERM_SECONDS = 1.0  # between SIGTERM and SIGKILL
LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Ended:
    """A rank that ended; `code` as subprocess tells it: negative for a signal."""

    rank: int
    code: int

    def __str__(self) -> str:
        if self.code >= 0:
            return f"rank {self.rank}: exit code {self.code}"
        return f"rank {self.rank}: {signal.strsignal(-self.code)}"

    @property
    def status(self) -> int:
        """As a shell tells it."""
        return self.code if self.code >= 0 else 128 - self.code


def main(words: Sequence[str]) -> int:
    """Start the ranks and wait for them. The status of the first one that failed, 130 after Ctrl-C."""
    told, rest = _told(words)
    hosts = [host for host in told.hosts.split(",") if host]
    if told.ranks < 1 or told.ranks % (len(hosts) or 1):
        raise BadOption("--ranks must be at least 1, and the same number on each host.")
    if told.attempt < 0:
        raise BadOption("--attempt must be at least 0.")
    if "--port" not in rest:
        rest = [*rest, "--port", str(_free_port())]
    _check(read(rest), told.ranks, hosts)  # says now, and once, what each rank would say
    environment = {**os.environ, "WORLD_SIZE": str(told.ranks), "TORCHELASTIC_RESTART_COUNT": str(told.attempt)}
    environment |= {"LAB_LAUNCHER": str(os.getpid()), **({"LAB_HOSTS": ",".join(hosts)} if hosts else {})}
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    ranks: list[subprocess.Popen[bytes]] = []
    try:
        for rank in range(told.ranks):
            ranks.append(_start(rank, rest, environment))
        return _wait(ranks)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)  # a second one must not leave half of them
        _stop(ranks)


def _told(words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Our own options, and the words for the ranks. The help is about both."""
    ours = Parser(add_help=False, allow_abbrev=False)
    group = ours.add_argument_group("all ranks")
    group.add_argument("--ranks", type=int, default=4, metavar="N", help="how many; default: 4")
    group.add_argument("--attempt", type=int, default=0, metavar="N", help="which restart this is; default: 0")
    group.add_argument(
        "--hosts",
        default="",
        metavar="NAMES",
        help="with commas: the hosts that this machine plays; default: itself",
    )
    if {"-h", "--help"} & set(words):
        every = argparse.ArgumentParser(
            "python -m lab.trainer local",
            description=PURPOSE,
            epilog=orders_told(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            parents=[ours],
        )
        add_options(every)
        every.print_help()
        sys.exit(0)
    return ours.parse_known_args(list(words))


def _check(options: Options, ranks: int, hosts: Sequence[str]) -> None:
    """Raises `BadOption` for what would silently never happen, and for a folder in which nothing can be saved."""
    names = hosts or [socket.gethostname()]
    for number, order in enumerate(options.orders, 1):
        if beyond := [rank for rank in order.ranks if rank >= ranks]:
            raise BadOption(
                f"Order {number} ({order.kind}): there is no rank {beyond[0]}; the last is {ranks - 1}."
            )
        if order.host and order.host not in names:
            raise BadOption(f"Order {number} ({order.kind}): the host is none of {', '.join(names)}.")
    try:
        options.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadOption(f"--folder {options.folder} cannot be made: {error.strerror}.") from None


def _start(rank: int, words: Sequence[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """A rank in a session of its own: Ctrl-C is for us."""
    command = [sys.executable, "-m", "lab.trainer", *words]
    own = {**environment, "RANK": str(rank)}
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, env=own, start_new_session=True)


def _wait(ranks: list[subprocess.Popen[bytes]]) -> int:
    """Until all have ended well, or one has not; then the others get a moment to tell it by themselves."""
    while True:
        ended = _ended(ranks)
        failed = [one for one in ended if one.code]
        if failed:
            _until_gone(ranks, GRACE_SECONDS)
            told = "; ".join(str(one) for one in _ended(ranks))
            print(f"lab.trainer: {told}; whoever is left is ended.", file=sys.stderr, flush=True)
            return failed[0].status
        if len(ended) == len(ranks):
            return 0
        time.sleep(LOOK_SECONDS)


def _ended(ranks: list[subprocess.Popen[bytes]]) -> list[Ended]:
    return [Ended(rank, process.returncode) for rank, process in enumerate(ranks) if process.poll() is not None]


def _stop(ranks: list[subprocess.Popen[bytes]]) -> None:
    # All at the same moment: a rank whose peer is gone a moment before it would tell of a broken connection.
    alive = [process for process in ranks if process.poll() is None]
    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGCONT):
        for process in alive:
            process.send_signal(number)
    _until_gone(ranks, TERM_SECONDS)
    for process in ranks:
        process.kill()
        process.wait()


def _until_gone(ranks: list[subprocess.Popen[bytes]], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(process.poll() is None for process in ranks):
        time.sleep(LOOK_SECONDS)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _end(number: int, _frame: types.FrameType | None) -> None:
    sys.exit(128 + number)
