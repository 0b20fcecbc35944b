"""How does the admin show rows that are added and never changed?"""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest

from advisor_api.refusals import Refusal
from audit.actor_kind import ActorKind
from audit.read_only import ReadOnlyAdmin
from audit.trail import Actor


class InsertOnlyAdmin(ReadOnlyAdmin):
    """Rows may be added, never changed or deleted."""

    actions: Any = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Whoever has the model's permission to add."""
        return bool(request.user.has_perm(f"{self.opts.app_label}.add_{self.opts.model_name}"))

    def each(self, request: HttpRequest, rows: QuerySet[Any], act: Callable[[Any], str]) -> None:
        """Do `act` on every row and show what it says; what is refused is shown as well and stops nothing."""
        for row in rows:
            try:
                self.message_user(request, act(row), messages.WARNING)
            except Refusal as refusal:
                self.message_user(request, str(refusal), messages.ERROR)


def actor_of(request: HttpRequest) -> Actor:
    """The person at the admin."""
    return Actor(ActorKind.PERSON, request.user.get_username())
