"""What stands on the page of notifications: which routes are there, and what were they told?"""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor_api.notification_models import Delivery, NotificationRoute
from advisor_api.notifying.outcome import DeliveryOutcome
from advisor_api.notifying.topic import TOPICS, NotificationTopic
from audit.level import Level

SHOWN = 100
SEE_WHOM = "advisor_api.view_notificationroute"
"""Without it a person sees what was told, and not the addresses to which."""


@dataclass(frozen=True)
class DeliveryLine:
    """One message as a line."""

    row: Delivery
    topic: NotificationTopic
    level: Level
    outcome: DeliveryOutcome


@dataclass(frozen=True)
class RouteLine:
    """One route as a line."""

    route: NotificationRoute
    level: Level
    topics: Sequence[NotificationTopic]


def newest_deliveries() -> list[DeliveryLine]:
    """The newest messages."""
    return [delivery_line(row) for row in Delivery.objects.defer("text", "items")[:SHOWN]]


def delivery_line(row: Delivery) -> DeliveryLine:
    """A message with its words."""
    return DeliveryLine(row, NotificationTopic(row.topic), Level(row.level), DeliveryOutcome(row.outcome))


def routes() -> list[RouteLine]:
    """All routes by name."""
    return [
        RouteLine(route, Level(route.least_level), [NotificationTopic(one) for one in route.topics or TOPICS])
        for route in NotificationRoute.objects.select_related("cluster")
    ]
