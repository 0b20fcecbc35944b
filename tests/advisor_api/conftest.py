"""The cast, and how each of its members asks."""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from advisor_api.models import ApiToken
from advisor_api.token_role import TokenRole
from tests.advisor_api.world import a_cluster, a_token
from workloads.models import Cluster

CAST = ("viewer", "operator", "admin", "controller", "ingest", "stranger", "expired", "revoked", "nobody")


@dataclass
class Answer:
    """Status and JSON."""

    status: int
    json: Any
    headers: Any

    @property
    def message(self) -> str:
        assert set(self.json) == {"code", "message", "details"}, self.json
        return str(self.json["message"])


class Api:
    """Asks as a member of the cast."""

    def __init__(self, cluster: Cluster, other: Cluster) -> None:
        now = timezone.now()
        self.cluster, self.other = cluster, other
        self.secrets = {role.value: a_token(role, [cluster], role.value, now)[0] for role in TokenRole}
        self.secrets["stranger"] = a_token(TokenRole.ADMIN, [other], "stranger", now)[0]
        self.secrets["two"] = a_token(TokenRole.ADMIN, [cluster, other], "two", now)[0]
        self.secrets["none"] = a_token(TokenRole.ADMIN, [], "none", now)[0]
        self.secrets["expired"], token = a_token(TokenRole.ADMIN, [cluster], "expired", now)
        ApiToken.objects.filter(pk=token.pk).update(expires_at=now - timedelta(seconds=1))
        self.secrets["revoked"], token = a_token(TokenRole.ADMIN, [cluster], "revoked", now)
        ApiToken.objects.filter(pk=token.pk).update(revoked_at=now)

    def ask(
        self, method: str, path: str, as_: str = "viewer", body: Any = None, raw: bytes | None = None
    ) -> Answer:
        headers = {} if as_ == "nobody" else {"Authorization": f"Bearer {self.secrets[as_]}"}
        content = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        found = Client().generic(method, path, content, "application/json", headers=headers)
        return Answer(found.status_code, json.loads(found.getvalue() or b"null"), found.headers)

    def get(self, path: str, as_: str = "viewer") -> Answer:
        return self.ask("GET", path, as_)

    def post(self, path: str, body: Any, as_: str = "operator") -> Answer:
        return self.ask("POST", path, as_, body)

    def put(self, path: str, body: Any, as_: str = "controller") -> Answer:
        return self.ask("PUT", path, as_, body)


@pytest.fixture(autouse=True)
def nobody_asked_before() -> None:
    """How often somebody asks is counted over tests, too."""
    cache.clear()


@pytest.fixture
def cluster(db: None) -> Cluster:
    return a_cluster(now=timezone.now())


@pytest.fixture
def api(cluster: Cluster) -> Api:
    return Api(cluster, a_cluster("second", nodes=2, now=timezone.now()))


@pytest.fixture
def people(db: None) -> dict[str, User]:
    """Who signs in: one who may look, one who may approve, one who may switch modes, a superuser."""
    found = {name: User.objects.create_user(name) for name in ("vera", "olga", "anna")}
    found["olga"].user_permissions.add(Permission.objects.get(codename="approve_advice"))
    found["anna"].user_permissions.add(Permission.objects.get(codename="switch_mode"))
    found["root"] = User.objects.create_superuser("root")
    return found
