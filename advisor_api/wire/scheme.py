"""How does the OpenAPI document show what is ours: the bearer token, and enums by their names?

The classes register themselves when they are imported.
"""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerFieldExtension


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """An HTTP bearer scheme."""

    target_class = "advisor_api.authentication.BearerAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """`{"type": "http", "scheme": "bearer"}`."""
        return {"type": "http", "scheme": "bearer"}


class TextScheme(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """A text with something in it; the framework's own description leaves that out."""

    target_class = "advisor_api.wire.fields.Text"

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        """At least one character that is no blank, unless it may be empty."""
        bounds = {} if self.target.allow_blank else {"minLength": 1, "pattern": r"\S"}
        return {"type": "string", "maxLength": self.target.max_length, **bounds}


class WireChoiceScheme(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """An enum is a component of its own, under the name that the field gives it."""

    target_class = "advisor_api.wire.fields.WireChoice"

    def get_name(self) -> str:
        """The component's name."""
        return str(self.target.called)

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        """Its values."""
        return {"type": "string", "enum": list(self.target.choices)}
