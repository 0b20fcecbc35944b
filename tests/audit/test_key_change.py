"""Does another key go on signing, with all that was signed before still proved, and nothing proved by a thief?"""

import io
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import CommandError, call_command

from audit import key_change
from audit.actor_kind import ActorKind
from audit.checkpoints import line_of, read_line, sign_due
from audit.key_change import NEXT, OLD, Refused, declare_leaked, declare_lost, rotate, site_keys
from audit.key_word import told_changes
from audit.keyring import DATED, LATE, LEAKED, PROVED, STRANGE, KnownKey, of_publics
from audit.looking_over import look_over
from audit.models import AuditChain, AuditCheckpoint, AuditEvent, AuditSeal
from audit.sealing import seal_waiting
from audit.signing import BadKey, Ending, kept_key, key_id, public_half, sign
from audit.trail import Actor
from audit.verifying import ChainReport, verify
from tests.audit.chain import KEY, MINUTE, NOW, PUBLIC, RING, grown, sql, write, written_anew

pytestmark = pytest.mark.django_db(transaction=True)

OLGA = Actor(ActorKind.PERSON, "olga (command line)")
OLD_ID = key_id(PUBLIC)


@pytest.fixture
def path(settings: Any, tmp_path: Path) -> Path:
    """The site's key, which is that of the tests' chains."""
    settings.AUDIT_KEY_FILE = tmp_path / "audit-key"
    settings.AUDIT_KEY_FILE.write_text(KEY.private_bytes_raw().hex())
    settings.AUDIT_KEY_FILE.chmod(0o600)
    return settings.AUDIT_KEY_FILE


def signed(path: Path, number: int, at: Any, cluster: str = "demo") -> None:
    write(number, cluster, at)
    seal_waiting(at)
    sign_due(lambda: kept_key(path), at)


def runs(report: ChainReport) -> list[tuple[str, str, int, int, int]]:
    return [(run.key, run.worth, run.first_seq, run.last_seq, run.number) for run in report.runs]


def command(name: str, *words: Any, **options: Any) -> str:
    out = io.StringIO()
    call_command(name, *words, stdout=out, **options)
    return out.getvalue()


def test_a_planned_change_leaves_all_of_it_proved(path: Path) -> None:
    signed(path, 3, NOW)
    signed(path, 2, NOW + MINUTE)
    change = rotate(path, OLGA, NOW + 2 * MINUTE)
    signed(path, 4, NOW + 3 * MINUTE)
    found = verify("demo", site_keys(path))
    new = key_id(change.new)
    assert (found.problem, found.proved_seq) == ("", 9)
    assert runs(found) == [(OLD_ID, PROVED, 3, 5, 2), (new, PROVED, 9, 9, 1)]
    assert look_over("demo", site_keys(path)).holds
    assert public_half(kept_key(path)) == change.new != PUBLIC
    assert {oct(one.stat().st_mode & 0o777) for one in path.parent.iterdir()} == {"0o600"}
    assert not path.with_name(path.name + NEXT).exists()


def test_the_trail_tells_of_it_signed_by_both(path: Path) -> None:
    change = rotate(path, OLGA, NOW)
    [told] = told_changes()
    assert (told.change, told.by_old, told.by_new) == (change, True, True)
    event = AuditEvent.objects.get()
    assert (event.cluster, event.actor, event.type, event.level) == ("", OLGA.name, "configuration", "warning")
    assert event.sentence == f"The key {key_id(change.new)} follows {OLD_ID}, and signs the trail."
    assert path.read_text().strip() not in str(event.payload)
    assert KEY.private_bytes_raw().hex() not in str(event.payload)
    seal_waiting(NOW)
    sign_due(lambda: kept_key(path), NOW + MINUTE)
    assert verify("", site_keys(path)).proved_seq == 1


@pytest.mark.parametrize("name", ["old", "new", "leaked_at", "at", "signed_by_old", "signed_by_new"])
@pytest.mark.parametrize("value", ["", "x", "0" * 64, "2026-11-30T12:00:00Z", None, 7, [["x"]], {"a": "x" * 5000}])
def test_a_change_that_the_keys_did_not_say_is_not_said_to_be_theirs(path: Path, name: str, value: Any) -> None:
    rotate(path, OLGA, NOW - MINUTE, leaked_at=NOW - 2 * MINUTE)
    event = AuditEvent.objects.get()
    entry = {**event.payload, name: value}
    AuditEvent.objects.create(
        at=NOW, cluster="", actor_kind="person", actor="x", type=event.type, action=event.action, payload=entry
    )
    good, bad = told_changes()
    assert good.by_old and good.by_new
    assert not (bad.by_old and bad.by_new)
    command("verify_audit", public_key=[public_half(kept_key(path)), PUBLIC])


