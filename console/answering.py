"""Who asks in a request, and with which status is he refused?"""

from django.http import HttpRequest

from advisor_api.refusals import Bad, Refusal
from audit.actor_kind import ActorKind
from audit.trail import Actor


def actor_of(request: HttpRequest) -> Actor:
    """The person who asks."""
    return Actor(ActorKind.PERSON, request.user.get_username())


def status_of(refusal: Refusal) -> int:
    """400 for what makes no sense, 409 for what came too late."""
    return 400 if isinstance(refusal, Bad) else 409
