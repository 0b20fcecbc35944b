"""Columns for text that people or foreign programs wrote: no secret in it reaches the database.

Masking is part of the column, so no way to store a row leads around it: `save`, `update`, `bulk_create` and
statements of our own alike. What is looked for is masked as well, so that equal stays equal. In migrations these
are Django's own columns.
"""

from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models.expressions import Combinable

from audit.masking import masked, masked_json

if TYPE_CHECKING:
    Chars = models.CharField[str | int | Combinable, str]
    Texts = models.TextField[str | Combinable, str]
    Jsons = models.JSONField[Any, Any]
else:
    Chars, Texts, Jsons = models.CharField, models.TextField, models.JSONField


class MaskedCharField(Chars):
    """A `CharField` without secrets; a mask may be longer than what it hides, so it is cut once more."""

    def get_prep_value(self, value: Any) -> Any:
        """The text as it is stored."""
        text = super().get_prep_value(value)
        return masked(text)[: self.max_length] if isinstance(text, str) else text

    def deconstruct(self) -> Any:
        """Django's own column."""
        return _as("CharField", super().deconstruct())


class MaskedTextField(Texts):
    """A `TextField` without secrets."""

    def get_prep_value(self, value: Any) -> Any:
        """The text as it is stored."""
        text = super().get_prep_value(value)
        return masked(text) if isinstance(text, str) else text

    def deconstruct(self) -> Any:
        """Django's own column."""
        return _as("TextField", super().deconstruct())


class MaskedJSONField(Jsons):
    """A `JSONField` without secrets in its texts, nor under names of secrets."""

    def get_prep_value(self, value: Any) -> Any:
        """The value as it is stored."""
        return masked_json(super().get_prep_value(value))

    def deconstruct(self) -> Any:
        """Django's own column."""
        return _as("JSONField", super().deconstruct())


def _as(name: str, told: Any) -> Any:
    column, _path, arguments, options = told
    return column, f"django.db.models.{name}", arguments, options