def test_a_key_that_was_not_given_is_named_and_its_checkpoints_are_not_proved(path: Path) -> None:
    signed(path, 3, NOW)
    change = rotate(path, OLGA, NOW + MINUTE)
    signed(path, 4, NOW + 2 * MINUTE)
    new = key_id(change.new)
    with_new, with_old = verify("demo", of_publics(change.new)), verify("demo", RING)
    assert runs(with_new) == [(OLD_ID, STRANGE, 3, 3, 1), (new, PROVED, 7, 7, 1)]
    assert (with_old.proved_seq, [run.key for run in with_old.strange]) == (3, [new])
    assert not look_over("demo", RING).holds
    with pytest.raises(CommandError, match=f"signed by keys that were not given: {new}"):
        command("verify_audit", public_key=[PUBLIC])
    said = command("verify_audit", public_key=[PUBLIC, change.new])
    assert f"    checkpoint 3: proved by the key {OLD_ID}." in said
    assert f"    checkpoint 7: proved by the key {new}." in said
    assert f"on {new} follows {OLD_ID}; both signed it." in said


def test_what_a_leaked_key_signs_later_proves_nothing(path: Path) -> None:
    signed(path, 3, NOW)
    signed(path, 2, NOW + 2 * MINUTE)
    rotate(path, OLGA, NOW + 3 * MINUTE, leaked_at=NOW + MINUTE)
    found = verify("demo", site_keys(path))
    assert (found.problem, found.proved_seq) == ("", 0)
    assert [one[1] for one in runs(found)] == [DATED, LEAKED]
    kept = [read_line(line_of(row)) for row in AuditCheckpoint.objects.order_by("seq")]
    with_copies = verify("demo", site_keys(path), kept)
    assert (with_copies.proved_seq, [one[1] for one in runs(with_copies)]) == (3, [PROVED, LEAKED])
    signed(path, 1, NOW + 4 * MINUTE)
    assert verify("demo", site_keys(path)).proved_seq == 6, "the new key says how it stood when it came"
    assert "no proof: signed by the key" in command("verify_audit")


def test_a_thief_who_dates_back_what_he_wrote_anew_proves_nothing(path: Path) -> None:
    signed(path, 4, NOW)
    kept = [read_line(line_of(row)) for row in AuditCheckpoint.objects.all()]
    sql("UPDATE audit_auditevent SET actor = 'nobody' WHERE id = %s", AuditSeal.objects.get(seq=2).event)
    ending = Ending("demo", 4, written_anew(), NOW - timedelta(days=1))
    sql(
        "UPDATE audit_auditcheckpoint SET digest = %s, at = %s, signature = %s",
        ending.digest,
        ending.at,
        sign(KEY, ending),
    )
    rotate(path, OLGA, NOW + 2 * MINUTE, leaked_at=NOW + MINUTE)
    found = verify("demo", site_keys(path))
    assert (found.proved_seq, runs(found)[0][1]) == (0, DATED), "his date is worth nothing"
    assert "is another one" in verify("demo", site_keys(path), kept).problem


def test_a_thief_of_the_old_key_cannot_hide_behind_the_new_one(path: Path) -> None:
    signed(path, 4, NOW)
    change = rotate(path, OLGA, NOW + MINUTE)
    signed(path, 2, NOW + 2 * MINUTE)
    row = AuditCheckpoint.objects.get(cluster="demo", seq=6)
    ending = Ending("demo", 6, row.digest, row.at)
    sql("UPDATE audit_auditcheckpoint SET signature = %s WHERE seq = 6", sign(KEY, ending))
    assert f"not signed by the key {key_id(change.new)}" in verify("demo", site_keys(path)).problem
    sql("UPDATE audit_auditcheckpoint SET key_id = %s WHERE seq = 6", OLD_ID)
    assert verify("demo", site_keys(path)).problem == "", "within the minutes of the change it may be the old one"
    late = Ending("demo", 6, row.digest, NOW + timedelta(minutes=7))
    sql("UPDATE audit_auditcheckpoint SET signature = %s, at = %s WHERE seq = 6", sign(KEY, late), late.at)
    found = verify("demo", site_keys(path))
    assert (found.proved_seq, runs(found)[-1][1]) == (4, LATE)


@pytest.mark.parametrize("named", ["", "x'; --", "é" * 16, "\x1b[31mred", OLD_ID.upper()])
def test_a_name_that_is_no_key_is_a_strange_one(path: Path, named: str) -> None:
    signed(path, 4, NOW)
    sql("UPDATE audit_auditcheckpoint SET key_id = %s", named)
    found = verify("demo", RING)
    assert (found.proved_seq, runs(found)[0][1]) == (0, STRANGE)
    with pytest.raises(CommandError, match="not given") as error:
        command("verify_audit")
    assert "\x1b" not in str(error.value)


