"""`python -m tests.audit.limited FOLDER`, on an empty MariaDB: accounts that can do what they need and no more.

The site's cannot change the trail; the archive's can remove what lies under a stone, and reads nothing else.

Prints one line for each statement that was to be refused and was not, and `works` at the end.
"""

import os
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recovery_site.settings")
django.setup()

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: E402
from django.conf import settings  # noqa: E402
from django.core.management import CommandError, call_command  # noqa: E402
from django.db import OperationalError, connection, connections  # noqa: E402
from django.test.utils import override_settings, setup_test_environment  # noqa: E402

from audit.actor_kind import ActorKind  # noqa: E402
from audit.append_only import KEPT  # noqa: E402
from audit.archiving import Archive, alone, archive_next  # noqa: E402
from audit.checkpoints import sign_due  # noqa: E402
from audit.grants import archiving_grants, grants  # noqa: E402
from audit.keyring import of_publics  # noqa: E402
from audit.models import AuditCheckpoint, AuditSeal, AuditUnsealed  # noqa: E402
from audit.sealing import seal_waiting  # noqa: E402
from audit.signing import public_half  # noqa: E402
from audit.trail import Actor  # noqa: E402
from audit.verifying import chains, verify  # noqa: E402
from recovery_site.forgetting import forget  # noqa: E402
from tests.advisor_api.world import NOW  # noqa: E402
from tests.audit.flows import FLOWS  # noqa: E402
from workloads.models import Cluster  # noqa: E402

SITE, KEEPER, HOST, PASSWORD = "rekindle_site", "rekindle_keeper", "127.0.0.1", "of-a-test"
REFUSED = {1142, 1044, 1227, 1370}  # denied for the table, for the database, for want of a right
BY_A_TRIGGER = 1644
ATTEMPTS = (
    "UPDATE {0} SET cluster = 'x'",
    "DELETE FROM {0}",
    "TRUNCATE TABLE {0}",
    "DROP TABLE {0}",
    "ALTER TABLE {0} ADD COLUMN x INT",
    "DROP TRIGGER {0}_no_update",
    "DROP TRIGGER {0}_no_delete",
    "CREATE TRIGGER another BEFORE INSERT ON {0} FOR EACH ROW SET NEW.cluster = 'x'",
    "REPLACE INTO {0} SELECT * FROM {0}",
    "INSERT INTO {0} SELECT * FROM {0} ON DUPLICATE KEY UPDATE cluster = 'x'",
    "RENAME TABLE {0} TO other",
    "GRANT UPDATE ON {0} TO CURRENT_USER",
)
BESIDE = (
    "DROP TRIGGER audit_auditevent_unsealed",
    "INSERT INTO audit_auditunsealed VALUES (1, 'x')",
    "CREATE TABLE x (x INT)",
    "INSERT INTO audit_auditarchive SELECT * FROM audit_auditarchive",
)
KEEPER_S = (  # some of ATTEMPTS are its right, and refused by triggers
    "UPDATE {0} SET cluster = 'x'",
    "TRUNCATE TABLE {0}",
    "DROP TABLE {0}",
    "DROP TRIGGER {0}_no_delete",
    "RENAME TABLE {0} TO other",
)
KEEPER_BESIDE = (
    "DELETE FROM audit_auditarchive",
    "INSERT INTO audit_auditseal SELECT * FROM audit_auditseal",
    "INSERT INTO audit_auditcheckpoint SELECT * FROM audit_auditcheckpoint",
    "DELETE FROM audit_auditunsealed",
    "UPDATE audit_auditchain SET seq = 0",
    "SELECT * FROM advisor_api_apitoken",
    "SELECT * FROM auth_user",
    "CREATE TABLE x (x INT)",
)
UNDER_NO_STONE = tuple(f"DELETE FROM {table}" for table in KEPT[:3])  # noqa: S608


def main() -> int:
    """0 when all is as it should be."""
    call_command("migrate", verbosity=0)
    setup_test_environment()
    handed = {**settings.REKINDLE, "REKINDLE_HANDOFF_DIR": f"{sys.argv[1]}/out"}
    key = Ed25519PrivateKey.generate()
    with account(SITE, grants), override_settings(REKINDLE=handed):
        _works(key)
        open_ways = [statement for statement in _statements() if not _refused(statement)]
    with account(KEEPER, archiving_grants):
        _archives(key, Path(sys.argv[1]))
        tried = [statement.format(table) for table in KEPT for statement in KEEPER_S]
        open_ways += [statement for statement in [*tried, *KEEPER_BESIDE] if not _refused(statement)]
        open_ways += [statement for statement in UNDER_NO_STONE if not _refused(statement, {BY_A_TRIGGER})]
    _holds(key, Path(sys.argv[1]))
    print(*open_ways, "works", sep="\n")
    return 1 if open_ways else 0


@contextmanager
def account(name: str, rights: Callable[[str, str], Iterator[str]]) -> Iterator[None]:
    """Everything inside is asked by an account that has what `audit_grants` prints."""
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE USER '{name}'@'{HOST}' IDENTIFIED BY '{PASSWORD}'")
        for statement in rights(f"{name}@{HOST}", str(connection.settings_dict["NAME"])):
            cursor.execute(statement)
    owner = connections["default"]
    limited = connections.create_connection("default")
    limited.settings_dict = {**owner.settings_dict, "USER": name, "PASSWORD": PASSWORD}
    connections["default"] = limited
    try:
        yield
    finally:
        limited.close()
        connections["default"] = owner


def _works(key: Ed25519PrivateKey) -> None:
    for flow in FLOWS:
        flow()()
    assert seal_waiting(NOW) and not AuditUnsealed.objects.exists()
    sign_due(lambda: key, NOW)
    assert AuditCheckpoint.objects.exists()
    for name in chains():
        found = verify(name, of_publics(public_half(key)))
        assert not found.problem and found.proved_seq == found.seals, found
    forget(Cluster.objects.get(name="decided"))


def _archives(key: Ed25519PrivateKey, folder: Path) -> None:
    """The command takes the account for what it should be; one chain goes into a file."""
    Path(settings.AUDIT_KEY_FILE).write_text(key.private_bytes_raw().hex())
    Path(settings.AUDIT_KEY_FILE).chmod(0o600)
    call_command("archive_audit", folder, cluster="demo", stdout=StringIO())
    with alone(folder):
        stone = archive_next(
            "demo",
            Archive(folder, key, Actor(ActorKind.PERSON, "o"), of_publics(public_half(key))),
            NOW,
            lambda: NOW,
        )
    assert stone is not None and stone.last_seq > 1
    assert AuditSeal.objects.filter(cluster="demo").count() == 0


def _holds(key: Ed25519PrivateKey, folder: Path) -> None:
    seal_waiting(NOW)
    found = verify("demo", of_publics(public_half(key)), archive=folder)
    assert not found.problem and found.seals == found.archived + 1, found  # the one that tells of it
    call_command("archive_audit", folder, any_account=True, stdout=StringIO())
    try:
        call_command("archive_audit", folder, stdout=StringIO())
    except CommandError as error:
        assert "may do more than archive" in str(error), error
    else:
        raise AssertionError("the account of migrate is taken for the archive's")


def _statements() -> Iterator[str]:
    for table in KEPT:
        yield from (statement.format(table) for statement in ATTEMPTS)
    yield from BESIDE


def _refused(statement: str, by: Collection[int] = REFUSED) -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
    except OperationalError as error:
        return error.args[0] in by
    return False


if __name__ == "__main__":
    sys.exit(main())
