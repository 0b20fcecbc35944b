"""`manage.py demo`: simulated clusters, site, controllers and watchdog in one command."""

import shutil
import signal
import sys
import tempfile
import threading
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from console.sign_in_links import make_link
from recovery_site.demo import CLUSTERS, Children, furnish, start_controllers, start_simulator
from recovery_site.embedded import EmbeddedSite, listening_socket
from workloads.models import Cluster

WELCOME = """
  Recovery Console   {address}/
  sign in once with  {address}{link}

  Within a minute a training job on the cluster `demo` loses a GPU and comes back without that node;
  on `demo-monitor` Rekindle only says what it would do. Logs: {folder}. Ctrl-C stops all.
"""


def _end(_number: int, _frame: object) -> None:
    """A signal before the site is up, or while it stops: end by way of what must be undone."""
    sys.exit("Stopped.")


class Command(BaseCommand):
    """Runs the demo until Ctrl-C."""

    help = "Run a simulated cluster, the site, controllers and a watchdog, until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where its files are."""
        parser.add_argument(
            "--folder",
            type=Path,
            help="where the demo keeps its files; default: a temporary folder that goes with it",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Put everything together, serve, and take it apart again."""
        folder = options["folder"] or Path(tempfile.mkdtemp(prefix="rekindle-demo-"))
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # tokens and the database are in it
        children = Children(folder)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _end)
        try:
            status = self._run(children)
        except (OSError, TimeoutError) as error:
            raise CommandError(str(error)) from error
        finally:
            children.stop()
            if not options["folder"]:
                shutil.rmtree(folder, ignore_errors=True)
        self.stdout.write("Everything is stopped.")
        if status:
            raise CommandError("The worker or the beat died; see the log above.", returncode=status)

    def _run(self, children: Children) -> int:
        call_command("migrate", verbosity=0)
        if Cluster.objects.exclude(name__in=CLUSTERS).exists():
            raise CommandError("This database holds real clusters: the demo runs on one of its own (./run demo).")
        self.stdout.write("Starting the simulated clusters …")
        person = furnish(children.folder, timezone.now())
        start_simulator(children)
        listen = self._listen()
        address = f"http://127.0.0.1:{listen.getsockname()[1]}"
        threading.Thread(target=children.keep_running, daemon=True).start()

        def when_up() -> None:
            threading.Thread(target=start, daemon=True).start()

        def start() -> None:
            start_controllers(children, address, timezone.now())
            link = make_link(person, timezone.now())
            self.stdout.write(WELCOME.format(address=address, link=link, folder=children.folder))
            self.stdout.flush()

        return EmbeddedSite(listen, when_up).run()

    def _listen(self) -> Any:
        wanted = settings.REKINDLE["REKINDLE_LISTEN"]
        try:
            return listening_socket(wanted)
        except OSError:
            host = wanted.rpartition(":")[0]
            self.stdout.write(f"{wanted} is taken; using a free port.")
            return listening_socket(f"{host}:0")
