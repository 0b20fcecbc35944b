"""Fixtures of the console's tests."""

import json
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Browser, sync_playwright

from console.rendering import bodies
from console.views import sharing
from tests.chromium import CHROMIUM, FLAGS
from tests.console import sample
from tests.console.browsing import Door, Site


@pytest.fixture(autouse=True)
def fresh(settings: pytest.FixtureRequest) -> Iterator[None]:
    """Nothing rendered before, and passwords that cost no second."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    for kept in (bodies, sharing.rights, sharing.versions, sharing.answers):
        kept.forget()
    yield


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture
def cast(db: None) -> dict[str, User]:
    return sample.cast()


@pytest.fixture
def rows(db: None, now: datetime) -> sample.Sample:
    return sample.fill(now)


@pytest.fixture
def as_viewer(cast: dict[str, User], client: Client) -> Client:
    client.force_login(cast["viewer"])
    return client


@pytest.fixture
def as_admin(cast: dict[str, User]) -> Client:
    client = Client()
    client.force_login(cast["admin"])
    return client


@pytest.fixture
def as_operator(cast: dict[str, User]) -> Client:
    client = Client()
    client.force_login(cast["operator"])
    return client


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with tempfile.TemporaryDirectory(prefix="rk-console-") as folder:
        made = Site(Path(folder))
        made.start()
        yield made
        made.end()


@pytest.fixture(scope="module")
def addresses(site: Site) -> dict[str, str]:
    """Every page's name and address, on a site that has a row of each thing that a page speaks of."""
    site.tell("everything")
    found: dict[str, str] = json.loads(site.tell("addresses"))
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield made
        made.close()


@pytest.fixture
def enter(browser: Browser, site: Site) -> Iterator[Door]:
    door = Door(browser, site)
    yield door
    assert door.unexpected() == []
