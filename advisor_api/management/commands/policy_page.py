"""`manage.py policy_page`: prints or writes `docs/policy.md`."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from advisor_api.policy.page import page

PLACE = Path(__file__).resolve().parents[3] / "docs" / "policy.md"


class Command(BaseCommand):
    """Makes the page of rules and limits from the table."""

    help = "Print docs/policy.md as the table of rules makes it."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """`--write` stores it instead."""
        parser.add_argument("--write", action="store_true", help="write docs/policy.md instead of printing it")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print or write."""
        if options["write"]:
            PLACE.write_text(page())
        else:
            self.stdout.write(page(), ending="")
