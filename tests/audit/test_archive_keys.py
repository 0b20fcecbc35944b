"""Does an archive stay proved when another key signs, and can a thief of the old one hide nothing in it?"""

import io
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import CommandError, call_command

from audit import archiving
from audit.archiving import Archive, Refused, alone, archive_next
from audit.checkpoints import sign_due
from audit.key_change import rotate, site_keys
from audit.keyring import DATED, PROVED, Keyring, KnownKey, of_publics
from audit.looking_over import look_over
from audit.models import AuditArchive, AuditChain, AuditCheckpoint, AuditEvent, AuditSeal
from audit.sealing import seal_waiting
from audit.signing import kept_key, key_id, public_half, sign
from audit.verifying import verify
from audit.walking import removal_of
from tests.audit.archives import NAME, OLD, OPERATOR, UNTIL, archived, chain
from tests.audit.chain import KEY, MINUTE, NOW, PUBLIC, RING, grown, write

pytestmark = pytest.mark.django_db(transaction=True)

NEW = Ed25519PrivateKey.from_private_bytes(bytes(32))
BOTH = of_publics(PUBLIC, public_half(NEW))
LEAKED_SINCE = [OLD - MINUTE, OLD + MINUTE / 2, NOW - MINUTE, NOW + MINUTE]


def leaked(at: datetime) -> Keyring:
    return BOTH.with_keys([KnownKey(PUBLIC, at, leaked=True)])


def signed_by_new(number: int, at: datetime) -> None:
    write(number, at=at)
    seal_waiting(at)
    sign_due(lambda: NEW, at)


def archived_by_new(folder: Path, keys: Keyring, until: datetime = NOW) -> list[AuditArchive]:
    found = []
    with alone(folder):
        while stone := archive_next("demo", Archive(folder, NEW, OPERATOR, keys), until, lambda: NOW):
            found.append(stone)
    return found


def test_stones_of_the_old_key_and_of_the_new_one_are_proved_in_a_row(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archiving, "AT_ONCE", 4)
    chain()
    archived(folder)
    signed_by_new(2, NOW)
    stones = archived_by_new(folder, BOTH)
    assert {stone.key_id for stone in AuditArchive.objects.all()} == {key_id(PUBLIC), key_id(public_half(NEW))}
    assert stones
    for found in (verify("demo", BOTH), verify("demo", BOTH, archive=folder)):
        assert (found.problem, found.doubts, found.strange) == ("", (), ())
        assert found.proved_seq == found.archived
    assert "was signed by the key" in verify("demo", RING).problem
    assert f"the key {key_id(PUBLIC)}, which was not given" in verify("demo", of_publics(public_half(NEW))).problem


@pytest.mark.parametrize("at", LEAKED_SINCE)
def test_a_stone_of_a_leaked_key_is_believed_when_its_file_is_read(folder: Path, at: datetime) -> None:
    chain()
    archived(folder)
    signed_by_new(2, NOW)
    keys = leaked(at)
    found = verify("demo", keys)
    assert found.problem == "" and len(found.doubts) == 1
    assert "verify_audit --archive reads its file" in look_over("demo", keys).sentence
    read = verify("demo", keys, archive=folder)
    assert (read.problem, read.doubts, read.proved_seq) == ("", (), read.seals)
    assert archived_by_new(folder, keys), "and archiving goes on"
    assert verify("demo", keys, archive=folder).problem == ""


