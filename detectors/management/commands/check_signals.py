"""`manage.py check_signals`: does a cluster give the detectors what they need? Looks only, and changes nothing."""

import json
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.utils import timezone

from detectors.signal_bounds import ATTEMPTS, MOST_ATTEMPTS
from detectors.signal_looking import NoSuchJob, Wanted, look_at_signals
from detectors.signals.report import as_json, as_text
from workloads.models import Cluster

NOT_LOOKED_AT = 2


class Command(BaseCommand):
    """Exit status 0: fine; 1: something is wrong; 2: something could not be looked at."""

    help = "Test a cluster's log sources against what the detectors need, job by job; changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which cluster, which of its jobs, and how to answer."""
        parser.add_argument("cluster")
        parser.add_argument("--job", type=int, help="only the newest attempt of the job with this number")
        parser.add_argument(
            "--attempts",
            type=int,
            default=ATTEMPTS,
            metavar="LIMIT",
            help=f"how many running attempts, the newest first (default {ATTEMPTS}, at most {MOST_ATTEMPTS})",
        )
        parser.add_argument("--json", action="store_true", help="the report as JSON")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Look once, and print what was found."""
        if not 1 <= options["attempts"] <= MOST_ATTEMPTS:
            raise CommandError(f"--attempts must be from 1 to {MOST_ATTEMPTS}.", returncode=NOT_LOOKED_AT)
        try:
            cluster = Cluster.objects.get(name=options["cluster"])
            wanted = Wanted(options["job"], options["attempts"])
            report = look_at_signals(cluster, wanted, timezone.now(), time.monotonic)
        except Cluster.DoesNotExist:
            sentence = f"There is no cluster {options['cluster']!r}; see `cluster list`."
            raise CommandError(sentence, returncode=NOT_LOOKED_AT) from None
        except NoSuchJob as error:
            raise CommandError(str(error), returncode=NOT_LOOKED_AT) from None
        except DatabaseError as error:
            sentence = f"The database cannot be used ({error}); has `migrate` been run?"
            raise CommandError(sentence, returncode=NOT_LOOKED_AT) from None
        if options["json"]:
            self.stdout.write(json.dumps(as_json(report), indent=1, ensure_ascii=False))
        else:
            self.stdout.write("\n".join(as_text(report)))
        if report.status:
            raise SystemExit(report.status)
