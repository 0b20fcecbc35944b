"""Does the Advisor take our token? Where it does not answer, nobody can say that it does not."""

from typing import TypeVar

from controller.client import Advisor, AdvisorError, Rejected
from controller.config import Settings
from controller.starting import BadStart

Client = TypeVar("Client", bound=Advisor)
UNAUTHORIZED = 401


def check_token(settings: Settings, kind: type[Client]) -> Client:
    """The Advisor, unless it says that it does not take our token; raises `BadStart`."""
    try:
        advisor = kind(settings.advisor.url, settings.cluster, settings.advisor.token_file)
    except ValueError as error:
        raise BadStart(f"advisor.token_file: {error}") from error
    try:
        advisor.cluster()
    except Rejected as error:
        if error.status == UNAUTHORIZED:
            sentence = f"advisor.token_file: the Advisor does not take this token: {error.message.rstrip('.')}"
            raise BadStart(sentence) from error
    except AdvisorError:
        return advisor
    return advisor
