"""Does the job's page say what would have made another rule decide?"""

from datetime import datetime

import pytest
from django.test import Client
from django.urls import reverse

from console.advice_lines import rules_said
from tests.console import sample
from tests.console.sample import Sample

TURNS = [
    ({"fact": "cannot_see", "value": True}, "cannot see = yes"),
    ({"fact": "partition_restarts", "value": 3}, "partition restarts = 3"),
    ({"fact": "excluded", "value": []}, "excluded = none"),
    ({"fact": "excluded", "value": [{"node": "n03", "available": True}]}, "excluded = n03"),
    (
        {"fact": "named", "value": [{"host": "n03", "confidence": 0.8, "available": True, "drained": True}]},
        "named = n03 (drained) (0.80 sure)",
    ),
    (None, ""),
    ("nonsense", ""),
    ({"value": 3}, ""),
]


@pytest.mark.parametrize(("stored", "words"), TURNS)
def test_a_turn_in_words(stored: object, words: str) -> None:
    assert [said.wins_if for said in rules_said([{"rule": "r", "wins_if": stored}])] == [words]


@pytest.mark.django_db
def test_the_page_shows_it_and_escapes_it(as_viewer: Client, rows: Sample, now: datetime) -> None:
    of = sample.attempt(sample.job(rows.cluster, 77, now), 0, sample.JobState.FAILED, now)
    turn = {"fact": "maintained", "value": ["<b>n03</b>"]}
    trace = [{"rule": "maintenance", "then": "", "applied": False, "chosen": False, "because": "", "wins_if": turn}]
    sample.event(now, sample.EventType.NO_ADVICE, of, "77-0 is left alone.", payload={"trace": trace})
    text = as_viewer.get(reverse("job", args=["demo", 77, 0])).content.decode()
    assert "It would have decided with maintained = &lt;b&gt;n03&lt;/b&gt;." in text
