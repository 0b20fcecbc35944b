#!/usr/bin/python3 -I
"""Which commands of Slurm may Rekindle run over SSH, and with which arguments? These, and nothing else.

This file stands alone: Python 3.7 or later, its standard library, no other file of Rekindle. Put it on the login
host, owned by root, writable by nobody else, and name it before Rekindle's key in `authorized_keys` (one line):

    restrict,command="/usr/local/libexec/rekindle/forced_command.py --may read" ssh-ed25519 AAAA... rekindle-site

`--may read` (the default) lists and shows. `--may release` may release held jobs, too: for the watchdog.
`--may act` is what the controller needs. `--bin DIR` is where Slurm's commands are, `--conf FILE` is SLURM_CONF.

The client asks for the word `rekindle/1` and sends one JSON object on standard input:
{"argv": ["scontrol", "release", "12"], "seconds": 10}. No shell sees any of it: every argument is compared with the
whole of a pattern below, and the list as it is becomes the command's arguments. What fits no row is refused (64).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys

WORD = "rekindle/1"
REFUSED = 64
LARGEST_REQUEST = 131072  # bytes
REQUEST_SECONDS = 20
LONGEST_COMMENT = 10000  # bytes, what AdminComment was seen to take
MOST_SECONDS = 120.0
OF_SSH = 255  # means a broken connection to the client, so no command may end with it

JOB = r"[1-9][0-9]{0,9}(_[0-9]{1,9})?"
NUMBER = r"[1-9][0-9]{0,9}"
TASK = r"[0-9]{1,9}(-[0-9]{1,9})?"
TASKS = rf"{NUMBER}_\[?{TASK}(,{TASK})*\]?"  # several tasks of an array
NODE = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}"
NODES = f"({NODE}(,{NODE})*)?"
BORDER = r"[\x1e\x1f][A-Za-z0-9_-]{0,16}"  # control characters between fields, and letters by chance
COLUMN = r"[A-Za-z_]{1,32}:" + BORDER
COLUMNS = f"{COLUMN}(,{COLUMN}){{0,63}}"
LISTING = ("squeue", "-h", "-a", "-r", "-t", "all", "-O", COLUMNS)
FIELDS = r"[A-Za-z]{1,32}(,[A-Za-z]{1,32}){0,31}"

READ = (
    LISTING,
    (*LISTING, "-j", NUMBER),
    ("scontrol", "-o", "show", "job", JOB),
    ("scontrol", "-o", "show", "nodes"),
    ("scontrol", "show", "config"),
    ("scontrol", "ping"),
    ("sdiag",),
    ("sacct", "-n", "-D", "-X", "-p", "--delimiter=" + BORDER, "-o", FIELDS, "-j", NUMBER),
)
RELEASE = (("scontrol", "release", JOB),)
ACT = (
    ("scontrol", "requeuehold", JOB),
    ("scontrol", "requeuehold", "Incomplete", JOB),
    ("scontrol", "update", "JobId=" + JOB, r"AdminComment=[^\0]*"),
    ("scontrol", "update", f"JobId=({JOB}|{TASKS})", "ExcNodeList=" + NODES),
    ("scontrol", "update", "JobId=" + JOB, "StartTime=uts[0-9]{1,11}"),
    ("scancel", JOB),
)
MAY = {"read": READ, "release": READ + RELEASE, "act": READ + RELEASE + ACT}


class Refused(Exception):
    """The request is not carried out; the sentence says why."""


def asked_for() -> bytes:
    """What the client sends, all of it within a limit: nobody keeps processes here by saying nothing."""

    def late(number: int, frame: object) -> None:
        raise Refused(f"the request did not come within {REQUEST_SECONDS} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(REQUEST_SECONDS)
    content = sys.stdin.buffer.read(LARGEST_REQUEST + 1)
    signal.alarm(0)
    return content


def permitted(argv: list[str], rows: tuple[tuple[str, ...], ...]) -> bool:
    """Whether every argument as a whole fits one row."""

    def fits(row: tuple[str, ...]) -> bool:
        return len(row) == len(argv) and all(map(re.fullmatch, row, argv))

    return any(fits(row) for row in rows)


def request(word: str | None, content: bytes) -> tuple[list[str], float]:
    """The arguments and the time limit that the client asks for. Raises `Refused`."""
    if word != WORD:
        raise Refused(f"only {WORD} is answered here: no shell, no file transfer, no other command")
    if len(content) > LARGEST_REQUEST:
        raise Refused(f"the request is larger than {LARGEST_REQUEST} bytes")
    try:
        asked = json.loads(content.decode())
    except (ValueError, RecursionError):
        raise Refused("the request is no JSON") from None
    if not isinstance(asked, dict) or set(asked) != {"argv", "seconds"}:
        raise Refused("the request is no object with argv and seconds")
    argv, seconds = asked["argv"], asked["seconds"]
    if not isinstance(argv, list) or not argv or not all(isinstance(word, str) for word in argv):
        raise Refused("argv is no list of texts")
    if type(seconds) not in (int, float) or not 0 < seconds <= MOST_SECONDS:
        raise Refused(f"seconds is no number from 0 to {MOST_SECONDS:g}")
    try:
        longest = max(len(word.encode()) for word in argv)
    except UnicodeError:
        raise Refused("an argument is no text") from None
    if longest > LONGEST_COMMENT + 16:
        raise Refused(f"an argument is longer than {LONGEST_COMMENT + 16} bytes")
    return argv, float(seconds)


def environment(folder: str, config: str) -> dict[str, str]:
    """All that the command sees: nothing of what the client or its account brought along."""
    values = {"PATH": folder, "LC_ALL": "C.UTF-8", "SLURM_TIME_FORMAT": "%s"}
    if config:
        values["SLURM_CONF"] = config
    return values


def carry_out(argv: list[str], seconds: float, folder: str, config: str) -> int:
    """Run the command; its outputs are the client's. Returns its exit status, 124 when it took too long."""
    program = os.path.join(folder, argv[0])
    try:
        run = subprocess.run(
            [program, *argv[1:]],
            stdin=subprocess.DEVNULL,
            env=environment(folder, config),
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        sys.stderr.write(f"forced command: Socket timed out: no answer within {seconds:g} s\n")
        return 124
    except OSError as error:
        raise Refused(f"{program} cannot be started: {error.strerror}") from None
    status = run.returncode if run.returncode >= 0 else 128 - run.returncode
    return OF_SSH - 1 if status == OF_SSH else status


def main(arguments: list[str]) -> int:
    """Answer one request; returns the exit status."""
    parser = argparse.ArgumentParser(description="Runs the commands that Rekindle may run over SSH.")
    parser.add_argument("--may", choices=sorted(MAY), default="read")
    parser.add_argument("--bin", default="/usr/bin", help="folder of Slurm's commands")
    parser.add_argument("--conf", default="", help="SLURM_CONF")
    options = parser.parse_args(arguments)
    try:
        word = os.environ.get("SSH_ORIGINAL_COMMAND")
        content = asked_for() if word == WORD else b""
        argv, seconds = request(word, content)
        if not permitted(argv, MAY[options.may]):
            raise Refused(f"these arguments are not permitted to a key that may {options.may}")
        return carry_out(argv, seconds, options.bin, options.conf)
    except Refused as refusal:
        sys.stderr.write(f"forced command refused: {refusal}\n")
        return REFUSED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
