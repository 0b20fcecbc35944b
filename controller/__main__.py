"""`python -m controller`: which command was given, and is its configuration right?"""

import argparse
import importlib
import sys
from pathlib import Path

from controller.config import BadConfig, read_config
from controller.plain import write_line

# Each command is a module of its own and only that one is loaded: the watchdog carries no network client.
COMMANDS = {
    "run": ("controller.running", "carry out what the Advisor advises"),
    "push": ("controller.pushing", "push what the scheduler lists to an Advisor that must not ask it"),
    "watchdog": ("controller.watchdog", "release jobs that are held for too long; needs no Advisor"),
    "keep": ("controller.keeping", "keep a job held that the controller holds"),
    "hand-over": ("controller.handing", "hand what the watchdog did to the Advisor's trail"),
    "check": ("controller.checking", "check configuration, scheduler and Advisor, and say what would be done"),
    "keys": ("controller.keys_page", "print docs/controller.md: every key of the configuration"),
}
REHEARSAL = "controller.rehearsing"
MISTAKE = 2


def main(arguments: list[str]) -> int:
    """Run one command; returns the exit status: 2 for a mistake in the command line or the configuration."""
    parser = argparse.ArgumentParser(prog="python -m controller", description="The Slurm Advisor Controller.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (_, tells) in COMMANDS.items():
        command = commands.add_parser(name, help=tells, description=tells)
        if name == "keys":
            continue
        command.add_argument("--config", type=Path, required=True, help="the configuration, a TOML file")
        if name == "keep":
            command.add_argument("job", type=int, help="number of the job")
        if name in {"run", "push", "watchdog"}:
            command.add_argument("--once", action="store_true", help="one pass, then stop")
        if name == "run":
            command.add_argument(
                "--dry-run", action="store_true", help="print the commands it would send; send none"
            )
    options = parser.parse_args(arguments)
    module = COMMANDS[options.command][0]
    if options.command == "keys":
        printed: int = importlib.import_module(module).main()
        return printed
    try:
        settings = read_config(options.config)
    except BadConfig as error:
        for mistake in error.mistakes:
            write_line(mistake)
        return MISTAKE
    if getattr(options, "dry_run", False):
        module = REHEARSAL
    status: int = importlib.import_module(module).main(settings, options)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
