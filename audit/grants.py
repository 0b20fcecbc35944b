"""Which rights does the site's account need on MariaDB or MySQL, and not one more?

The tables of the trail may be read and added to; everything else may be written, and nothing may be made, altered,
truncated or dropped. The tables are made, and their triggers owned, by another account: the one of `migrate`.
"""

import re
from collections.abc import Iterator

from django.apps import apps

from audit.append_only import KEPT, UNSEALED
from audit.models import AuditChain

READ = "SELECT"
ADD = "SELECT, INSERT"
WRITE = "SELECT, INSERT, UPDATE, DELETE"
SPECIAL = {
    **dict.fromkeys(KEPT, ADD),
    UNSEALED: "SELECT, DELETE",  # the trigger adds, with the rights of its owner
    AuditChain._meta.db_table: "SELECT, INSERT, UPDATE",
    "django_migrations": READ,
}
_ACCOUNT = re.compile(r"[A-Za-z0-9_.-]{1,80}@[A-Za-z0-9_.:%/-]{1,255}")
_DATABASE = re.compile(r"[A-Za-z0-9_$-]{1,64}")


def grants(account: str, database: str) -> Iterator[str]:
    """One statement for each table of the site. `account` is `NAME@HOST`. Raises `ValueError` with a sentence."""
    if not _ACCOUNT.fullmatch(account):
        raise ValueError(f"'{account[:80]}' is no account: write NAME@HOST, of letters, digits and . _ - : % /")
    if not _DATABASE.fullmatch(database):
        raise ValueError(f"'{database[:80]}' is no name of a database.")
    name, _, host = account.partition("@")
    for table in tables():
        yield f"GRANT {SPECIAL.get(table, WRITE)} ON `{database}`.`{table}` TO '{name}'@'{host}';"


def tables() -> list[str]:
    """Every table that `migrate` makes, with those between two others."""
    models = apps.get_models(include_auto_created=True)
    return sorted({model._meta.db_table for model in models if model._meta.managed} | {"django_migrations"})
