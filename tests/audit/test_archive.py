"""Does the old part of the trail leave the table, with nothing lost whatever interrupts it?"""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from audit import archive_file, archiving
from audit.archiving import Refused, alone
from audit.checkpoints import sign_due
from audit.event_type import EventType
from audit.models import AuditArchive, AuditCheckpoint, AuditEvent, AuditSeal
from audit.sealing import seal_waiting
from audit.verifying import slipped_in, verify
from tests.audit.archives import NAME, OLD, OPERATOR, UNTIL, archived, chain, lines, report
from tests.audit.chain import KEY, MINUTE, NOW, RING, grown, sql, write, written_anew

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_is_old_and_signed_moves_into_a_file_and_the_rest_stays_proved(folder: Path) -> None:
    chain()
    before = {row.pk: row.sentence for row in AuditEvent.objects.all()}
    [stone] = archived(folder)
    assert (stone.first_seq, stone.last_seq, stone.file) == (1, 6, NAME)
    assert (stone.first_at, stone.last_at) == (OLD, OLD + MINUTE)
    assert [row.seq for row in AuditSeal.objects.order_by("seq")] == [7, 8, 9, 10]
    assert AuditEvent.objects.exclude(type=EventType.ARCHIVED.value).count() == 4
    assert [row.seq for row in AuditCheckpoint.objects.order_by("seq")] == [6, 10], "the witness of the stone stays"
    kept = [line["row"]["sentence"] for line in lines(folder / NAME) if "row" in line]
    assert kept == [before[pk] for pk in sorted(before)[:6]]
    assert [line["checkpoint"]["seq"] for line in lines(folder / NAME) if "checkpoint" in line] == [3, 6]
    for found in (report(), report(folder)):
        assert (found.problem, found.seals, found.proved_seq, found.archived) == ("", 10, 10, 6)
    assert not list(slipped_in())
    assert oct((folder / NAME).stat().st_mode & 0o777) == "0o400"
    assert not [path for path in folder.iterdir() if path.suffix == ".part"]


def test_the_trail_tells_of_its_archive(folder: Path) -> None:
    chain()
    archived(folder)
    event = AuditEvent.objects.get(type=EventType.ARCHIVED.value)
    assert (event.actor, event.payload["firstSeq"], event.payload["lastSeq"]) == (OPERATOR.name, 1, 6)
    assert event.payload["file"] == NAME and len(event.payload["sha256"]) == 64
    seal_waiting(NOW)
    assert report(folder).seals == 11


def test_one_part_follows_the_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archiving, "AT_ONCE", 3)
    chain()
    assert [(one.first_seq, one.last_seq) for one in archived(folder)] == [(1, 3), (4, 6)]
    assert [(one.first_seq, one.last_seq) for one in archived(folder, NOW)] == [(7, 10)], "no checkpoint is nearer"
    grown(2, NOW)
    for found in (report(), report(folder)):
        assert (found.problem, found.proved_seq, found.archived) == ("", 15, 10)
    assert not AuditSeal.objects.filter(seq__lte=10).exists()


def test_each_chain_has_files_of_its_own(folder: Path) -> None:
    for cluster in ("", "a/../b", "demo"):
        grown(2, OLD, cluster)
    for cluster in ("", "a/../b", "demo"):
        assert len(archived(folder, cluster=cluster)) == 1
    names = sorted(path.name for path in folder.glob("trail*"))
    assert names == sorted(f"trail-{one}-000000000001-000000000002.jsonl.gz" for one in ("", "a%2F..%2Fb", "demo"))
    assert [verify(one, RING, archive=folder).problem for one in ("", "a/../b", "demo")] == [""] * 3


def test_what_is_young_stays(folder: Path) -> None:
    grown(4, NOW - MINUTE)
    assert archived(folder) == [] and not list(folder.glob("trail*"))
    assert AuditSeal.objects.count() == 4


def test_what_is_not_sealed_is_refused(folder: Path) -> None:
    write(1, at=OLD)
    with pytest.raises(Refused, match="is old enough and not sealed"):
        archived(folder)
    assert AuditEvent.objects.count() == 1


def test_what_is_not_signed_is_refused(folder: Path) -> None:
    grown(3, OLD, signed=False)
    with pytest.raises(Refused, match="no signature covers it"):
        archived(folder)
    assert AuditEvent.objects.count() == 3