def test_a_key_that_leaked_before_its_planned_end_can_be_told_of_later(path: Path) -> None:
    signed(path, 3, NOW)
    change = rotate(path, OLGA, NOW + MINUTE)
    signed(path, 1, NOW + 2 * MINUTE)
    for which in (OLD_ID, PUBLIC.upper()):
        declare_leaked(path, which, NOW - MINUTE, OLGA, NOW + 3 * MINUTE)
    assert [one[1] for one in runs(verify("demo", site_keys(path)))] == [LEAKED, PROVED]
    told = list(told_changes())[-1]
    assert (told.by_old, told.by_new, told.change and told.change.new) == (False, True, change.new)
    for which, said in (("x", "No key 'x' has signed here"), (change.new, "signs now")):
        with pytest.raises(Refused, match=said):
            declare_leaked(path, which, NOW, OLGA, NOW + 3 * MINUTE)


def test_a_key_that_is_lost_is_followed_by_the_one_that_was_made(path: Path) -> None:
    signed(path, 3, NOW)
    path.unlink()
    with pytest.raises(Refused, match="say audit_key lost"):
        rotate(path, OLGA, NOW)
    signed(path, 2, NOW + MINUTE)  # the beat makes one
    assert [one[1] for one in runs(verify("demo", site_keys(path)))] == [STRANGE, PROVED]
    declare_lost(path, PUBLIC, OLGA, NOW + 2 * MINUTE)
    assert [one[1] for one in runs(verify("demo", site_keys(path)))] == [PROVED, PROVED]
    [told] = told_changes()
    assert (told.by_old, told.by_new) == (False, True)
    with pytest.raises(Refused, match="it signs now"):
        declare_lost(path, public_half(kept_key(path)), OLGA, NOW)
    with pytest.raises(BadKey):
        declare_lost(path, "zz", OLGA, NOW)


class Killed(Exception):
    """The machine stops here."""


STOPS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "the old key is to be remembered": lambda patch: patch.setattr(key_change, "_remember", killed),
    "the event is to be written": lambda patch: patch.setattr(key_change, "record", killed),
    "the key is to be replaced": lambda patch: patch.setattr(Path, "replace", replaced),
    "the key was replaced": lambda patch: patch.setattr(key_change, "settle", settled()),
}
_replace = Path.replace
_settle = key_change.settle


def killed(*_words: Any) -> None:
    raise Killed


def replaced(self: Path, target: Path) -> Path:
    if self.name.endswith(NEXT):
        raise Killed
    return _replace(self, target)


