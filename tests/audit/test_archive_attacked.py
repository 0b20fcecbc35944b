"""Is whatever somebody hides with the rights of the database, or of the archive's folder, found and named?"""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from audit import append_only, archive_file
from audit.archiving import Refused
from audit.models import AuditArchive, AuditChain, AuditCheckpoint, AuditEvent, AuditSeal, AuditUnsealed
from audit.signing import sign
from audit.verifying import slipped_in, verify
from audit.walking import removal_of
from tests.audit.archives import NAME, OLD, archived, chain, lines, report
from tests.audit.chain import KEY, NOW, RING, grown, sql, write

pytestmark = pytest.mark.django_db(transaction=True)


def rewritten(path: Path, change: Callable[[list[Any]], None]) -> None:
    told = lines(path)
    change(told)
    path.chmod(0o600)
    path.write_bytes(gzip.compress("".join(json.dumps(one) + "\n" for one in told).encode(), mtime=0))


def row(told: list[Any], seq: int) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in told if one.get("seq") == seq)
    return found


def test_a_changed_record_of_a_file_is_named(folder: Path) -> None:
    chain()
    archived(folder)
    rewritten(folder / NAME, lambda told: row(told, 4)["row"].update(sentence="A value was changed!"))
    found = report(folder)
    assert "or its seal 4 was changed" in found.problem and found.seals == 3
    assert report().problem == "", "the stones alone do not tell"


COLUMNS = archive_file.COLUMNS


@pytest.mark.parametrize("column", COLUMNS)
def test_each_column_of_a_file_is_covered(folder: Path, column: str) -> None:
    chain()
    archived(folder)
    rewritten(folder / NAME, lambda told: row(told, 2)["row"].update({column: "2"}))
    assert "or its seal 2 was changed" in report(folder).problem


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda told: told.remove(row(told, 2)), "seal 2 is missing: after 1 comes 3"),
        (lambda told: told.insert(2, row(told, 2)), "seal 3 is missing: after 2 comes 2"),
        (lambda told: told.reverse(), "cannot be read after seal 0"),
        (lambda told: told.pop(), "cannot be read after seal 6"),
        (lambda told: told[-1].update(end=5), "does not end where it says"),
        (lambda told: told.append({"end": 6}), "does not end where it says"),
        (lambda told: told[0].update(cluster="other"), "is the archive of other seals"),
        (lambda told: told[0].update(columns=[]), "cannot be read after seal 0"),
        (lambda told: row(told, 3)["row"].update(more="x"), "cannot be read after seal 2"),
        (lambda told: row(told, 3).update(digest="0" * 64), "or its seal 3 was changed"),
        (lambda told: row(told, 3).update(sealedAt=""), "another file than the one that was archived"),
        (lambda told: told.__delitem__(slice(1, -1)), "does not end where it says"),
    ],
)
def test_what_is_done_to_a_file_is_found(folder: Path, change: Callable[[list[Any]], None], said: str) -> None:
    chain()
    archived(folder)
    rewritten(folder / NAME, change)
    assert said in report(folder).problem


@pytest.mark.parametrize("place", range(0, 1600, 97))
def test_one_changed_byte_of_a_file_is_found(folder: Path, place: int) -> None:
    chain()
    archived(folder)
    path = folder / NAME
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= 1
    path.chmod(0o600)
    path.write_bytes(content)
    assert report(folder).problem


@pytest.mark.parametrize("instead", ["nothing", "a link", "a pipe", "garbage", "a bomb"])
def test_what_is_no_file_of_the_archive_is_found(folder: Path, instead: str) -> None:
    chain()
    archived(folder)
    path = folder / NAME
    content = path.read_bytes()
    path.unlink()
    if instead == "a link":
        (folder / "elsewhere").write_bytes(content)
        path.symlink_to(folder / "elsewhere")
    elif instead == "a pipe":
        os.mkfifo(path)
    elif instead == "garbage":
        path.write_bytes(b"x" * 1000)
    elif instead == "a bomb":
        path.write_bytes(gzip.compress(b"[" * 50_000_000))
    assert NAME in report(folder).problem


def test_a_stone_that_hides_a_removal_was_not_signed(folder: Path) -> None:
    """Delete with the rights of the archive's account, and say that it is archived."""
    chain()
    end = AuditCheckpoint.objects.get(seq=3)
    said = {
        "first_at": OLD,
        "last_at": OLD,
        "file": "x",
        "size": 1,
        "file_digest": "0" * 64,
        "at": NOW,
        "key_id": "",
    }
    AuditArchive.objects.create(
        cluster="demo", first_seq=1, last_seq=3, before="0" * 64, digest=end.digest, signature="0" * 128, **said
    )
    events = list(AuditSeal.objects.filter(seq__lte=3).values_list("event", flat=True))
    AuditEvent.objects.filter(pk__in=events).delete()
    AuditSeal.objects.filter(seq__lte=3).delete()
    assert report().problem == "the stone of seals 1 to 3 was signed by the key '', which was not given"
    with pytest.raises(Refused, match="the key '', which was not given"):
        archived(folder)


