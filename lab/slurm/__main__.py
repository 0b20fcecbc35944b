"""`python -m lab.slurm start|status|stop|env DIR`, or `tryout`: a private Slurm by hand."""

import argparse
import sys
from pathlib import Path

from lab.slurm import tryout
from lab.slurm.cluster import LabError, SlurmCluster
from lab.slurm.layout import Layout


def main() -> int:
    """Do what the command line says; 0 when it was done (`status`: when every daemon lives)."""
    parser = argparse.ArgumentParser(
        prog="python -m lab.slurm", description="A private, real Slurm on one machine."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", help="build DIR from nothing and start everything")
    start.add_argument("--nodes", type=int, default=5)
    start.add_argument("--base-port", type=int, default=26000)
    start.add_argument("--min-job-age", type=int, default=300)
    start.add_argument("--no-accounting", action="store_true")
    start.add_argument("--ssh", action="store_true")
    start.add_argument("--rest", action="store_true")
    others = [
        commands.add_parser("status", help="every daemon with its process id"),
        commands.add_parser("stop", help="cancel jobs, end the daemons, remove DIR"),
        commands.add_parser("env", help="print the line that points clients at it"),
    ]
    commands.add_parser("tryout", help="a shell with a private Slurm that Rekindle watches; ends with the shell")
    for command in (start, *others):
        command.add_argument("folder", type=Path, metavar="DIR")
    arguments = parser.parse_args()
    try:
        return tryout.main() if arguments.command == "tryout" else _do(arguments)
    except LabError as error:
        print(f"lab.slurm: {error}", file=sys.stderr)
    except FileNotFoundError:
        print(f"lab.slurm: {arguments.folder} holds no cluster.", file=sys.stderr)
    return 1


def _do(arguments: argparse.Namespace) -> int:
    folder = arguments.folder.resolve()
    if arguments.command == "start":
        layout = Layout(
            folder,
            nodes=arguments.nodes,
            base_port=arguments.base_port,
            min_job_age=arguments.min_job_age,
            accounting=not arguments.no_accounting,
            ssh=arguments.ssh,
            rest=arguments.rest,
        )
        print(f"up in {SlurmCluster(layout).start():.1f} s; clients: export SLURM_CONF={layout.conf}")
        return 0
    cluster = SlurmCluster(Layout.load(folder))
    if arguments.command == "stop":
        cluster.stop()
        return 0
    if arguments.command == "env":
        print(f"export SLURM_CONF={cluster.layout.conf}")
        return 0
    states = cluster.status()
    for name, pid in states:
        print(f"{name:<14} {pid or 'dead'}")
    return 0 if all(pid for _, pid in states) else 1


if __name__ == "__main__":
    sys.exit(main())
