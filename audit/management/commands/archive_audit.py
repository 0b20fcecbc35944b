"""`manage.py archive_audit FOLDER`: how does the old part of the trail leave the database, and stay proved?"""

from argparse import ArgumentParser
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection
from django.utils import timezone

from audit.archiving import Archive, Refused, alone, archive_next
from audit.command_line import shell_actor
from audit.grants import more_than_archiving
from audit.key_change import site_keys
from audit.signing import BadKey, kept_key, key_id, public_half
from audit.trail import Actor
from audit.verifying import chains

ACCOUNT = "use the account of audit_grants --archive, or say --any-account if it is meant"


class Command(BaseCommand):
    """Writes files, and removes what is in them from the table. Exit status 1 when a chain was refused."""

    help = (
        "Write what is sealed, signed and older than REKINDLE_KEEP_AUDIT_DAYS into files of a folder, read them "
        "back, and only then remove it from the table; a signed stone says what stood there. If it was stopped, "
        "run it again. Run it with a database account of its own (audit_grants --archive), and keep the folder: "
        "verify_audit --archive FOLDER follows its files too."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to, and how much."""
        parser.add_argument("folder", type=Path)
        parser.add_argument("--cluster", help="Only the chain of this cluster; '' is what speaks of none.")
        parser.add_argument(
            "--keep-days", type=int, help="Keep so many days in the table: not fewer than REKINDLE_KEEP_AUDIT_DAYS."
        )
        parser.add_argument(
            "--any-account",
            action="store_true",
            help="Run although the account may do more than that, or the database (SQLite) knows none.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Chain by chain, a line for each file."""
        folder = options["folder"]
        if not folder.is_dir():
            raise CommandError(f"{folder} is no folder.")
        if not options["any_account"]:
            _check_account()
        until = timezone.now() - timedelta(days=_days(options["keep_days"]))
        actor = shell_actor()
        names = chains() if options["cluster"] is None else [options["cluster"]]
        refused = 0
        try:
            archive = _archive(folder, actor)
            with alone(folder):
                for name in names:
                    refused += self._one(name, archive, until)
        except (Refused, BadKey) as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"The archive cannot be written: {error}. Run it again.") from None
        except DatabaseError as error:
            raise CommandError(f"The database refused, and nothing was lost: {error}") from None
        if refused:
            raise CommandError(f"{refused} of {len(names)} chains were refused.")

    def _one(self, name: str, archive: Archive, until: Any) -> int:
        files = 0
        try:
            while stone := archive_next(name, archive, until, timezone.now):
                files += 1
                span = f"{stone.first_at:%Y-%m-%d %H:%M} to {stone.last_at:%Y-%m-%d %H:%M} UTC"
                self.stdout.write(
                    f"{name or '(the site)'}: seals {stone.first_seq} to {stone.last_seq} ({span}) are in "
                    f"{stone.file}, {stone.size} bytes, SHA-256 {stone.file_digest}."
                )
        except Refused as error:
            self.stdout.write(f"{name or '(the site)'}: {error}")
            return 1
        if not files:
            self.stdout.write(
                f"{name or '(the site)'}: nothing is signed and older than {until:%Y-%m-%d %H:%M} UTC."
            )
        return 0


def _days(asked: int | None) -> int:
    floor: int = settings.REKINDLE["REKINDLE_KEEP_AUDIT_DAYS"]
    if asked is None:
        return floor
    if not floor <= asked <= 36500:
        raise CommandError(f"--keep-days goes from {floor} (REKINDLE_KEEP_AUDIT_DAYS) to 36500, not {asked}.")
    return asked


def _archive(folder: Path, actor: Actor) -> Archive:
    path = _key_file()
    key, keys = kept_key(path), site_keys(path)
    if keys.keys[key_id(public_half(key))].leaked:  # nobody could tell its stones from those of a thief
        raise Refused("The site's key is declared leaked: say audit_key rotate first.")
    return Archive(folder, key, actor, keys)


def _key_file() -> Path:
    path = Path(settings.AUDIT_KEY_FILE)
    if not path.exists():  # a new key would have signed nothing of the trail
        raise CommandError(f"The key {path} is not there: run it where the site's key is.")
    return path


def _check_account() -> None:
    if connection.vendor != "mysql":
        raise CommandError(f"This database knows no accounts: whoever runs the site can do the same; {ACCOUNT}.")
    with connection.cursor() as cursor:
        cursor.execute("SHOW GRANTS")
        more = more_than_archiving(str(row[0]) for row in cursor.fetchall())
    if more:
        raise CommandError(f"The account may do more than archive ({_without_password(more)}); {ACCOUNT}.")


def _without_password(line: str) -> str:
    return line.partition(" IDENTIFIED ")[0]