@pytest.mark.parametrize(
    "change",
    [
        "first_seq = 2",
        "last_seq = 5",
        "last_seq = 7",
        "digest = 'x'",
        "`before` = 'x'",  # a word of SQL to MariaDB
        "file = 'x'",
        "size = 1",
        "file_digest = 'x'",
        "at = '2026-01-01 00:00:00'",
        "first_at = '2026-01-01 00:00:00'",
        "last_at = '2026-01-01 00:00:00'",
        "signature = 'x'",
        "signature = ''",
    ],
)
def test_a_changed_stone_is_found(folder: Path, change: str) -> None:
    chain()
    archived(folder)
    sql(f"UPDATE audit_auditarchive SET {change}")  # noqa: S608
    assert report().problem and report(folder).problem


@pytest.mark.parametrize("kept", [True, False])
def test_a_stone_that_is_gone_leaves_a_gap(folder: Path, kept: bool) -> None:
    chain()
    archived(folder)
    if not kept:
        sql("DELETE FROM audit_auditcheckpoint WHERE seq = 6")
    sql("DELETE FROM audit_auditarchive")
    assert report(folder).problem == "seal 1 is missing: after 0 comes 7"


def test_the_witness_of_a_stone_is_missed(folder: Path) -> None:
    chain()
    archived(folder)
    sql("DELETE FROM audit_auditcheckpoint WHERE seq = 6")
    assert report().problem == "checkpoint 6, the witness of the stone of seals 1 to 6, is missing"


def test_what_is_put_back_under_a_stone_is_found(folder: Path) -> None:
    """An event that was never there, with a seal that makes it look like one that was."""
    chain()
    archived(folder)
    event = write(1, at=OLD)[0]
    AuditUnsealed.objects.all().delete()
    pk = AuditEvent.objects.latest("pk").pk
    assert event and pk in list(slipped_in())
    AuditSeal.objects.create(cluster="demo", seq=3, event=pk, digest="0" * 64, sealed_at=OLD)
    assert report().problem == f"seal 3 (event {pk}) was put back under a stone: it is no part of the chain"


def test_a_young_event_cannot_be_made_old_and_archived_away(folder: Path) -> None:
    chain()
    victim = AuditSeal.objects.get(seq=8)
    sql("UPDATE audit_auditevent SET at = %s WHERE id = %s", OLD, victim.event)
    sql("UPDATE audit_auditseal SET sealed_at = %s", OLD)
    assert [one.last_seq for one in archived(folder)] == [6], "the signature says how old it is"
    sql("UPDATE audit_auditcheckpoint SET at = %s WHERE seq = 10", OLD)
    with pytest.raises(Refused, match="changed"):
        archived(folder)


def test_a_whole_chain_that_was_wiped_away_is_missed(folder: Path) -> None:
    chain()
    archived(folder)
    kept = list(AuditCheckpoint.objects.all())
    for table in ("auditevent", "auditseal", "auditcheckpoint", "auditarchive"):
        sql(f"DELETE FROM audit_{table}")  # noqa: S608
    AuditUnsealed.objects.all().delete()
    assert report().problem == "the chain ends at seal 0, and was 10 long: seals are missing"
    AuditChain.objects.all().delete()
    assert "checkpoint 6" in verify("demo", RING, kept).problem


def test_a_checkpoint_kept_outside_is_met_within_the_archive(folder: Path) -> None:
    chain()
    kept = list(AuditCheckpoint.objects.all())
    archived(folder)
    assert verify("demo", RING, kept).problem == ""
    assert verify("demo", RING, kept, folder).problem == ""
    kept[0].digest = "1" * 64
    assert "another one" in verify("demo", RING, kept, folder).problem


def test_a_stone_of_another_key_is_none(folder: Path) -> None:
    chain()
    archived(folder)
    stone = AuditArchive.objects.get()
    assert sign(KEY, removal_of(stone)) == stone.signature, "nothing of it was rounded by the database"


@pytest.mark.parametrize("anew", [0, 3, 12])
def test_a_trail_that_was_wiped_away_is_missed_by_its_files(folder: Path, anew: int) -> None:
    chain()
    archived(folder)
    append_only.remove()
    for model in (AuditEvent, AuditSeal, AuditCheckpoint, AuditArchive, AuditChain, AuditUnsealed):
        model._default_manager.all().delete()
    append_only.restore()
    if anew:
        grown(anew, NOW)
    assert f"{NAME} holds seals 1 to 6, and neither the table nor a stone knows them" in report(folder).problem
    assert [one[0] for one in archive_file.names_in(folder)] == ["demo"]


def test_what_stands_under_the_name_of_a_file_is_not_overwritten(folder: Path) -> None:
    chain()
    (folder / NAME).write_bytes(b"the archive of another site")
    with pytest.raises(Refused, match="is there already and holds something else"):
        archived(folder)
    assert (folder / NAME).read_bytes() == b"the archive of another site"
    assert AuditSeal.objects.count() == 10 and not AuditArchive.objects.exists()
