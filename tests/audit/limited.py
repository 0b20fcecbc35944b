"""`python -m tests.audit.limited FOLDER`, on an empty MariaDB: a site with an account that cannot change the trail.

Prints one line for each statement that was to be refused and was not, and `works` at the end.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recovery_site.settings")
django.setup()

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: E402
from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import OperationalError, connection, connections  # noqa: E402
from django.test.utils import override_settings, setup_test_environment  # noqa: E402

from audit.append_only import KEPT  # noqa: E402
from audit.checkpoints import sign_due  # noqa: E402
from audit.grants import grants  # noqa: E402
from audit.models import AuditCheckpoint, AuditUnsealed  # noqa: E402
from audit.sealing import seal_waiting  # noqa: E402
from audit.signing import public_half  # noqa: E402
from audit.verifying import chains, verify  # noqa: E402
from recovery_site.forgetting import forget  # noqa: E402
from tests.advisor_api.world import NOW  # noqa: E402
from tests.audit.flows import FLOWS  # noqa: E402
from workloads.models import Cluster  # noqa: E402

NAME, HOST, PASSWORD = "rekindle_site", "127.0.0.1", "of-a-test"
REFUSED = {1142, 1044, 1227, 1370}  # denied for the table, for the database, for want of a right
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
)


def main() -> int:
    """0 when all is as it should be."""
    call_command("migrate", verbosity=0)
    setup_test_environment()
    handed = {**settings.REKINDLE, "REKINDLE_HANDOFF_DIR": f"{sys.argv[1]}/out"}
    with the_site_s_account(), override_settings(REKINDLE=handed):
        _works()
        open_ways = [statement for statement in _statements() if not _refused(statement)]
    print(*open_ways, "works", sep="\n")
    return 1 if open_ways else 0


@contextmanager
def the_site_s_account() -> Iterator[None]:
    """Everything inside is asked by an account that has what `audit_grants` prints."""
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE USER '{NAME}'@'{HOST}' IDENTIFIED BY '{PASSWORD}'")
        for statement in grants(f"{NAME}@{HOST}", str(connection.settings_dict["NAME"])):
            cursor.execute(statement)
    owner = connections["default"]
    limited = connections.create_connection("default")
    limited.settings_dict = {**owner.settings_dict, "USER": NAME, "PASSWORD": PASSWORD}
    connections["default"] = limited
    try:
        yield
    finally:
        limited.close()
        connections["default"] = owner


def _works() -> None:
    for flow in FLOWS:
        flow()()
    key = Ed25519PrivateKey.generate()
    assert seal_waiting(NOW) and not AuditUnsealed.objects.exists()
    sign_due(lambda: key, NOW)
    assert AuditCheckpoint.objects.exists()
    for name in chains():
        found = verify(name, public_half(key))
        assert not found.problem and found.proved_seq == found.seals, found
    forget(Cluster.objects.get(name="decided"))


def _statements() -> Iterator[str]:
    for table in KEPT:
        yield from (statement.format(table) for statement in ATTEMPTS)
    yield from BESIDE


def _refused(statement: str) -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
    except OperationalError as error:
        return error.args[0] in REFUSED
    return False


if __name__ == "__main__":
    sys.exit(main())
