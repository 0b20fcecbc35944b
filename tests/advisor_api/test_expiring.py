"""Who is told of a token that ends soon, and when?"""

import logging
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from advisor_api.expiring import expiring, warn_of_expiring
from advisor_api.models import ApiToken
from advisor_api.refusals import Stale
from advisor_api.tasks import warn_of_tokens
from advisor_api.token_role import TokenRole
from advisor_api.tokens import revoke, rotate
from recovery_site.celery import app
from tests.advisor_api.world import NOW, OPERATOR, a_cluster, a_token

pytestmark = pytest.mark.django_db


def ending(name: str, days: float) -> ApiToken:
    _, token = a_token(TokenRole.CONTROLLER, [], name, NOW)
    ends_at = NOW + timedelta(days=days)
    ApiToken.objects.filter(pk=token.pk).update(expires_at=ends_at, created_at=ends_at - timedelta(days=90))
    return ApiToken.objects.get(pk=token.pk)


def test_only_valid_tokens_of_the_next_seven_days(caplog: pytest.LogCaptureFixture) -> None:
    for name, days in (("over", -1), ("now", 0), ("second", 6.9), ("first", 0.1), ("edge", 7), ("later", 7.01)):
        ending(name, days)
    revoke(ending("revoked", 3), now=NOW, actor=OPERATOR)
    assert list(expiring(NOW).values_list("name", flat=True)) == ["first", "second", "edge"]
    with caplog.at_level(logging.WARNING):
        assert warn_of_expiring(NOW) == 3
    assert "the controller token 'first' expires at 2026-11-29 12:24 UTC" in caplog.text


def test_a_replaced_one_is_no_news_though_it_works_for_another_day() -> None:
    old = ending("ctl", 3)
    rotate(old, overlap=timedelta(days=1), now=NOW, actor=OPERATOR)
    assert not expiring(NOW).exists()
    (retired,) = ApiToken.objects.filter(revoked_at=None, expires_at__lte=NOW + timedelta(days=1))
    with pytest.raises(Stale, match="was replaced already"):
        rotate(retired, overlap=timedelta(days=1), now=NOW, actor=OPERATOR)


def test_the_beat_asks_once_a_day(caplog: pytest.LogCaptureFixture) -> None:
    assert app.conf.beat_schedule["warn of tokens"]["task"] == warn_of_tokens.name
    token = ending("ctl", 3)
    ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now() + timedelta(days=2))
    with caplog.at_level(logging.WARNING):
        warn_of_tokens()
    assert "'ctl' expires at" in caplog.text


def test_the_overview_tells_those_who_may_see_tokens(client: Client) -> None:
    a_cluster()
    token = ending("ctl", 3)
    ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now() + timedelta(days=2))
    user = User.objects.create_user("vera")
    client.force_login(user)
    assert "expires at" not in client.get("/").content.decode()
    user.user_permissions.add(Permission.objects.get(codename="view_apitoken"))
    assert "The controller token <strong>ctl</strong> expires at" in client.get("/").content.decode()


def test_the_list_says_so() -> None:
    token = ending("ctl", 3)
    ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now() + timedelta(days=2, hours=1))
    out = StringIO()
    call_command("token", "list", stdout=out)
    assert "valid, ends in 2 days" in out.getvalue()