def test_an_old_end_under_a_young_signature_waits_without_a_word(folder: Path) -> None:
    grown(3, OLD)
    grown(2, UNTIL - timedelta(seconds=1), signed=False)
    sign_due(lambda: KEY, UNTIL + MINUTE)
    assert [one.last_seq for one in archived(folder)] == [3]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE audit_auditevent SET sentence = 'x' WHERE id = {2}", r"event \d+ or its seal 2 was changed"),
        ("DELETE FROM audit_auditevent WHERE id = {2}", r"event \d+ \(seal 2\) has been removed"),
        ("DELETE FROM audit_auditseal WHERE seq = 4", "seal 4 is missing"),
        ("UPDATE audit_auditcheckpoint SET digest = REPEAT_1 WHERE seq = 3", "digest at checkpoint 3"),
        ("UPDATE audit_auditcheckpoint SET signature = REPEAT_1 WHERE seq = 6", "checkpoint 6 was not signed"),
    ],
)
def test_a_chain_that_does_not_hold_is_left_as_it_is(folder: Path, statement: str, said: str) -> None:
    chain()
    events = ["", *AuditSeal.objects.order_by("seq").values_list("event", flat=True)]
    sql(statement.format(*events).replace("REPEAT_1", f"'{'1' * 64}'"))
    seals = AuditSeal.objects.count()
    with pytest.raises(Refused, match=said):
        archived(folder)
    assert AuditSeal.objects.count() == seals and not AuditArchive.objects.exists()
    assert not list(folder.glob("trail*")), "and no file says that it was archived"


def test_a_chain_written_anew_is_not_made_true_by_its_archive(folder: Path) -> None:
    chain()
    victim = AuditSeal.objects.get(seq=2).event
    sql("UPDATE audit_auditevent SET actor = 'nobody' WHERE id = %s", victim)
    written_anew()
    with pytest.raises(Refused, match="written anew: its digest at checkpoint 3"):
        archived(folder)


def test_the_database_lets_go_only_what_lies_under_a_stone(folder: Path) -> None:
    chain()
    archived(folder)
    for table in ("audit_auditevent", "audit_auditseal", "audit_auditcheckpoint", "audit_auditarchive"):
        for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET cluster = 'x'"):  # noqa: S608
            with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
                connection.cursor().execute(statement)
    assert report().problem == ""


class Killed(Exception):
    """The machine stops here."""


def at(name: str) -> tuple[object, str]:
    """What is called last before the machine stops."""
    if name == "the file is half written":
        return archive_file, "_line"
    if name == "the file has no name yet":
        return os, "link"
    if name == "the file has its name":
        return archiving, "settle"
    if name == "the file is to be read back":
        return archiving, "follow_file"
    if name == "the stone is to be put":
        return archiving, "_move"
    return archiving, "record"


STOPS = (
    "the file is half written",
    "the file has no name yet",
    "the file has its name",
    "the file is to be read back",
    "the stone is to be put",
    "the stone was put and nothing removed",
)


@pytest.mark.parametrize("stop", STOPS)
def test_whatever_interrupts_it_loses_nothing_and_the_next_run_ends_it(
    folder: Path, stop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain()
    owner, name = at(stop)
    calls = 0

    def killed(*words: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if name == "_line" and calls < 4:
            return original(*words, **named)
        raise Killed

    original: Callable[..., Any] = getattr(owner, name)
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, killed)
        with pytest.raises(Killed):
            archived(folder)
    assert calls
    assert AuditEvent.objects.count() == AuditSeal.objects.count() == 10 and not AuditArchive.objects.exists()
    assert report().problem == ""
    (folder / ".trail-left.part").write_bytes(b"of a run that was killed")
    assert [one.last_seq for one in archived(folder)] == [6]
    assert report(folder).problem == "" and report(folder).proved_seq == 10
    assert sorted(path.name for path in folder.iterdir()) == [archiving.LOCK, NAME]


def test_an_interrupted_run_is_ended_under_its_own_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain()
    with monkeypatch.context() as patched:
        patched.setattr(archiving, "AT_ONCE", 3)
        patched.setattr(archiving, "_move", lambda *_words: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            archived(folder)
    assert [(one.first_seq, one.last_seq) for one in archived(folder)] == [(1, 3), (4, 6)], (
        "and not 1 to 6 beside it"
    )


def test_nothing_is_removed_while_a_file_cannot_be_read_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain()
    whole = archive_file.write

    def losing(file: Any, *words: Any) -> Any:
        told = whole(file, *words)
        file.flush()
        os.ftruncate(file.fileno(), file.tell() - 9)
        return told

    monkeypatch.setattr(archive_file, "write", losing)
    with pytest.raises(Refused, match="cannot be read after seal"):
        archived(folder)
    assert AuditSeal.objects.count() == 10 and not AuditArchive.objects.exists()


def test_two_runs_at_once_are_one(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain()
    with alone(folder), pytest.raises(Refused, match="Another run archives into"):
        archived(folder)
    (tmp_path / "other").mkdir()
    written = archiving._written

    def overtaken(*words: Any) -> Any:
        monkeypatch.setattr(archiving, "_written", written)
        mine = written(*words)
        archived(tmp_path / "other")
        return mine

    monkeypatch.setattr(archiving, "_written", overtaken)
    with pytest.raises(Refused, match="at the same time"):
        archived(folder)
    assert report(tmp_path / "other").problem == "" and AuditArchive.objects.count() == 1
