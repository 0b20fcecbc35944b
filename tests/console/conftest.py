"""Fixtures of the console's tests."""

from collections.abc import Iterator
from datetime import datetime

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from console.rendering import bodies
from tests.console import sample


@pytest.fixture(autouse=True)
def fresh(settings: pytest.FixtureRequest) -> Iterator[None]:
    """Nothing rendered before, and passwords that cost no second."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    bodies.forget()
    yield
    bodies.forget()


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
