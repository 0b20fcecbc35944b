"""Does the command archive what it should, with whom it should, and refuse the rest in a sentence?"""

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from audit.grants import more_than_archiving
from audit.models import AuditArchive, AuditSeal
from tests.audit.archives import NAME, OLD, chain
from tests.audit.chain import NOW, grown

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def site(settings: Any, tmp_path: Path) -> Path:
    settings.AUDIT_KEY_FILE = tmp_path / "audit-key"
    settings.AUDIT_KEY_FILE.write_text(bytes(range(32)).hex())
    settings.AUDIT_KEY_FILE.chmod(0o600)
    return tmp_path


def run(folder: Path, **options: Any) -> str:
    out = io.StringIO()
    call_command("archive_audit", folder, any_account=True, stdout=out, **options)
    return out.getvalue()


def test_the_command_archives_and_verifies(site: Path, folder: Path) -> None:
    chain()
    grown(1, NOW, "young")
    told = run(folder)
    assert f"demo: seals 1 to 6 (2025-10-26 12:00 to 2025-10-26 12:01 UTC) are in {NAME}" in told
    assert "young: nothing is signed and older than" in told
    out = io.StringIO()
    call_command("verify_audit", stdout=out)
    assert (
        "10 seals, of them 1 to 6 in the archive (by their stones alone; --archive FOLDER reads them)"
        in out.getvalue()
    )
    call_command("verify_audit", archive=folder, stdout=out)
    assert "of them 1 to 6 in the archive (read); proved up to seal 10" in out.getvalue()
    (folder / NAME).unlink()
    with pytest.raises(CommandError, match="1 of 2 chains are broken"):
        call_command("verify_audit", archive=folder, stdout=out)
    assert f"demo: BROKEN after seal 0: {NAME} is not in the archive" in out.getvalue()


def test_one_refused_chain_stops_no_other(site: Path, folder: Path) -> None:
    chain()
    grown(2, OLD, "bad", signed=False)
    with pytest.raises(CommandError, match="1 of 2 chains were refused"):
        run(folder)
    assert AuditArchive.objects.get().cluster == "demo"


@pytest.mark.parametrize("days", [0, 29, 364, 40_000])
def test_no_less_is_kept_than_the_setting_says(site: Path, folder: Path, days: int) -> None:
    chain()
    with pytest.raises(CommandError, match=rf"--keep-days goes from 365 .* not {days}"):
        run(folder, keep_days=days)
    assert not AuditArchive.objects.exists()


def test_more_may_be_kept(site: Path, folder: Path) -> None:
    chain()
    assert "nothing is signed and older" in run(folder, keep_days=36_000)


def test_no_new_key_is_made_and_none_but_the_site_s_is_taken(site: Path, folder: Path, settings: Any) -> None:
    chain()
    settings.AUDIT_KEY_FILE.unlink()
    with pytest.raises(CommandError, match="is not there: run it where the site's key is"):
        run(folder)
    assert not settings.AUDIT_KEY_FILE.exists()
    settings.AUDIT_KEY_FILE.write_text("11" * 32)
    settings.AUDIT_KEY_FILE.chmod(0o600)
    with pytest.raises(CommandError, match="1 of 1 chains were refused"):
        run(folder)
    assert AuditSeal.objects.count() == 10


def test_an_account_that_may_more_must_be_meant(site: Path, folder: Path) -> None:
    chain()
    with pytest.raises(CommandError, match="say --any-account if it is meant"):
        call_command("archive_audit", folder)
    with pytest.raises(CommandError, match="is no folder"):
        call_command("archive_audit", folder / "none")
    assert AuditSeal.objects.count() == 10


@pytest.mark.parametrize(
    ("line", "more"),
    [
        ("GRANT USAGE ON *.* TO `a`@`h` IDENTIFIED BY PASSWORD '*1'", False),
        ("GRANT SELECT, INSERT, DELETE ON `db`.`audit_auditevent` TO `a`@`h`", False),
        ("GRANT SELECT, INSERT ON `db`.`audit_auditarchive` TO `a`@`h`", False),
        ("GRANT SELECT, INSERT, UPDATE ON `db`.`audit_auditarchive` TO `a`@`h`", True),
        ("GRANT SELECT ON `db`.* TO `a`@`h`", True),
        ("GRANT SELECT ON `db`.`advisor_api_apitoken` TO `a`@`h`", True),
        ("GRANT ALL PRIVILEGES ON *.* TO `a`@`h` WITH GRANT OPTION", True),
        ("GRANT SELECT ON `db`.`audit_auditseal` TO `a`@`h` WITH GRANT OPTION", True),
        ("GRANT `role` TO `a`@`h`", True),
        ("GRANT PROXY ON ''@'%' TO 'a'@'h'", True),
        ("GRANT SELECT (`id`), UPDATE (`at`) ON `db`.`audit_auditevent` TO `a`@`h`", True),
    ],
)
def test_which_rights_are_more_than_it_needs(line: str, more: bool) -> None:
    assert bool(more_than_archiving([line])) is more
