"""How is the simulated cluster used from a shell? `python -m lab.simulate serve|submit|node|stop-controller|…`."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from lab.simulate.client import ask
from lab.simulate.folder import Folder, Occupied
from lab.simulate.scenario import BadScenario, scenario_of
from lab.simulate.serve import Server, open_cluster
from lab.simulate.verbs import VERB


def main(argv: Sequence[str]) -> int:
    """Do what the arguments say; the return code."""
    told = _parser().parse_args(argv)
    if told.verb == "serve":
        return serve(told.folders, told.scenario)
    words = [told.verb]
    if told.verb == "submit":
        try:
            words.append(Path(told.play).read_text("utf-8"))
        except (OSError, ValueError) as error:
            return _wrong(f"{told.play} cannot be read: {error}.")
    elif told.verb == "node":
        words += [told.name, told.what]
    try:
        code, out, err = ask(str(told.folder), [VERB, *words])
    except (OSError, ValueError):
        return _wrong(f"No simulated cluster is served in {told.folder}.")
    sys.stdout.buffer.write(out)
    sys.stderr.buffer.write(err)
    return code


def serve(folders: Sequence[Path], scenario: str) -> int:
    """Serve every folder, each with a scenario of its own, until SIGTERM."""
    try:
        places = [Folder(path) for path in dict.fromkeys(path.absolute() for path in folders)]
        scenarios = [scenario_of(scenario) for _ in places]
        for place in places:
            place.prepare()
        with Server([open_cluster(*pair, time.time()) for pair in zip(places, scenarios, strict=True)]) as server:
            server.run()
    except (BadScenario, Occupied) as mistake:
        return _wrong(str(mistake))
    except OSError as error:
        return _wrong(f"The clusters cannot be served: {error}.")
    return 0


def _wrong(sentence: str) -> int:
    sys.stderr.write(f"{sentence}\n")
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab.simulate", description="A simulated Slurm cluster.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("serve", help="serve clusters until SIGTERM")
    verb.add_argument("folders", metavar="DIR", nargs="+", type=Path, help="folder of a cluster, made when missing")
    verb.add_argument("--scenario", metavar="NAME|FILE", default="quiet", help="demo, fleet, quiet, or a file")
    verb = verbs.add_parser("submit", help="submit one job and print its number")
    verb.add_argument("folder", metavar="DIR", type=Path)
    verb.add_argument("--play", metavar="FILE", required=True, help="JSON: what the job does")
    verb = verbs.add_parser("node", help="lose, drain or resume a node")
    verb.add_argument("folder", metavar="DIR", type=Path)
    verb.add_argument("name", metavar="NAME")
    verb.add_argument("what", choices=("down", "drain", "resume"))
    for name, what in (("stop-controller", "answer as without slurmctld"), ("start-controller", "answer again")):
        verb = verbs.add_parser(name, help=what)
        verb.add_argument("folder", metavar="DIR", type=Path)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
