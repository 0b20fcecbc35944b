"""`manage.py audit_grants`: which rights does the site's account, or the archive's, need on MariaDB or MySQL?"""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from audit.grants import archiving_grants, grants


class Command(BaseCommand):
    """Prints GRANT statements; changes nothing, and needs no database."""

    help = (
        "Print the GRANT statements for the account that the site runs with: the tables of the audit trail may be "
        "read and added to, the others written, nothing altered or dropped. Another account runs migrate. Run what "
        "is printed as an administrator of the database, after each migrate; grant nothing else to the account."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The account and the database."""
        parser.add_argument("account", help="NAME@HOST as in CREATE USER, e.g. rekindle_site@10.0.0.%%")
        parser.add_argument(
            "--archive", action="store_true", help="For the account of archive_audit, which is another one."
        )
        parser.add_argument("--database", help="Its name; that of REKINDLE_DATABASE_URL if you leave it out.")

    def handle(self, *args: Any, **options: Any) -> None:
        """One statement a line."""
        try:
            of = archiving_grants if options["archive"] else grants
            for statement in of(options["account"], options["database"] or _database()):
                self.stdout.write(statement)
        except ValueError as error:
            raise CommandError(str(error)) from None


def _database() -> str:
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        raise ValueError("Name the --database: SQLite knows no accounts.")
    return str(database["NAME"])
