"""`manage.py audit_key`: which key signs the audit trail, which ones did, and how does another one follow?"""

from argparse import ArgumentParser, ArgumentTypeError
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from audit.command_line import shell_actor
from audit.key_change import OVERLAP, Refused, declare_leaked, declare_lost, rotate, site_keys
from audit.key_word import KeyChange
from audit.keyring import read_moment
from audit.signing import BadKey, kept_key, key_id, public_half


class Command(BaseCommand):
    """Never prints a private key."""

    help = (
        "Show the keys that sign or signed the trail, make a new one, or say that one leaked or was lost. Run it "
        "as the account of the site, where its key is."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """One sub-command each."""
        commands = parser.add_subparsers(dest="verb", required=True, metavar="show|rotate|leaked|lost")
        commands.add_parser("show", help="the public halves, as verify_audit --keys reads them")
        new = commands.add_parser("rotate", help="make a new key, which signs from now on")
        new.add_argument(
            "--leaked-since", type=_moment, metavar="TIME", help="somebody else may have had the old one since then"
        )
        leaked = commands.add_parser("leaked", help="say that a key that signed earlier was somebody else's, too")
        leaked.add_argument("key", help="its id or its public half")
        leaked.add_argument("--since", type=_moment, required=True, metavar="TIME")
        lost = commands.add_parser("lost", help="say that the key before this one is gone")
        lost.add_argument("public", help="its public half, as you kept it")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Do what the sub-command says; a refusal is one sentence."""
        try:
            getattr(self, f"_{options['verb']}")(options)
        except (Refused, BadKey) as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"The key cannot be used: {error}") from None

    def _show(self, _options: dict[str, Any]) -> None:
        path = settings.AUDIT_KEY_FILE
        now = key_id(public_half(kept_key(path)))
        for name, key in site_keys(path).keys.items():
            self.stdout.write(f"{key.line}  # {name}{', signs now' if name == now else ''}")

    def _rotate(self, options: dict[str, Any]) -> None:
        leaked_at = options["leaked_since"]
        change = rotate(settings.AUDIT_KEY_FILE, shell_actor(), timezone.now(), leaked_at)
        self._say(change)
        if leaked_at is None:
            self.stdout.write(
                f"Bring the key and its file of old keys to the site's other hosts within "
                f"{OVERLAP.seconds // 60} minutes: what the old one signs later proves nothing."
            )

    def _leaked(self, options: dict[str, Any]) -> None:
        self._say(
            declare_leaked(settings.AUDIT_KEY_FILE, options["key"], options["since"], shell_actor(), timezone.now())
        )

    def _lost(self, options: dict[str, Any]) -> None:
        self._say(declare_lost(settings.AUDIT_KEY_FILE, options["public"], shell_actor(), timezone.now()))

    def _say(self, change: KeyChange) -> None:
        self.stdout.write(f"The key {key_id(change.new)} signs the trail, and {key_id(change.old)} no longer.")
        self.stdout.write(f"Keep its public half where nobody who runs the database can write: {change.new}")


def _moment(text: str) -> datetime:
    try:
        return read_moment(text)
    except BadKey as error:
        raise ArgumentTypeError(str(error)) from None
