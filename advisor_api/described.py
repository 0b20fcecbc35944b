"""What is the OpenAPI document of this site's API? Made once in each process."""

from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator


@cache
def document() -> dict[str, Any]:
    """As `GET /v1/schema` serves it; not to be changed. The same is committed as docs/api/openapi.yaml."""
    generator: Any = SchemaGenerator()  # type: ignore[no-untyped-call]
    found: dict[str, Any] = generator.get_schema(request=None, public=True)
    return found
