"""`./run lab`: how is the fault lab used from a shell?"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from lab.cases.catalogue import CASES
from lab.choosing import GROUPS, SIMULATED, SLURM, BadChoice, choose, listing
from lab.fleet.options import Options
from lab.measuring import Measured, measure_cases, measure_corpus, measure_fleet
from lab.score.docs import NoPlace, write
from lab.score.labelled import BadCorpus
from lab.slurm.cluster import LabError
from lab.virtual.child import ROOT, ChildFailed

DONE, INCOMPLETE, WRONG = 0, 1, 2
STOPPED = 130  # as a shell says of Ctrl-C
FLEET = "fleet"
HELP = """\
examples:
  ./run lab --list
  ./run lab --on simulated --faults all           every fault and trap, in virtual time
  ./run lab --on simulated --faults sigkill,xid-48-ecc --json card.json
  ./run lab --on slurm --faults representative    20 faults and 10 traps on a private real Slurm (Debian 12, root)
  ./run lab --on fleet --days 30 --nodes 512      a fleet with and without the product
  ./run lab --corpus labelled.jsonl               labelled log text, read by the whole product

The score card goes to stdout, progress to stderr. The product never sees what is true of a case.
Exit status: 0; 1 when a case was not put on or the lab itself failed; 2 for a mistake in the command line.
"""


class _Parser(argparse.ArgumentParser):
    """A mistake is one sentence."""

    def error(self, message: str) -> NoReturn:
        """Say it and end with status 2."""
        self.exit(WRONG, f"lab: {message}\n")


class _Mistake(Exception):
    """The command line cannot be meant; the text says why."""


def main(argv: Sequence[str]) -> int:
    """Do what the arguments say; the exit status."""
    told = _parser().parse_args(argv)
    try:
        if told.list:
            print(listing(CASES))
            return DONE
        _check(told)
        measured = _measure(told)
        if told.write:
            write(measured.card, ROOT)
            say("README.md and docs/scorecard.md are written")
    except (_Mistake, BadChoice, BadCorpus, NoPlace) as mistake:
        say(str(mistake))
        return WRONG
    except (ChildFailed, LabError, OSError) as error:
        say(f"the lab failed: {error}")
        return INCOMPLETE
    except KeyboardInterrupt:
        say("stopped")
        return STOPPED
    print(measured.text)
    if told.json:
        told.json.write_text(json.dumps(measured.values, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    return DONE if measured.complete else INCOMPLETE


def say(line: str) -> None:
    """One line of progress."""
    sys.stderr.write(f"lab: {line}\n")
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
        wanted.mkdir(parents=True)
        yield wanted.resolve()
        return
    folder = Path(tempfile.mkdtemp(prefix="rk-lab-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check(told: argparse.Namespace) -> None:
    """Everything that can be known to be wrong before hours are spent. Raises `_Mistake`."""
    given = [bool(told.on), bool(told.corpus)]
    rules = (
        (sum(given) != 1, "say --list, or --on simulated, slurm or fleet, or --corpus FILE; --help says more."),
        (
            told.faults != ["all"] and told.on not in (SIMULATED, SLURM),
            "--faults is for --on simulated and slurm.",
        ),
        (told.on != FLEET and (told.days or told.nodes), "--days and --nodes go with --on fleet."),
        (told.days is not None and told.days <= 0, "--days must be more than 0."),
        (told.nodes is not None and told.nodes < 1, "--nodes must be at least 1."),
        (told.folder is not None and told.folder.exists(), f"{told.folder} is there already."),
        (bool(told.json) and not told.json.absolute().parent.is_dir(), f"there is no folder for {told.json}."),
        (bool(told.json) and told.json.is_dir(), f"{told.json} is a folder."),
        (bool(told.corpus) and not told.corpus.is_file(), f"there is no file {told.corpus}."),
    )
    if wrong := next((sentence for is_wrong, sentence in rules if is_wrong), ""):
        raise _Mistake(wrong)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="./run lab",
        description="Faults with known truth, traps, and a score card of what the product said.",
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    groups = ", ".join(GROUPS)
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
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the score card there, as JSON")
    parser.add_argument("--write", action="store_true", help="keep the card and write README and docs/scorecard.md")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of all chance; default: 1")
    parser.add_argument("--days", type=float, metavar="N", help="of the fleet")
    parser.add_argument("--nodes", type=int, metavar="N", help="of the fleet")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="a new folder in which logs and truth are kept")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
