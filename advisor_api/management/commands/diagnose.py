"""`manage.py diagnose FILE…`: the same as `./run diagnose`, beside the site's other commands."""

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any, NoReturn

from django.core.management.base import BaseCommand

from advisor_api.diagnosing.door import EPILOG, HELP, Door, add_arguments


class _Formatter(RawDescriptionHelpFormatter):
    """Django's own shows lists of statuses as one paragraph."""


class Command(BaseCommand):
    """Reads logs, prints one verdict."""

    help = HELP
    requires_system_checks: list[str] = []

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> Any:
        """With the table of exit statuses."""
        return super().create_parser(prog_name, subcommand, epilog=EPILOG, formatter_class=_Formatter, **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Files and what is known beside them."""
        add_arguments(parser)

    def handle(self, *_args: Any, **options: Any) -> NoReturn:
        """Read, judge, print; ends with the status."""
        sys.exit(Door(options.get("stdout") or sys.stdout, options.get("stderr") or sys.stderr).answer(options))
