"""Does the bounded look find what was changed in the part that it follows, and say what it did not look at?"""

from datetime import timedelta
from pathlib import Path

import pytest
from pytest_django import Settings

from audit import append_only
from audit.actor_kind import ActorKind
from audit.checkpoints import sign_due
from audit.keyring import Keyring
from audit.looking_over import ASKED, BROKEN, HOLDS, Looked, asked_for, event_of, look_over
from audit.models import AuditCheckpoint, AuditEvent, AuditSeal, AuditUnsealed
from audit.sealing import seal_waiting
from audit.signing import kept_key
from audit.tasks import verify_chain
from audit.trail import Actor
from audit.verifying import ChainReport
from tests.audit.chain import KEY, NOW, RING, write

pytestmark = pytest.mark.django_db(transaction=True)


def sealed(parts: int = 4, each: int = 5) -> list[AuditSeal]:
    """A chain in parts, each with a checkpoint at its end."""
    for number in range(parts):
        write(each)
        seal_waiting(NOW)
        sign_due(lambda: KEY, NOW + timedelta(minutes=5 * number))
    return list(AuditSeal.objects.order_by("seq"))


def change(event: int) -> None:
    append_only.remove()
    AuditEvent.objects.filter(pk=event).update(actor="mallory")
    append_only.restore()


def test_a_short_chain_is_followed_from_its_beginning() -> None:
    sealed()
    found = look_over("demo", RING)
    assert (found.begins, found.report.seals, found.report.proved_seq, found.holds) == (0, 20, 20, True)
    assert "is as it was written: 20 seals, proved by a signature up to seal 20" in found.sentence


def test_a_long_one_is_followed_from_a_signed_checkpoint_on() -> None:
    seals = sealed()
    found = look_over("demo", RING, most=7)
    assert (found.begins, found.report.seals, found.holds) == (10, 20, True)
    assert "seals 11 to 20" in found.sentence
    change(seals[3].event)
    assert look_over("demo", RING, most=7).holds, "what lies before the checkpoint is not looked at"
    assert not look_over("demo", RING).holds


@pytest.mark.parametrize("most", [7, 1000])
def test_a_change_in_what_is_followed_is_found_at_its_event(most: int) -> None:
    seals = sealed()
    change(seals[16].event)
    found = look_over("demo", RING, most)
    assert not found.holds
    assert (
        f"NOT as it was written, after seal 16: event {seals[16].event} or its seal 17 was changed"
        in found.sentence
    )


def test_a_checkpoint_that_the_key_did_not_sign_begins_nothing() -> None:
    sealed()
    append_only.remove()
    AuditCheckpoint.objects.filter(seq=10).update(signature="0" * 128)
    append_only.restore()
    assert "checkpoint 10 was not signed by the key" in look_over("demo", RING, most=7).sentence


def test_seals_that_are_missing_at_the_end_are_found() -> None:
    sealed()
    append_only.remove()
    AuditSeal.objects.filter(seq__gt=18).delete()
    append_only.restore()
    assert not look_over("demo", RING, most=7).holds


def test_an_event_that_was_slipped_in_is_found() -> None:
    sealed()
    append_only.remove()
    write(1)
    AuditUnsealed.objects.all().delete()
    append_only.restore()
    found = look_over("demo", RING, most=7)
    assert not found.holds and "was slipped in" in found.sentence


@pytest.mark.parametrize(
    ("events", "said"), [(1, "1 event waits for its seal"), (3, "3 events wait for their seal")]
)
def test_what_is_not_sealed_yet_is_counted_and_without_a_key_nothing_is_proved(events: int, said: str) -> None:
    sealed()
    write(events)
    found = look_over("demo", Keyring())
    assert found.holds and found.sentence.endswith(f"no signature proves it; {said}.")


def test_a_trail_that_never_was_holds_and_proves_nothing() -> None:
    assert look_over("nowhere", RING) == Looked(ChainReport("nowhere", 0), 0, (), 0)


def test_question_and_answer_stand_in_the_trail(settings: Settings, tmp_path: Path) -> None:
    settings.AUDIT_KEY_FILE = tmp_path / "key"
    write(3)
    seal_waiting(NOW)
    sign_due(lambda: kept_key(settings.AUDIT_KEY_FILE), NOW)
    assert asked_for("demo", Actor(ActorKind.PERSON, "olga")).action == ASKED
    verify_chain("demo", "olga")
    event = AuditEvent.objects.get(type="verified")
    assert (event.action, event.level, event.payload["proved_seq"], event.payload["asked_by"]) == (
        HOLDS,
        "info",
        3,
        "olga",
    )
    change(AuditSeal.objects.get(seq=2).event)
    verify_chain("demo", "olga")
    event = AuditEvent.objects.filter(type="verified").order_by("-pk")[0]
    assert (event.action, event.level) == (BROKEN, "error")


def test_a_key_that_cannot_be_used_proves_nothing_and_still_looks(settings: Settings, tmp_path: Path) -> None:
    settings.AUDIT_KEY_FILE = tmp_path
    write(3)
    seal_waiting(NOW)
    verify_chain("demo", "olga")
    assert "no signature proves it" in AuditEvent.objects.get(type="verified").sentence
    assert event_of(look_over("demo", Keyring()), "olga").action == HOLDS
