"""`./run diagnose FILE…`: what happened to a job, by its logs alone. Opens no database and needs no Django."""

import io
import json
import os
import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from advisor_api.diagnosing.recommending import recommend
from advisor_api.diagnosing.showing import page_of, safe
from advisor_api.diagnosing.verdict import verdict_of
from detectors.diagnosing.accounting import LONGEST, BadAccounting, Told, read_accounting
from detectors.diagnosing.naming import BadPattern, NameReader
from detectors.diagnosing.opening import STDIN
from detectors.diagnosing.reading import Asked, read

NOTHING, MISTAKE, UNREADABLE, CRASH, HANG, STRAGGLER, STOPPED = 0, 2, 3, 10, 11, 12, 130
STATUS = {"crash": CRASH, "nan": CRASH, "hang": HANG, "straggler": STRAGGLER, "no_checkpoint": STRAGGLER}
HELP = "What happened to a job, why, and which node was it? Reads its logs alone."
PATIENCE = timedelta(seconds=1)  # without a word about how far it is
EPILOG = """\
All files together are read as the logs of one attempt of one job. A folder is read with the folders below it;
'-' is standard input; gzip, bzip2 and xz are unpacked. Without --scheduler the end of the job is not known: it is
taken to have ended when the text shows the symptom of an end. Nothing is stored and nothing is done.

exit status:
   0  nothing found
  10  crash (also a loss that is no number, and an end that the scheduler decided)
  11  hang
  12  straggler: it moves, but slower than it did, or without saving checkpoints
   2  a mistake in the command line, or standard output cannot be written
   3  nothing could be read; or nothing was found and not everything could be read

examples:
  ./run diagnose slurm-4711.out
  ./run diagnose logs/4711/ --node-of '%N/rank-%t.log' --scheduler sacct.json
  kubectl logs worker-0 | ./run diagnose - --json
"""


class _Unwritable(Exception):
    """The message is a sentence."""


def add_arguments(parser: ArgumentParser) -> None:
    """Files and what is known beside them."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="a log, a folder, or - for standard input")
    parser.add_argument("--json", action="store_true", help="print the whole verdict as JSON")
    parser.add_argument(
        "--node-of",
        metavar="PATTERN",
        help="how the end of a file's path names its node (%%N) and rank (%%t), e.g. '%%N/rank-%%t.log'",
    )
    parser.add_argument("--scheduler", metavar="FILE", help="what `sacct --json -j JOB` says of the job")


def main(arguments: Sequence[str]) -> int:
    """Without Django, whose start takes longer than reading a few megabytes."""
    parser = ArgumentParser(
        "./run diagnose", description=HELP, epilog=EPILOG, formatter_class=RawDescriptionHelpFormatter
    )
    add_arguments(parser)
    return Door(sys.stdout, sys.stderr).answer(vars(parser.parse_args(arguments)))


class Door:
    """Reads logs, prints one verdict on `out`; what goes wrong, and how far it is, on `err`."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out, self._err = out, err

    def answer(self, options: Mapping[str, Any]) -> int:
        """Read, judge, print; gives the status."""
        try:
            return self._diagnose(options)
        except (BadPattern, BadAccounting, _Unwritable) as mistake:
            self._say(str(mistake))
            return MISTAKE
        except KeyboardInterrupt:
            return STOPPED
        except BrokenPipeError:  # whoever read the page has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return STOPPED

    def _say(self, sentence: str) -> None:
        self._err.write(f"diagnose: {safe(sentence, 400)}\n")

    def _diagnose(self, options: Mapping[str, Any]) -> int:
        told = self._told(options["scheduler"], options["files"])
        node_of = NameReader(options["node_of"]) if options["node_of"] is not None else None
        now = datetime.now(UTC)
        progress = _Progress(self._err)
        answer = read(Asked(options["files"], told, node_of, now, _stdin(), progress.seen))
        progress.end()
        for trouble in answer.troubles:
            self._say(trouble)
        diagnosis = answer.diagnosis
        if diagnosis is None:
            self._say("nothing could be read.")
            return UNREADABLE
        advised = recommend(diagnosis, answer.found, told)
        verdict = verdict_of(diagnosis, answer, told, advised)
        if options["json"]:
            # What JSON leaves raw and a terminal understands is DEL alone.
            text = json.dumps(verdict, indent=1, ensure_ascii=True).replace("\x7f", "\\u007f") + "\n"
        else:
            text = page_of(verdict, advised.because, len(answer.files), answer.size)
        self._print(text)
        if diagnosis.nothing:
            return UNREADABLE if answer.troubles else NOTHING
        return STATUS.get(str(verdict["detection"]["kind"]), CRASH)

    def _print(self, text: str) -> None:
        """Raises `_Unwritable` and `BrokenPipeError`."""
        try:
            self._out.write(text)
            self._out.flush()
        except BrokenPipeError:
            raise
        except (OSError, ValueError) as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            why = error.strerror if isinstance(error, OSError) and error.strerror else "it is closed"
            raise _Unwritable(f"The verdict cannot be written to standard output: {why}.") from None

    def _told(self, name: str | None, files: list[str]) -> Told:
        if name is None:
            return Told()
        if name == STDIN and STDIN in files:
            raise BadAccounting("Standard input cannot be both a log and the scheduler's file.")
        try:
            raw = _stdin().read(LONGEST + 1) if name == STDIN else _content(Path(name))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else "the name cannot be used"
            raise BadAccounting(f"The scheduler's file cannot be read: {why}.") from None
        if len(raw) > LONGEST:
            raise BadAccounting(f"The scheduler's file has more than {LONGEST >> 20} MiB.")
        return read_accounting(raw.decode("utf-8", "replace"))


def _stdin() -> BinaryIO:
    """Standard input; an empty one where the caller has closed it."""
    return sys.stdin.buffer if sys.stdin is not None else io.BufferedReader(io.BytesIO())


class _Progress:
    """Says on stderr how far it is, once a second, when it takes longer than that."""

    def __init__(self, err: TextIO) -> None:
        self._err = err
        self._said_at = time.monotonic()
        self._said = False

    def seen(self, size: int) -> None:
        """So many bytes are read."""
        now = time.monotonic()
        if now - self._said_at >= PATIENCE.total_seconds():
            self._said_at, self._said = now, True
            self._write(f"diagnose: {size / 1e6:.0f} MB read")

    def end(self) -> None:
        """The line of progress makes room."""
        if self._said and self._err.isatty():
            self._err.write("\r\x1b[K")

    def _write(self, line: str) -> None:
        self._err.write(f"\r{line}" if self._err.isatty() else f"{line}\n")
        self._err.flush()


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LONGEST + 1)
