"""How does somebody on this machine get into the console without a password?"""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from console.sign_in_links import LINK_LIFETIME, make_link

LONGEST_MINUTES = 24 * 60


class Command(BaseCommand):
    """Prints a link that signs one user in, once."""

    help = "Print a link that signs USER in to the console, once."  # stays English: a command

    def add_arguments(self, parser: CommandParser) -> None:
        """User, lifetime, address."""
        parser.add_argument("user", help="user name")  # stays English: a command
        parser.add_argument("--minutes", type=int, default=int(LINK_LIFETIME.total_seconds() // 60))
        # stays English: a command
        parser.add_argument("--address", default=settings.REKINDLE["REKINDLE_BASE_URL"], help="where the site is")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make the link and print it alone on a line."""
        if not 1 <= options["minutes"] <= LONGEST_MINUTES:
            raise CommandError(f"--minutes must be from 1 to {LONGEST_MINUTES}.")  # stays English: a command
        user = get_user_model().objects.filter(username=options["user"], is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user {options['user']!r}.")  # stays English: a command
        path = make_link(user, timezone.now(), timedelta(minutes=options["minutes"]))
        self.stdout.write(options["address"].rstrip("/") + path)
