"""Is a row the job that we know by this number?"""

from dataclasses import replace
from typing import Any

import pytest

from tests.workloads.scripted import a_row, after
from workloads.identity import Identity, Known, heimdall_id, identify

KNOWN = Known("trainer", "train", index=1, submitted_at=after(100))
SAME = {"restarts": 1, "submitted_at": after(100)}

CASES: dict[str, tuple[Known, dict[str, Any], Identity]] = {
    "nothing moved": (KNOWN, SAME, Identity.SAME_ATTEMPT),
    "reported by a client without user and name, then listed": (
        replace(KNOWN, user="", name=""),
        SAME,
        Identity.SAME_ATTEMPT,
    ),
    "more restarts and a later submit time": (
        KNOWN,
        {"restarts": 2, "submitted_at": after(200)},
        Identity.NEW_ATTEMPT,
    ),
    "several restarts between two listings": (
        KNOWN,
        {"restarts": 5, "submitted_at": after(900)},
        Identity.NEW_ATTEMPT,
    ),
    "more restarts, the submit time not moved yet": (KNOWN, SAME | {"restarts": 2}, Identity.NEW_ATTEMPT),
    "fewer restarts": (KNOWN, {"restarts": 0, "submitted_at": after(200)}, Identity.ANOTHER_JOB),
    "as many restarts but another submit time": (
        KNOWN,
        {"restarts": 1, "submitted_at": after(101)},
        Identity.ANOTHER_JOB,
    ),
    "a later attempt that still waits: its submit time moves last": (
        replace(KNOWN, waits=True),
        {"restarts": 1, "submitted_at": after(101)},
        Identity.SAME_ATTEMPT,
    ),
    "a first attempt that still waits, submitted later": (
        replace(KNOWN, index=0, waits=True),
        {"restarts": 0, "submitted_at": after(101)},
        Identity.ANOTHER_JOB,
    ),
    "a later attempt that still waits, submitted earlier": (
        replace(KNOWN, waits=True),
        {"restarts": 1, "submitted_at": after(99)},
        Identity.ANOTHER_JOB,
    ),
    "more restarts but submitted earlier": (
        KNOWN,
        {"restarts": 2, "submitted_at": after(50)},
        Identity.ANOTHER_JOB,
    ),
    "another user": (KNOWN, SAME | {"user": "somebody"}, Identity.ANOTHER_JOB),
    "another name": (KNOWN, SAME | {"name": "evaluate"}, Identity.ANOTHER_JOB),
    "the row tells no submit time": (KNOWN, SAME | {"submitted_at": None}, Identity.SAME_ATTEMPT),
    "we never knew the submit time": (replace(KNOWN, submitted_at=None), SAME, Identity.SAME_ATTEMPT),
    "it had vanished and is back unchanged": (replace(KNOWN, listed=False), SAME, Identity.SAME_ATTEMPT),
    "it had vanished and is back with more restarts": (
        replace(KNOWN, listed=False),
        {"restarts": 2, "submitted_at": after(200)},
        Identity.ANOTHER_JOB,
    ),
}


@pytest.mark.parametrize(("known", "facts", "expected"), CASES.values(), ids=CASES.keys())
def test_identity(known: Known, facts: dict[str, Any], expected: Identity) -> None:
    assert identify(known, a_row(**facts)) is expected


def test_the_computed_id_tells_every_part_apart_and_never_changes() -> None:
    ids = {
        heimdall_id("demo", 12345, 0, 0),
        heimdall_id("other", 12345, 0, 0),
        heimdall_id("demo", 12346, 0, 0),
        heimdall_id("demo", 12345, 1, 0),
        heimdall_id("demo", 12345, 0, 1),
        heimdall_id("demo", 1, 2345, 0),
    }
    assert len(ids) == 6
    # Stored in every database and known to every client: a change of this value loses all of them.
    assert str(heimdall_id("demo", 12345, 0, 0)) == "5de021c6-eb91-5910-8383-1936352cec4b"
