"""`manage.py vocabulary_page`: prints or writes `docs/vocabulary.md`."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from recovery_site.environment import BASE_DIR
from recovery_site.vocabulary_page import page


class Command(BaseCommand):
    """Makes the page of words from the enums."""

    help = "Print docs/vocabulary.md as the enums make it."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """`--write` stores it instead."""
        parser.add_argument("--write", action="store_true", help="write docs/vocabulary.md instead of printing it")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print or write."""
        if options["write"]:
            (BASE_DIR / "docs" / "vocabulary.md").write_text(page())
        else:
            self.stdout.write(page(), ending="")
