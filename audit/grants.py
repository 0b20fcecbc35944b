"""Which rights do the accounts of the site and of the archive need on MariaDB or MySQL, and not one more?

The site: the tables of the trail may be read and added to, stones of archives only read; everything else may be
written, and nothing may be made, altered, truncated or dropped. The archive: the trail may be read, added to and
removed from (which the triggers allow under a stone alone), stones may be put; nothing else. The tables are made,
and their triggers owned, by a third account: the one of `migrate`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from django.apps import apps

from audit.append_only import CHECKPOINTS, EVENTS, KEPT, SEALS, STONES, UNSEALED
from audit.models import AuditChain

READ = "SELECT"
ADD = "SELECT, INSERT"
WRITE = "SELECT, INSERT, UPDATE, DELETE"
SPECIAL = {
    **dict.fromkeys(KEPT, ADD),
    STONES: READ,
    UNSEALED: "SELECT, DELETE",  # the trigger adds, with the rights of its owner
    AuditChain._meta.db_table: "SELECT, INSERT, UPDATE",
    "django_migrations": READ,
}
ARCHIVING = {
    EVENTS: "SELECT, INSERT, DELETE",  # INSERT: the event that tells of it
    SEALS: "SELECT, DELETE",
    CHECKPOINTS: "SELECT, DELETE",
    STONES: "SELECT, INSERT",
    AuditChain._meta.db_table: "SELECT",
}
_ACCOUNT = re.compile(r"[A-Za-z0-9_.-]{1,80}@[A-Za-z0-9_.:%/-]{1,255}")
_SHOWN = re.compile(r"GRANT (?P<rights>[A-Z ,]+) ON (?:\*\.\*|`[^`]+`\.(?:\*|`(?P<table>[^`]+)`)) TO ")
_DATABASE = re.compile(r"[A-Za-z0-9_$-]{1,64}")


def grants(account: str, database: str) -> Iterator[str]:
    """The site's, a statement for each table. `account` is `NAME@HOST`. Raises `ValueError` with a sentence."""
    return _grants(account, database, {table: SPECIAL.get(table, WRITE) for table in tables()})


def archiving_grants(account: str, database: str) -> Iterator[str]:
    """Those of the account that `archive_audit` runs with. Raises `ValueError` with a sentence."""
    return _grants(account, database, ARCHIVING)


def _grants(account: str, database: str, rights: Mapping[str, str]) -> Iterator[str]:
    if not _ACCOUNT.fullmatch(account):
        raise ValueError(f"'{account[:80]}' is no account: write NAME@HOST, of letters, digits and . _ - : % /")
    if not _DATABASE.fullmatch(database):
        raise ValueError(f"'{database[:80]}' is no name of a database.")
    name, _, host = account.partition("@")
    for table, rights_there in rights.items():
        yield f"GRANT {rights_there} ON `{database}`.`{table}` TO '{name}'@'{host}';"


def more_than_archiving(shown: Iterable[str]) -> str:
    """The first of the lines of SHOW GRANTS that gives more than `archive_audit` needs, or `""`. Bounded."""
    for line in shown:
        found = _SHOWN.match(line)
        if found is None or "WITH GRANT OPTION" in line:
            return line[:200]
        given = {one.strip() for one in found["rights"].split(",")} - {"USAGE"}
        if given - set(ARCHIVING.get(found["table"] or "", "").split(", ")):
            return line[:200]
    return ""


def tables() -> list[str]:
    """Every table that `migrate` makes, with those between two others."""
    models = apps.get_models(include_auto_created=True)
    return sorted({model._meta.db_table for model in models if model._meta.managed} | {"django_migrations"})