def settled() -> Callable[[Path], None]:
    calls = 0

    def settle(folder: Path) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:  # the first is that of the old keys
            raise Killed
        _settle(folder)

    return settle


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("leaked", [False, True])
def test_whatever_interrupts_it_leaves_a_key_and_the_next_try_ends_it(
    path: Path, stop: str, leaked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaked_at = NOW + MINUTE if leaked else None
    signed(path, 3, NOW)
    with monkeypatch.context() as patch:
        STOPS[stop](patch)
        with pytest.raises(Killed):
            rotate(path, OLGA, NOW + 2 * MINUTE, leaked_at)
    signed(path, 1, NOW + 3 * MINUTE)
    found = verify("demo", site_keys(path))
    assert (found.problem, found.strange) == ("", ())
    rotate(path, OLGA, NOW + 4 * MINUTE, leaked_at if public_half(kept_key(path)) == PUBLIC else None)
    signed(path, 1, NOW + 5 * MINUTE)
    found = verify("demo", site_keys(path))
    assert (found.problem, found.strange, found.proved_seq) == ("", (), 5)
    first = runs(found)[0]
    assert first[:2] == (OLD_ID, DATED if leaked else PROVED)


def test_two_changes_at_once_are_one(path: Path) -> None:
    with key_change._alone(path), pytest.raises(Refused, match="Somebody else changes the key"):
        rotate(path, OLGA, NOW)
    assert public_half(kept_key(path)) == PUBLIC
    assert not AuditEvent.objects.exists()


def test_the_key_of_another_account_is_not_replaced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(Refused, match="belongs to another account"):
        rotate(path, OLGA, NOW)
    assert public_half(kept_key(path)) == PUBLIC


def test_old_keys_that_others_could_have_written_stop_it(path: Path) -> None:
    old = path.with_name(path.name + OLD)
    old.write_text(f"{public_half(Ed25519PrivateKey.from_private_bytes(bytes(32)))}\n")
    old.chmod(0o666)
    with pytest.raises(BadKey, match="owner alone can write"):
        rotate(path, OLGA, NOW)
    with pytest.raises(CommandError, match="owner alone can write"):
        command("verify_audit")
    assert public_half(kept_key(path)) == PUBLIC and not AuditEvent.objects.exists()


def test_what_stands_in_the_file_of_old_keys_stays(path: Path) -> None:
    old = path.with_name(path.name + OLD)
    other = public_half(Ed25519PrivateKey.from_private_bytes(bytes(32)))
    old.write_text(f"{other}  # of the first site, without a line end")
    rotate(path, OLGA, NOW)
    assert old.read_text().splitlines() == [
        f"{other}  # of the first site, without a line end",
        PUBLIC,
        KnownKey(PUBLIC, NOW + key_change.OVERLAP).line,
    ]


def test_the_command_from_the_first_to_the_last_word(path: Path, tmp_path: Path) -> None:
    signed(path, 3, NOW)
    assert command("audit_key", "show") == f"{PUBLIC}  # {OLD_ID}, signs now\n"
    said = command("audit_key", "rotate")
    new = public_half(kept_key(path))
    assert f"public half where nobody who runs the database can write: {new}" in said
    assert "within 5 minutes" in said
    seal_waiting(NOW)
    AuditChain.objects.update(checkpoint_at=None)
    sign_due(lambda: kept_key(path), NOW)
    listed = command("audit_key", "show")
    assert f"{new}  # {key_id(new)}, signs now" in listed and f"{PUBLIC} until 20" in listed
    (tmp_path / "keys").write_text(listed)
    assert "proved by the key" in command("verify_audit", keys=tmp_path / "keys")
    command("audit_key", "leaked", OLD_ID, "--since", "2026-11-29T12:00:00+01:00")
    assert f"{PUBLIC} leaked 2026-11-29T11:00:00+00:00" in command("audit_key", "show")
    assert "    checkpoint 3: no proof" not in command("verify_audit", public_key=[PUBLIC, new])
    said = command("verify_audit", public_key=[PUBLIC, new], leaked=[f"{OLD_ID}=2026-12-24T12:00:00Z"])
    assert "checkpoint 3: signed by the key" in said and "by their own date alone" in said
    (tmp_path / "kept").write_text("".join(line_of(row) + "\n" for row in AuditCheckpoint.objects.all()))
    said = command(
        "verify_audit",
        public_key=[PUBLIC, new],
        leaked=[f"{OLD_ID}=2026-12-24T12:00:00Z"],
        checkpoints=tmp_path / "kept",
    )
    assert f"checkpoint 3: proved by the key {OLD_ID}" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rotate", "--leaked-since", "yesterday"], "no time with an offset"),
        (["rotate", "--leaked-since", "2026-11-30T12:00:00"], "no time with an offset"),
        (["rotate", "--leaked-since", "2999-01-01T12:00:00Z"], "No key leaks in the future"),
        (["leaked", "0" * 16, "--since", "2026-01-01T12:00:00Z"], "has signed here"),
        (["leaked", OLD_ID, "--since", "2026-01-01T12:00:00Z"], "signs now"),
        (["lost", "zz"], "64 hexadecimal characters"),
        (["lost", PUBLIC], "is not lost"),
    ],
)
def test_what_is_refused_changes_nothing(path: Path, words: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        command("audit_key", *words)
    assert public_half(kept_key(path)) == PUBLIC
    assert not AuditEvent.objects.exists()
    assert not path.with_name(path.name + OLD).exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"leaked": ["x=2026-01-01T00:00:00Z"]}, "is the id of none that was given"),
        ({"leaked": [OLD_ID]}, "no time with an offset"),
        ({"keys": Path("/nowhere/at/all")}, "holds no key"),
        ({"public_key": ["zz"]}, "64 hexadecimal"),
    ],
)
def test_keys_that_cannot_be_used_are_said_in_a_sentence(path: Path, options: Any, said: str) -> None:
    with pytest.raises(CommandError, match=said):
        command("verify_audit", **options)


def test_the_bounded_look_begins_at_a_key_that_nobody_else_had(path: Path) -> None:
    grown(5, NOW)
    change = rotate(path, OLGA, NOW + MINUTE, leaked_at=NOW)
    signed(path, 5, NOW + 2 * MINUTE)
    with_old = [read_line(line_of(row)) for row in AuditCheckpoint.objects.filter(cluster="demo")]
    assert [row.key_id for row in with_old] == [OLD_ID, key_id(change.new)]
    signed(path, 5, NOW + 4 * MINUTE)
    found = look_over("demo", site_keys(path), most=4)
    assert (found.begins, found.holds, found.report.proved_seq) == (10, True, 15)
