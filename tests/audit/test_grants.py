"""Do the site and the archive work with accounts of their own, and is every way to change the trail refused?"""

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from audit.append_only import KEPT, STONES
from audit.grants import tables
from lab.stores.stores import Stores

ACCOUNT = "rekindle_site@127.0.0.1"


@pytest.mark.parametrize("account", ["site", "a'b@%", "a@b'; DROP TABLE x", "@h", "a@", "a b@h", "a`@h"])
def test_what_is_no_account_is_refused(account: str) -> None:
    with pytest.raises(CommandError, match="is no account"):
        call_command("audit_grants", account, database="rekindle")


@pytest.mark.parametrize("database", ["a`b", "a.b", "a;b"])
def test_what_is_no_database_is_refused(database: str) -> None:
    with pytest.raises(CommandError, match="is no name of a database"):
        call_command("audit_grants", ACCOUNT, database=database)


def test_each_table_has_its_statement_and_the_trail_is_only_added_to() -> None:
    out = StringIO()
    call_command("audit_grants", ACCOUNT, database="rekindle", stdout=out)
    lines = out.getvalue().splitlines()
    assert (
        len(lines) == len(tables())
        and "workloads_attempt" in tables()
        and "advisor_api_apitoken_clusters" in tables()
    )
    assert "GRANT SELECT ON `rekindle`.`audit_auditarchive` TO 'rekindle_site'@'127.0.0.1';" in lines
    for table in set(KEPT) - {STONES}:
        assert f"GRANT SELECT, INSERT ON `rekindle`.`{table}` TO 'rekindle_site'@'127.0.0.1';" in lines
    assert "GRANT SELECT ON `rekindle`.`django_migrations` TO 'rekindle_site'@'127.0.0.1';" in lines


def test_the_archive_s_account_may_remove_and_put_stones_and_change_nothing() -> None:
    out = StringIO()
    call_command("audit_grants", "keeper@127.0.0.1", archive=True, database="rekindle", stdout=out)
    said = {
        line.split("`")[3]: line.removeprefix("GRANT ").partition(" ON ")[0] for line in out.getvalue().splitlines()
    }
    assert said == {
        "audit_auditevent": "SELECT, INSERT, DELETE",
        "audit_auditseal": "SELECT, DELETE",
        "audit_auditcheckpoint": "SELECT, DELETE",
        "audit_auditarchive": "SELECT, INSERT",
        "audit_auditchain": "SELECT",
    }


def test_the_site_and_the_archive_work_with_their_accounts_and_can_do_no_more(short_folder: Path) -> None:
    with Stores(short_folder / "stores") as stores:
        inside = {**os.environ, **stores.environment, "REKINDLE_STATE_DIR": str(short_folder / "state")}
        command = [sys.executable, "-m", "tests.audit.limited", str(short_folder)]
        run = subprocess.run(command, env=inside, capture_output=True, text=True, timeout=180, check=False)
    assert (run.stdout, run.returncode) == ("works\n", 0), run.stdout + run.stderr
