"""Which tokens end soon, so that nobody learns of it from a controller that stopped?"""

import logging
from datetime import datetime, timedelta

from django.db.models import QuerySet

from advisor_api.models import ApiToken
from advisor_api.tokens import RETIRED

log = logging.getLogger(__name__)

SOON = timedelta(days=7)


def expiring(now: datetime) -> QuerySet[ApiToken]:
    """Valid tokens that end within `SOON`, the next one first; not those that were replaced already."""
    there = ApiToken.objects.filter(revoked_at=None, expires_at__gt=now, expires_at__lte=now + SOON)
    return there.exclude(name__contains=RETIRED).order_by("expires_at", "pk")


def warn_of_expiring(now: datetime) -> int:
    """One line in the site's log for each of them; how many there were."""
    tokens = list(expiring(now))
    for token in tokens:
        log.warning(
            "the %s token %r expires at %s UTC; replace it: manage.py token rotate, or in the admin",
            token.role,
            token.name,
            f"{token.expires_at:%Y-%m-%d %H:%M}",
        )
    return len(tokens)
