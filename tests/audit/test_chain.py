"""Is whatever happens to the trail behind our back found, and named exactly?"""

import io
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext

from audit import append_only, checkpoints
from audit.checkpoints import append, line_of, read_line, sign_due
from audit.keyring import Keyring, of_publics
from audit.models import AuditChain, AuditCheckpoint, AuditEvent, AuditSeal, AuditUnsealed
from audit.row_text import COLUMNS, texts_of
from audit.sealing import seal_waiting
from audit.signing import kept_key, key_id, public_half
from audit.tasks import seal
from audit.verifying import ChainReport, slipped_in, verify
from tests.audit.chain import KEY, NOW, PUBLIC, RING, sql, write, written_anew

pytestmark = pytest.mark.django_db(transaction=True)

LATER = NOW + timedelta(minutes=5)


def sealed(number: int = 10) -> list[AuditSeal]:
    """A chain of so many, with a checkpoint in the middle."""
    write(number // 2)
    seal_waiting(NOW)
    assert len(sign_due(lambda: KEY, NOW)) == 1
    write(number - number // 2)
    seal_waiting(NOW)
    return list(AuditSeal.objects.order_by("seq"))


def report() -> ChainReport:
    return verify("demo", RING)


def test_a_whole_chain_is_proved_up_to_its_last_checkpoint() -> None:
    sealed(10)
    found = report()
    assert (found.seals, found.proved_seq, found.proved_at, found.problem) == (10, 5, NOW, "")
    assert not list(slipped_in())
    assert verify("demo", Keyring()).proved_seq == 0, "without a key nothing is proved"


@pytest.mark.parametrize("table", append_only.KEPT[:3])
def test_the_database_refuses_to_change_or_to_remove(table: str) -> None:
    sealed(4)
    for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET cluster = 'other'"):  # noqa: S608
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
    assert report().problem == ""


def one_byte_more(value: Any) -> Any:
    """The same value with the least thing about it changed."""
    if value is None:
        return 1
    if isinstance(value, datetime):
        return value + timedelta(microseconds=1)
    if isinstance(value, int):
        return value ^ 1
    if isinstance(value, UUID):
        return UUID(int=value.int ^ 1)
    return f"{value[:-1]}{chr(ord(value[-1]) ^ 1)}" if value else "\x01"


@pytest.mark.parametrize("column", [column for column in COLUMNS if column not in {"id", "payload"}])
def test_one_changed_byte_of_each_column_is_found_at_its_event(column: str) -> None:
    seals = sealed(10)
    before = AuditEvent.objects.filter(pk=seals[6].event).values(column).get()[column]
    after: Any = uuid4() if column in {"heimdall_job_id", "verdict_id"} else one_byte_more(before)
    if column == "scheduler_at":
        after = NOW
    append_only.remove()
    AuditEvent.objects.filter(pk=seals[6].event).update(**{column: after})
    append_only.restore()
    found = report()
    assert found.problem == f"event {seals[6].event} or its seal 7 was changed"
    assert (found.seals, found.proved_seq) == (6, 5)


def blank_in_payload(event: int) -> None:
    sql("UPDATE audit_auditevent SET payload = REPLACE(payload, ':', ' :') WHERE id = %s", event)


def letter_in_payload(event: int) -> None:
    sql("UPDATE audit_auditevent SET payload = REPLACE(payload, 'text', 'test') WHERE id = %s", event)


def emptied(event: int) -> None:
    sql("UPDATE audit_auditevent SET job_number = NULL WHERE id = %s", event)


def blank_at_the_end(event: int) -> None:
    sql("UPDATE audit_auditevent SET actor = 'olga ' WHERE id = %s", event)


@pytest.mark.parametrize("change", [blank_in_payload, letter_in_payload, emptied, blank_at_the_end])
def test_what_a_comparison_would_pass_over_is_found(change: Callable[[int], None]) -> None:
    seals = sealed(10)
    change(seals[6].event)
    found = report()
    assert found.problem == f"event {seals[6].event} or its seal 7 was changed"
    assert (found.seals, found.proved_seq) == (6, 5)


def test_a_changed_number_of_an_event_is_found() -> None:
    seals = sealed(10)
    sql("UPDATE audit_auditevent SET id = 4711 WHERE id = %s", seals[6].event)
    assert report().problem == f"event {seals[6].event} (seal 7) has been removed since it was sealed"
    sql("UPDATE audit_auditseal SET event = 4711 WHERE seq = 7")
    assert report().problem == "event 4711 or its seal 7 was changed"


@pytest.mark.parametrize("column", ["cluster", "seq", "event", "digest"])
def test_one_changed_byte_of_each_column_of_a_seal_is_found(column: str) -> None:
    sealed(10)
    seal = AuditSeal.objects.get(seq=7)
    append_only.remove()
    AuditSeal.objects.filter(pk=seal.pk).update(
        **{column: 4711 if column in {"seq", "event"} else one_byte_more(getattr(seal, column))}
    )
    append_only.restore()
    assert report().problem and report().seals == 6


@pytest.mark.parametrize("column", ["cluster", "seq", "digest", "at", "signature"])
def test_one_changed_byte_of_each_column_of_a_checkpoint_is_found(column: str) -> None:
    sealed(10)
    row = AuditCheckpoint.objects.get()
    append_only.remove()
    AuditCheckpoint.objects.update(**{column: one_byte_more(getattr(row, column))})
    append_only.restore()
    assert verify("demn", RING).problem if column == "cluster" else report().problem
    assert report().proved_seq < 5


def test_two_events_that_change_places_are_found() -> None:
    seals = sealed(10)
    for number, event in ((-1, 3), (seals[3].event, 6), (seals[6].event, -1)):
        sql("UPDATE audit_auditevent SET id = %s WHERE id = %s", number, seals[event].event if event > 0 else -1)
    assert report().problem == f"event {seals[3].event} or its seal 4 was changed"


def test_two_seals_that_change_places_are_found() -> None:
    sealed(10)
    for seq, before in ((99, 4), (4, 7), (7, 99)):
        sql("UPDATE audit_auditseal SET seq = %s WHERE seq = %s", seq, before)
    assert "or its seal 4 was changed" in report().problem


def test_an_event_that_is_slipped_in_with_a_seal_is_found() -> None:
    sealed(10)
    write(1)
    AuditUnsealed.objects.all().delete()
    new = AuditEvent.objects.latest("pk").pk
    for seq in range(10, 6, -1):
        sql("UPDATE audit_auditseal SET seq = %s WHERE seq = %s", seq + 1, seq)
    AuditSeal.objects.create(cluster="demo", seq=7, event=new, digest="0" * 64, sealed_at=NOW)
    assert report().problem == f"event {new} or its seal 7 was changed"


def test_every_column_of_an_event_is_sealed() -> None:
    assert set(COLUMNS) == {field.column for field in AuditEvent._meta.concrete_fields}
    (event,) = write(1)[:1]
    stored = AuditEvent.objects.get()
    cells = json.loads(texts_of([stored.pk])[stored.pk])
    assert len(cells) == len(COLUMNS)
    assert cells[COLUMNS.index("sentence")] == event.sentence
    assert cells[COLUMNS.index("node")] == "", "empty is not null"
    assert cells[COLUMNS.index("verdict_id")] is None


def test_a_removed_event_is_found() -> None:
    seals = sealed(10)
    sql("DELETE FROM audit_auditevent WHERE id = %s", seals[3].event)
    assert report().problem == f"event {seals[3].event} (seal 4) has been removed since it was sealed"


def test_an_event_that_is_removed_before_its_seal_leaves_a_trace() -> None:
    write(3)
    event = AuditEvent.objects.order_by("pk")[1].pk
    sql("DELETE FROM audit_auditevent WHERE id = %s", event)
    seal_waiting(NOW)
    assert report().problem == f"event {event} (seal 2) has been removed before it was sealed"


def test_a_removed_seal_is_found() -> None:
    sealed(10)
    sql("DELETE FROM audit_auditseal WHERE seq = 8")
    assert report().problem == "seal 8 is missing: after 7 comes 9"
    assert len(list(slipped_in())) == 1


def test_an_event_that_nobody_saw_come_is_found() -> None:
    sealed(4)
    write(1)
    event = AuditEvent.objects.latest("pk").pk
    AuditUnsealed.objects.all().delete()
    assert list(slipped_in()) == [event]
    with pytest.raises(CommandError, match="not as it was written"):
        call_command("verify_audit", public_key=[PUBLIC], stdout=io.StringIO())


def test_a_chain_that_is_written_anew_is_found_at_its_checkpoint() -> None:
    seals = sealed(10)
    sql("UPDATE audit_auditevent SET actor = 'nobody' WHERE id = %s", seals[2].event)
    written_anew()
    assert report().problem == "the chain was written anew: its digest at checkpoint 5 is another one"
    sql("UPDATE audit_auditcheckpoint SET digest = %s", AuditSeal.objects.get(seq=5).digest)
    assert report().problem == f"checkpoint 5 was not signed by the key {key_id(PUBLIC)}, which it names"


def test_what_is_written_anew_after_the_last_checkpoint_is_not_proved() -> None:
    seals = sealed(10)
    sql("UPDATE audit_auditevent SET actor = 'nobody' WHERE id = %s", seals[8].event)
    written_anew()
    found = report()
    assert (found.problem, found.proved_seq, found.seals) == ("", 5, 10), "and it is not said to be"


def test_a_cut_off_end_is_found_by_a_checkpoint(tmp_path: Path) -> None:
    sealed(10)
    kept = sign_due(lambda: KEY, LATER)
    append(tmp_path / "kept", kept)
    sql("DELETE FROM audit_auditseal WHERE seq > 7")
    assert report().problem.startswith("the chain ends at seal 7, and checkpoint 10 of 2026-11-30 12:05:00 UTC")
    sql("DELETE FROM audit_auditcheckpoint WHERE seq = 10")
    assert report().problem == "the chain ends at seal 7, and was 10 long: seals are missing"
    AuditChain.objects.update(seq=7)
    assert report().problem == "", "nothing in the database tells it any more"
    outside = [read_line(line) for line in (tmp_path / "kept").read_text().splitlines()]
    assert verify("demo", RING, outside).problem.startswith("the chain ends at seal 7")
    assert oct((tmp_path / "kept").stat().st_mode & 0o777) == "0o600"


def test_a_checkpoint_that_is_replaced_differs_from_the_one_kept_outside() -> None:
    sealed(10)
    kept = [read_line(line_of(row)) for row in AuditCheckpoint.objects.all()]
    other = Ed25519PrivateKey.from_private_bytes(bytes(32))
    sql("DELETE FROM audit_auditcheckpoint")
    AuditChain.objects.update(checkpoint_seq=0, checkpoint_at=None)
    sql("DELETE FROM audit_auditseal WHERE seq > 5")
    AuditChain.objects.update(seq=5, digest=AuditSeal.objects.get(seq=5).digest)
    sign_due(lambda: other, LATER)
    found = verify("demo", of_publics(public_half(other)), kept)
    assert found.problem == "checkpoint 5 is another one than the one that was kept outside"


def test_two_sealers_at_once_seal_each_event_once() -> None:
    write(3)
    seal_waiting(NOW)
    write(4)
    late = AuditChain.objects.get()
    seal_waiting(NOW)
    AuditChain.objects.filter(cluster="demo").update(seq=late.seq, digest=late.digest)  # what the second one read
    write(1)
    assert seal_waiting(NOW) == 0
    assert AuditUnsealed.objects.count() == 1
    AuditChain.objects.filter(cluster="demo").update(seq=7, digest=AuditSeal.objects.get(seq=7).digest)
    assert seal_waiting(NOW) == 1
    assert report().problem == ""


def test_each_cluster_has_a_chain_of_its_own_and_the_site_too() -> None:
    write(2)
    write(3, "second")
    write(1, "")
    assert seal_waiting(NOW) == 6
    assert [verify(name, RING).seals for name in ("demo", "second", "")] == [2, 3, 1]
    assert len(sign_due(lambda: KEY, NOW)) == 3
    assert verify("", RING).proved_seq == 1


def test_a_rolled_back_event_leaves_no_trace() -> None:
    with pytest.raises(RuntimeError), transaction.atomic():
        write(2)
        raise RuntimeError
    write(1)
    assert seal_waiting(NOW) == 1
    assert report().problem == ""


def test_checkpoints_come_once_a_minute_or_after_many_seals(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def key() -> Ed25519PrivateKey:
        asked.append(1)
        return KEY

    assert sign_due(key, NOW) == []
    assert not asked, "nothing to sign, so the key is left alone"
    write(3)
    seal_waiting(NOW)
    assert [row.seq for row in sign_due(key, NOW)] == [3]
    write(1)
    seal_waiting(NOW)
    assert sign_due(key, NOW + timedelta(seconds=59)) == []
    monkeypatch.setattr(checkpoints, "SEALS", 1)
    assert [row.seq for row in sign_due(key, NOW + timedelta(seconds=59))] == [4]
    assert sign_due(key, LATER) == []


def test_sealing_costs_the_same_for_one_event_and_for_many() -> None:
    costs = []
    for number in (1, 400):
        write(1)
        seal_waiting(NOW)
        write(number)
        with CaptureQueriesContext(connection) as queries:
            assert seal_waiting(NOW) == number
        costs.append(len(queries))
    assert costs[1] <= costs[0] + 3 < 14, costs  # SQLite takes the seals in several statements


def test_the_task_makes_its_key_and_the_command_proves_by_it(
    settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings.AUDIT_KEY_FILE = tmp_path / "audit-key"
    settings.REKINDLE = settings.REKINDLE | {"REKINDLE_AUDIT_CHECKPOINT_FILE": str(tmp_path / "kept")}
    write(3)
    seal()
    assert oct(settings.AUDIT_KEY_FILE.stat().st_mode & 0o777) == "0o600"
    told = io.StringIO()
    call_command("verify_audit", checkpoints=tmp_path / "kept", stdout=told)
    assert "demo: 3 seals; proved up to seal 3" in told.getvalue()
    shown = io.StringIO()
    call_command("verify_audit", show_key=True, stdout=shown)
    assert shown.getvalue().strip() == public_half(kept_key(settings.AUDIT_KEY_FILE))
    settings.AUDIT_KEY_FILE.chmod(0o644)
    write(1)
    AuditChain.objects.update(checkpoint_at=NOW - timedelta(days=1))
    seal()
    assert "could not be signed" in caplog.text
    assert AuditSeal.objects.count() == 4, "a key that cannot be used stops no sealing"
    with pytest.raises(CommandError, match="mode 600"):
        call_command("verify_audit")


@pytest.mark.parametrize("line", ["", "{}", "[]", '{"seq": "x"}', "[" * 5000])
def test_a_line_that_is_no_checkpoint_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "kept").write_text(f"{line}\n")
    with pytest.raises(CommandError, match="line 1, is no checkpoint"):
        call_command("verify_audit", checkpoints=tmp_path / "kept", public_key=[PUBLIC])


def test_the_command_names_what_is_broken() -> None:
    seals = sealed(10)
    sql("DELETE FROM audit_auditevent WHERE id = %s", seals[3].event)
    told = io.StringIO()
    with pytest.raises(CommandError, match="1 of 1 chains are broken"):
        call_command("verify_audit", public_key=[PUBLIC], stdout=told)
    assert f"demo: BROKEN after seal 3: event {seals[3].event} (seal 4) has been removed" in told.getvalue()
    with pytest.raises(CommandError, match="64 hexadecimal"):
        call_command("verify_audit", public_key=["zz"], stdout=told)
