"""`./run lab`: how is the fault lab used from a shell?"""

import argparse
import json
import math
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from detectors.attribution.attributing import SEARCH
from detectors.catalogue.catalogue import catalogue
from lab.calibrating.measuring import calibrate
from lab.calibrating.table import Versions, section, table
from lab.calibrating.table import write as keep
from lab.cases.catalogue import CASES
from lab.choosing import GROUPS, SIMULATED, SLURM, BadChoice, choose, listing
from lab.ending import signals_end
from lab.fleet.options import MOST_DAYS, MOST_NODES, Options
from lab.measuring import Measured, measure_cases, measure_corpus, measure_fleet, today
from lab.replay.asking import ReplayFailed
from lab.score.docs import NoPlace, check, read, write, write_pages
from lab.score.labelled import BadCorpus
from lab.slurm.cluster import LabError
from lab.virtual.child import ROOT, ChildFailed

DONE, INCOMPLETE, WRONG = 0, 1, 2
FLEET = "fleet"
MIN_SEEDS, MOST_SEEDS = 2, 100
WHOLE = {
    SIMULATED: (["all"],),
    SLURM: (["all"], ["representative"]),
    FLEET: (["all"],),
    None: (["all"], ["faults"]),
}
"""What a card that is kept has to be of."""
HELP = """\
examples:
  ./run lab --list
  ./run lab --on simulated --faults all           every fault and trap, in virtual time
  ./run lab --on simulated --faults sigkill,xid-48-ecc --json card.json
  ./run lab --on slurm --faults representative    20 faults and 10 traps on a private real Slurm (Debian 12, root)
  ./run lab --on fleet --days 30 --nodes 512      a fleet with and without the product
  ./run lab --corpus labelled.jsonl               labelled log text, read by the whole product
  ./run lab --calibrate 40 --write                confidence: fitted on seeds 1 to 20, reported on 21 to 40

The score card goes to stdout, progress to stderr. The product never sees what is true of a case.
Exit status: 0; 1 when a case was not put on, a verdict is another one when it is computed again, or the lab itself
failed; 2 for a mistake in the command line.
Ctrl-C takes everything away again, which takes some seconds with a real Slurm. docs/lab.md says more.
"""


class _Parser(argparse.ArgumentParser):
    """A mistake is one sentence."""

    def error(self, message: str) -> NoReturn:
        """Say it and end with status 2."""
        self.exit(WRONG, f"lab: {message}\n")


class _Mistake(Exception):
    """The command line cannot be meant; the text says why."""


def main(argv: Sequence[str]) -> int:
    """Do what the arguments say; the exit status. A signal that ends it gives that of a shell, e.g. 130."""
    told = _parser().parse_args(argv)
    try:
        if told.list:
            print(listing(CASES, _width()))
            return DONE
        _check(told)
        with signals_end():
            try:
                return _run(told)
            except SystemExit as ended:
                say("stopped")
                return int(ended.code or DONE)
    except (_Mistake, BadChoice, BadCorpus, NoPlace) as mistake:
        say(str(mistake))
        return WRONG
    except (ChildFailed, LabError, ReplayFailed, OSError) as error:
        say(f"the lab failed: {error}")
        return INCOMPLETE


