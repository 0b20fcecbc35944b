"""Are tokens made, replaced and taken back as one expects, and never shown twice?"""

import io
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from rest_framework.exceptions import AuthenticationFailed

from advisor_api.authentication import find_token
from advisor_api.models import ApiToken
from advisor_api.refusals import Bad, Stale
from advisor_api.token_role import TokenRole
from advisor_api.tokens import PREFIX, digest_of, issue, revoke, rotate
from audit.event_type import EventType
from audit.models import AuditEvent
from tests.advisor_api.world import NOW, OPERATOR, a_token, seconds
from workloads.models import Cluster

pytestmark = pytest.mark.django_db


def works(secret: str, now: Any = NOW) -> bool:
    try:
        find_token(secret, now)
    except AuthenticationFailed:
        return False
    return True


def test_only_the_hash_is_stored(cluster: Cluster) -> None:
    secret, token = a_token(TokenRole.CONTROLLER, [cluster], "ctl")
    assert secret.startswith(PREFIX)
    assert len(secret) > 50
    assert token.digest == digest_of(secret)
    assert secret not in str(list(ApiToken.objects.values()))
    assert list(token.clusters.all()) == [cluster]
    event = AuditEvent.objects.get(type=EventType.TOKEN.value)
    assert event.sentence == "The controller token 'ctl' was made (until 2027-02-27)."
    assert secret not in str(event.payload)
    assert (event.cluster, event.actor) == ("demo", "olga")


def test_no_two_are_alike(cluster: Cluster) -> None:
    assert len({a_token(TokenRole.VIEWER, [cluster], f"t{i}")[0] for i in range(5)}) == 5


def test_it_ends_at_its_end(cluster: Cluster) -> None:
    secret = issue("t", TokenRole.VIEWER, [cluster], now=NOW, actor=OPERATOR, lifetime=timedelta(hours=1))
    assert works(secret, NOW + seconds(3599))
    assert not works(secret, NOW + seconds(3600))


def test_rotation_overlaps(cluster: Cluster) -> None:
    old, token = a_token(TokenRole.CONTROLLER, [cluster], "ctl")
    new = rotate(token, overlap=timedelta(hours=2), now=NOW, actor=OPERATOR)
    assert works(old, NOW + seconds(7199))
    assert not works(old, NOW + seconds(7200))
    assert works(new, NOW + timedelta(days=89))
    fresh = ApiToken.objects.get(name="ctl")
    assert (fresh.digest, fresh.role, list(fresh.clusters.all())) == (digest_of(new), "controller", [cluster])
    again = rotate(fresh, overlap=timedelta(0), now=NOW, actor=OPERATOR)
    assert works(again)
    assert not works(new)


def test_rotation_never_makes_the_old_one_live_longer(cluster: Cluster) -> None:
    secret = issue("t", TokenRole.VIEWER, [cluster], now=NOW, actor=OPERATOR, lifetime=timedelta(hours=1))
    rotate(ApiToken.objects.get(), overlap=timedelta(days=9), now=NOW, actor=OPERATOR)
    assert not works(secret, NOW + timedelta(hours=1))


def test_a_long_name_can_be_rotated(cluster: Cluster) -> None:
    _, token = a_token(TokenRole.VIEWER, [cluster], "n" * 64)
    rotate(token, overlap=timedelta(hours=1), now=NOW, actor=OPERATOR)
    assert ApiToken.objects.filter(name="n" * 64).count() == 1


def test_revoked_is_revoked_at_once(cluster: Cluster) -> None:
    secret, token = a_token(TokenRole.VIEWER, [cluster], "t")
    revoke(token, now=NOW, actor=OPERATOR)
    assert not works(secret)
    with pytest.raises(Stale, match="already"):
        revoke(token, now=NOW, actor=OPERATOR)
    token.refresh_from_db()
    with pytest.raises(Stale, match="does not work any more"):
        rotate(token, overlap=timedelta(hours=1), now=NOW, actor=OPERATOR)


@pytest.mark.parametrize("name", ["", "x" * 65, "a\nb", "a\x00b"])
def test_bad_names(cluster: Cluster, name: str) -> None:
    with pytest.raises(Bad, match="name must be printable"):
        issue(name, TokenRole.VIEWER, [cluster], now=NOW, actor=OPERATOR)


@pytest.mark.parametrize("lifetime", [timedelta(0), timedelta(days=-1), timedelta(days=367)])
def test_bad_lifetimes(cluster: Cluster, lifetime: timedelta) -> None:
    with pytest.raises(Bad, match="lives at most"):
        issue("t", TokenRole.VIEWER, [cluster], now=NOW, actor=OPERATOR, lifetime=lifetime)


def test_a_name_is_used_once(cluster: Cluster) -> None:
    a_token(TokenRole.VIEWER, [cluster], "t")
    with pytest.raises(Bad, match="There is a token 't' already"):
        issue("t", TokenRole.VIEWER, [cluster], now=NOW, actor=OPERATOR)
    assert ApiToken.objects.count() == 1


class TestCommand:
    def run(self, *arguments: str) -> str:
        out = io.StringIO()
        call_command("token", *arguments, stdout=out)
        return out.getvalue()

    def test_made_listed_rotated_revoked(self, cluster: Cluster) -> None:
        secret = self.run("create", "ctl", "--role", "controller", "--cluster", "demo").strip()
        assert works(secret, timezone.now())
        listing = self.run("list")
        assert listing.startswith("ctl\tcontroller\tdemo\tvalid\tuntil ")
        assert secret not in listing
        new = self.run("rotate", "ctl", "--overlap-hours", "1").strip()
        assert works(secret, timezone.now())
        assert works(new, timezone.now())
        assert self.run("revoke", "ctl") == "The token 'ctl' was revoked.\n"
        assert not works(new, timezone.now())
        assert "ctl\tcontroller\tdemo\trevoked" in self.run("list")
        actions = AuditEvent.objects.filter(type="token").order_by("id").values_list("action", flat=True)
        assert list(actions) == ["made", "replaced", "made", "revoked"]

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (("create", "t", "--role", "controller", "--cluster", "nowhere"), "There is no cluster nowhere."),
            (("create", "t", "--role", "king", "--cluster", "demo"), "invalid choice"),
            (("create", "t", "--role", "viewer"), "--cluster"),
            (("create", "t", "--role", "viewer", "--cluster", "demo", "--days", "0"), "whole number of days"),
            (
                ("create", "t", "--role", "viewer", "--cluster", "demo", "--days", "99999999999"),
                "whole number of days",
            ),
            (("rotate", "nobody", "--overlap-hours", "nan"), "number of hours"),
            (("rotate", "nobody", "--overlap-hours", "soon"), "number of hours"),
            (("rotate", "nobody"), "There is no token 'nobody'."),
            (("revoke", "nobody"), "There is no token 'nobody'."),
        ],
    )
    def test_mistakes_are_one_sentence(self, cluster: Cluster, arguments: tuple[str, ...], sentence: str) -> None:
        with pytest.raises(CommandError, match=sentence):
            self.run(*arguments)
        assert not ApiToken.objects.exists()
