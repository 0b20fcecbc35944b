"""How does the OpenAPI document call the bearer token?"""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """An HTTP bearer scheme; registers itself when it is imported."""

    target_class = "advisor_api.authentication.BearerAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """`{"type": "http", "scheme": "bearer"}`."""
        return {"type": "http", "scheme": "bearer"}
