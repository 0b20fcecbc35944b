"""Who is asking, and may they? Bearer tokens and signed-in people; nobody is anonymous."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from advisor_api.job_keys import JOB_PREFIX, JobKey, read_key
from advisor_api.models import ApiToken
from advisor_api.refusals import Forbidden
from advisor_api.token_role import TokenRole
from advisor_api.tokens import digest_of
from advisor_api.wrong_tokens import count_wrong_token
from audit.actor_kind import ActorKind
from audit.in_sight import in_full_sight, in_full_sight_from_now
from audit.trail import Actor
from workloads.models import Cluster

LAST_USED_EVERY = timedelta(minutes=1)
TOKEN_LIMIT = 256  # bytes; ours have 52

Roles = frozenset[TokenRole]
READERS: Roles = frozenset({TokenRole.VIEWER, TokenRole.CONTROLLER})
OPERATORS: Roles = frozenset({TokenRole.OPERATOR})
ADMINS: Roles = frozenset({TokenRole.ADMIN})
CONTROLLERS: Roles = frozenset({TokenRole.CONTROLLER})
REPORTERS: Roles = frozenset({TokenRole.CONTROLLER, TokenRole.INGEST})
ANYBODY: Roles = frozenset(TokenRole)
IMPLIED: dict[TokenRole, Roles] = {
    TokenRole.OPERATOR: frozenset({TokenRole.OPERATOR, TokenRole.VIEWER}),
    TokenRole.ADMIN: frozenset({TokenRole.ADMIN, TokenRole.OPERATOR, TokenRole.VIEWER}),
}
"""What the bearer of a role may do besides. A person has only what each permission gives."""


@dataclass(frozen=True)
class Caller:
    """The bearer of a token, a job with its key, or a signed-in person, in the words of the API.

    `token` is `None` for a person, who sees what his groups open (`workloads.seen_by`). A job has no role: it may
    tell of itself (`job`).
    """

    actor: Actor
    roles: Roles
    token: ApiToken | None = None
    job: JobKey | None = None

    is_authenticated: ClassVar[bool] = True  # asked for by the framework
    is_active: ClassVar[bool] = True

    def clusters(self) -> Sequence[Cluster]:
        """The clusters that the caller may see, by name. One query."""
        if self.job is not None:
            return [self.job.cluster]
        rows = Cluster.objects.all() if self.token is None else self.token.clusters.all()
        return list(rows.order_by("name"))


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer <token>` (401 for a wrong, expired or revoked one)."""

    keyword = "Bearer"

    def authenticate(self, request: Request) -> tuple[Caller, ApiToken] | None:
        """The caller, or `None` when there is no such header."""
        words = get_authorization_header(request).split()
        if not words or words[0].lower() != b"bearer":
            return None
        if len(words) != 2 or len(words[1]) > TOKEN_LIMIT:
            raise AuthenticationFailed("Write the header as 'Authorization: Bearer <token>'.")
        secret = words[1].decode("latin-1")
        with in_full_sight():  # a browser may send its session with it, which is another person's
            found = self._holder(request, secret)
        in_full_sight_from_now()
        return found

    def _holder(self, request: Request, secret: str) -> tuple[Caller, ApiToken]:
        if secret.startswith(JOB_PREFIX):
            return _job(request, secret)
        try:
            token = find_token(secret, timezone.now())
        except AuthenticationFailed:
            count_wrong_token(request)
            raise
        actor = Actor(ActorKind.CONTROLLER if token.role == TokenRole.CONTROLLER else ActorKind.TOKEN, token.name)
        role = TokenRole(token.role)
        return Caller(actor, IMPLIED.get(role, frozenset({role})), token), token

    def authenticate_header(self, request: Request) -> str:
        """Makes the answer to nobody a 401."""
        return self.keyword


def _job(request: Request, secret: str) -> tuple[Caller, ApiToken]:
    """The job with this key. One that was ours and works no more is no guess, and is not counted as one."""
    try:
        key = read_key(secret, timezone.now())
    except Forbidden as error:
        raise AuthenticationFailed(str(error)) from None
    if key is None:
        count_wrong_token(request)
        raise AuthenticationFailed("This key is not known.")
    actor = Actor(ActorKind.TOKEN, f"job {key.number} by {key.token.name}")
    return Caller(actor, frozenset(), key.token, key), key.token


def find_token(secret: str, now: datetime) -> ApiToken:
    """The valid token with this secret; raises `AuthenticationFailed`. Notes its use at most once a minute."""
    digest = digest_of(secret)
    token = ApiToken.objects.filter(digest=digest).first()
    if token is None or not hmac.compare_digest(token.digest, digest):
        raise AuthenticationFailed("This token is not known.")
    if token.revoked_at is not None:
        raise AuthenticationFailed("This token was revoked.")
    if token.expires_at <= now:
        raise AuthenticationFailed(f"This token expired at {token.expires_at:%Y-%m-%d %H:%M} UTC.")
    if token.last_used_at is None or now - token.last_used_at >= LAST_USED_EVERY:
        stale = Q(last_used_at=None) | Q(last_used_at__lte=now - LAST_USED_EVERY)
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)
    return token


def caller_of(request: Request) -> Caller:
    """Who is asking, once authentication has passed."""
    if isinstance(request.user, Caller):
        return request.user
    return person(request.user)


def person(user: Any) -> Caller:
    """A signed-in person: reads; approves with `advisor_api.approve_advice`; switches modes with
    `workloads.switch_mode`. A superuser may everything that a person may.
    """
    roles = {TokenRole.VIEWER}
    if user.has_perm("advisor_api.approve_advice"):
        roles.add(TokenRole.OPERATOR)
    if user.has_perm("workloads.switch_mode"):
        roles.add(TokenRole.ADMIN)
    return Caller(Actor(ActorKind.PERSON, user.get_username()), frozenset(roles))


class HasRole(BasePermission):
    """The caller has one of the roles of the view (`roles`, by HTTP method), or is a job and it is `for_jobs`."""

    message = "Your role does not allow this."

    def has_permission(self, request: Request, view: Any) -> bool:
        """401 (by the framework) for nobody, 403 for the wrong role."""
        if not isinstance(request.user, Caller | User):
            return False
        if isinstance(request.user, Caller) and request.user.job is not None:
            return bool(getattr(view, "for_jobs", False))
        roles: dict[str, Roles] = getattr(view, "roles", {})
        method = "GET" if request.method == "HEAD" else request.method or ""  # the length of an answer tells, too
        # A method that the view does not have is a 405 for whoever may use any other one.
        wanted = roles.get(method, frozenset().union(*roles.values()))
        return bool(wanted & caller_of(request).roles)