def _run(told: argparse.Namespace) -> int:
    """Measure, and write the card wherever it is wanted: first where nothing can go wrong."""
    if told.calibrate:
        return _calibrate(told)
    measured = _measure(told)
    print(measured.text, flush=True)
    if told.json:
        told.json.write_text(json.dumps(measured.values, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    if told.write:
        write(measured.card, ROOT)
        say("README.md and docs/scorecard.md are written")
    return DONE if measured.complete else INCOMPLETE


def _calibrate(told: argparse.Namespace) -> int:
    """Measure how often verdicts are as right as they say."""
    chosen = choose(CASES, told.faults, SIMULATED)
    seeds = range(told.seed, told.seed + told.calibrate)
    versions = Versions(today(), SEARCH, catalogue().version)
    found = table(versions, calibrate(chosen, seeds, read(ROOT), say))
    print("\n".join(section(found)), flush=True)
    if told.json:
        told.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    if told.write:
        keep(found, ROOT)
        write_pages(ROOT)
        say("the table and docs/scorecard.md are written")
    return DONE


def _width() -> int:
    """Of the terminal, in columns; 0 when nobody looks: then a case is one line."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def say(line: str) -> None:
    """One line of progress. Names come from files: no character of theirs moves the cursor."""
    printable = "".join(sign if sign.isprintable() else " " for sign in line)
    sys.stderr.write(f"lab: {printable}\n")
    sys.stderr.flush()


def _measure(told: argparse.Namespace) -> Measured:
    with _folder(told.folder) as folder:
        if told.corpus:
            return measure_corpus(told.corpus, folder, say)
        if told.on == FLEET:
            usual = Options()
            days, nodes = told.days or usual.days, told.nodes or usual.nodes
            return measure_fleet(Options(days=days, nodes=nodes, seed=told.seed), folder, say)
        return measure_cases(choose(CASES, told.faults, told.on), told.on, told.seed, folder, say)


@contextmanager
def _folder(wanted: Path | None) -> Iterator[Path]:
    """The folder asked for, or one that goes with the run. Others may look into it: Slurm runs jobs as they are."""
    if wanted is not None:
        try:
            wanted.mkdir(parents=True)
        except OSError as error:
            raise _Mistake(f"--folder {wanted} cannot be made: {error.strerror}.") from None
        yield wanted.resolve()
        return
    folder = Path(tempfile.mkdtemp(prefix="rk-lab-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check(told: argparse.Namespace) -> None:
    """What can be known to be wrong before hours are spent. Raises `_Mistake`, `BadChoice`, `NoPlace`."""
    given = [bool(told.on), bool(told.corpus), told.calibrate is not None]
    fleet = [value for value in (told.days, told.nodes) if value is not None]
    rules = (
        (
            sum(given) != 1,
            "say --list, --on simulated, slurm or fleet, --corpus FILE, or --calibrate SEEDS; --help says more.",
        ),
        (
            told.calibrate is not None and not MIN_SEEDS <= told.calibrate <= MOST_SEEDS,
            f"--calibrate takes {MIN_SEEDS} to {MOST_SEEDS} seeds.",
        ),
        (
            told.faults != ["all"] and told.on not in (SIMULATED, SLURM) and not told.calibrate,
            "--faults is for --on simulated and slurm, and for --calibrate.",
        ),
        (told.on != FLEET and bool(fleet), "--days and --nodes go with --on fleet."),
        (not _inside(told.days, 0.01, MOST_DAYS), f"--days must be from 0.01 to {MOST_DAYS}."),
        (not _inside(told.nodes, 1, MOST_NODES), f"--nodes must be from 1 to {MOST_NODES}."),
        (
            told.write and told.faults not in WHOLE[told.on],
            "--write keeps the card of a whole run, and not of some.",
        ),
        (told.folder is not None and told.folder.exists(), f"{told.folder} is there already."),
        (bool(told.corpus) and not told.corpus.is_file(), f"there is no file {told.corpus}."),
    )
    if wrong := next((sentence for is_wrong, sentence in rules if is_wrong), ""):
        raise _Mistake(wrong)
    if told.json:
        _check_json(told.json)
    if told.write:
        check(ROOT)


def _check_json(file: Path) -> None:
    """Raises `_Mistake` when it cannot be written; what is there stays as it is."""
    folder = file.absolute().parent
    if not folder.is_dir():
        raise _Mistake(f"there is no folder {folder} for --json {file.name}.")
    if file.is_dir():
        raise _Mistake(f"--json {file} is a folder.")
    there = file.exists()
    try:
        file.open("ab").close()
    except OSError as error:
        raise _Mistake(f"--json {file} cannot be written: {error.strerror}.") from None
    if not there:
        file.unlink()


def _inside(value: float | None, least: float, most: float) -> bool:
    return value is None or (math.isfinite(value) and least <= value <= most)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="./run lab",
        description="Faults with known truth, traps, and a score card of what the product said.",
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    groups, usual = ", ".join(GROUPS), Options()
    parser.add_argument("--list", action="store_true", help="one line per case: fault or trap, name, where, what")
    parser.add_argument("--on", choices=(SIMULATED, SLURM, FLEET), help="where cases are put on")
    parser.add_argument(
        "--faults",
        default=["all"],
        type=lambda text: [word for word in text.split(",") if word],
        metavar="WHICH",
        help=f"{groups}, or names, with commas between them; default: all",
    )
    parser.add_argument("--corpus", type=Path, metavar="FILE", help="labelled log text, one JSON object a line")
    parser.add_argument(
        "--calibrate",
        type=int,
        metavar="SEEDS",
        help="how often verdicts are right that say the same, by so many seeds",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the score card there, as JSON")
    parser.add_argument("--write", action="store_true", help="keep the card and write README and docs/scorecard.md")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of all chance; default: 1")
    parser.add_argument(
        "--days", type=float, metavar="N", help=f"virtual days of the fleet; default: {usual.days:g}"
    )
    parser.add_argument("--nodes", type=int, metavar="N", help=f"nodes of the fleet; default: {usual.nodes}")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="a new folder in which logs and truth are kept")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
