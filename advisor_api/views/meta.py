"""Doors to the API itself: its description, and what is not there."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from advisor_api.authentication import ANYBODY, Roles
from advisor_api.described import document
from advisor_api.refusals import NotFound
from advisor_api.views.door import Door


class Schema(Door):
    """The OpenAPI 3.1 document of the API."""

    roles: ClassVar[dict[str, Roles]] = {"GET": ANYBODY}

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        """As JSON; the same document is committed as docs/api/openapi.yaml."""
        return Response(document())


class Unknown(Door):
    """Whatever else is asked for below /v1."""

    roles: ClassVar[dict[str, Roles]] = dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), ANYBODY)

    @extend_schema(exclude=True)
    def get(self, request: Request, **_path: Any) -> Response:
        """404 in the shape of every error."""
        raise NotFound(f"There is no {request.path[:200]}.")

    post = put = patch = delete = get
