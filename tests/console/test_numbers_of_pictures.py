"""Are pictures drawn alike where people write 12,5 for 12.5?"""

import re
from collections.abc import Iterator
from datetime import datetime

import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings

from benchmarks.console_addresses import addresses
from console.rendering import bodies
from tests.console.everything import make_everything
from tests.console.sample import Sample

GEOMETRY = re.compile(r'\s(x|y|x1|x2|y1|y2|cx|cy|r|width|height|viewBox)="([^"]*)"')
DRAWN = {"panel job_lanes", "panel job_curves"}  # whose numbers have fractions


@pytest.fixture
def german(cast: dict[str, User], rows: Sample, now: datetime) -> Iterator[Client]:
    """Somebody whose language has a comma in its numbers."""
    client = Client(headers={"Accept-Language": "de"})
    client.force_login(make_everything(now))
    with override_settings(LANGUAGES=[("en", "English"), ("de", "Deutsch")]):
        bodies.forget()
        yield client
    bodies.forget()


def test_no_length_has_a_comma(german: Client) -> None:
    fractions = set()
    for name, address in addresses():
        text = german.get(address).text if "json" not in address else ""
        found = GEOMETRY.findall(text)
        assert not [pair for pair in found if "," in pair[1]], name
        fractions |= {name for _attribute, value in found if re.search(r"\d\.\d", value)}
    assert fractions >= DRAWN


def test_numbers_between_words_have_one(german: Client) -> None:
    assert re.search(r"<b>\d+,\d</b> (GPU|node)-hours", german.get("/panels/at_a_glance").text)