@pytest.mark.parametrize("at", LEAKED_SINCE)
def test_a_thief_who_archives_away_hides_nothing(folder: Path, tmp_path: Path, at: datetime, settings: Any) -> None:
    chain()
    end = AuditCheckpoint.objects.get(seq=6)
    stone = AuditArchive(
        cluster="demo",
        first_seq=1,
        last_seq=6,
        before="0" * 64,
        digest=end.digest,
        first_at=OLD,
        last_at=OLD,
        file=NAME,
        size=1,
        file_digest="0" * 64,
        at=OLD + MINUTE,
        key_id=key_id(PUBLIC),
    )
    stone.signature = sign(KEY, removal_of(stone))
    stone.save(force_insert=True)
    under = list(AuditSeal.objects.filter(seq__lte=6).values_list("event", flat=True))
    AuditEvent.objects.filter(pk__in=under).delete()
    AuditSeal.objects.filter(seq__lte=6).delete()
    keys = leaked(at)
    assert len(verify("demo", keys).doubts) == 1
    assert "is not in the archive" in verify("demo", keys, archive=folder).problem
    with pytest.raises(Refused, match="is not in the archive"):
        archived_by_new(folder, keys)
    (tmp_path / "keys").write_text("\n".join(key.line for key in keys.keys.values()))
    out = io.StringIO()
    with pytest.raises(CommandError, match="1 stones may hide something"):
        call_command("verify_audit", keys=tmp_path / "keys", stdout=out)
    assert "its file was not read (--archive)" in out.getvalue()


def test_a_part_does_not_end_at_a_word_that_proves_no_time(folder: Path) -> None:
    """A thief dates a young checkpoint back, or signs after the leak: neither makes a part old enough."""
    chain()
    signed_by_new(2, NOW)
    assert archived_by_new(folder, leaked(OLD - MINUTE), UNTIL) == []
    assert [stone.last_seq for stone in archived_by_new(folder, leaked(OLD - MINUTE))] == [12], "the new key's word"


def test_what_a_key_signed_that_the_site_does_not_know_is_not_archived(folder: Path) -> None:
    chain()
    with pytest.raises(Refused, match="signed by a key that the site does not know"):
        archived_by_new(folder, of_publics(public_half(NEW)))
    assert not AuditArchive.objects.exists() and not list(folder.glob("trail*"))


def test_the_command_archives_across_a_change_and_refuses_a_key_that_leaked(
    folder: Path, tmp_path: Path, settings: Any
) -> None:
    settings.AUDIT_KEY_FILE = tmp_path / "audit-key"
    settings.AUDIT_KEY_FILE.write_text(KEY.private_bytes_raw().hex())
    settings.AUDIT_KEY_FILE.chmod(0o600)
    grown(3, OLD)
    call_command("archive_audit", folder, any_account=True, stdout=io.StringIO())
    rotate(settings.AUDIT_KEY_FILE, OPERATOR, OLD + MINUTE)
    write(3, at=OLD + 2 * MINUTE)
    seal_waiting(OLD + 2 * MINUTE)
    AuditChain.objects.update(checkpoint_at=OLD)
    sign_due(lambda: kept_key(settings.AUDIT_KEY_FILE), OLD + 2 * MINUTE)
    call_command("archive_audit", folder, any_account=True, stdout=io.StringIO())
    assert AuditArchive.objects.filter(cluster="demo").count() == 2
    out = io.StringIO()
    call_command("verify_audit", archive=folder, stdout=out)
    found = verify("demo", site_keys(settings.AUDIT_KEY_FILE), archive=folder)
    assert {run.worth for run in found.runs} == {PROVED}
    old = settings.AUDIT_KEY_FILE.with_name("audit-key.old")
    with old.open("a") as file:
        file.write(KnownKey(public_half(kept_key(settings.AUDIT_KEY_FILE)), NOW, leaked=True).line + "\n")
    with pytest.raises(CommandError, match="declared leaked: say audit_key rotate first"):
        call_command("archive_audit", folder, any_account=True, stdout=io.StringIO())


def test_copies_prove_what_a_leaked_key_signed_before_also_in_the_archive(folder: Path) -> None:
    chain()
    kept = list(AuditCheckpoint.objects.all())
    archived(folder)
    keys = leaked(NOW + timedelta(days=1))
    assert verify("demo", keys, kept, folder).proved_seq == 10
    assert {run.worth for run in verify("demo", keys, archive=folder).runs} == {DATED}
