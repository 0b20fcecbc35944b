"""How does the admin show rows that nobody may change there?"""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

if TYPE_CHECKING:
    Base = admin.ModelAdmin[Any]
else:  # takes no type argument when it runs
    Base = admin.ModelAdmin


class ReadOnlyAdmin(Base):
    """A list and a page for each row; no adding, no changing, no deleting, whoever asks."""

    actions = None
    show_full_result_count = False  # counting a long table costs more than the page
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody."""
        return False
