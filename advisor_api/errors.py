"""What does an error look like? One shape for all: `{"code": <grpc code>, "message": "…", "details": []}`."""

import logging
import math
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import OperationalError
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from advisor_api.refusals import Bad, Forbidden, NotFound, Refusal, Stale, TooMany

log = logging.getLogger(__name__)

GRPC_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 405: 12, 406: 3, 409: 10, 413: 8, 415: 3, 429: 8, 500: 13, 503: 14}
"""By HTTP status: grpc-gateway's table, and for 405, 406, 413 and 415 the nearest code."""

REFUSALS: dict[type[Refusal], int] = {Bad: 400, Forbidden: 403, NotFound: 404, Stale: 409, TooMany: 429}
RETRY_SECONDS = 2


class TooLarge(exceptions.APIException):
    """The body is larger or nested deeper than is read."""

    status_code = 413
    default_detail = "The body is too large."


def as_answer(error: Exception, context: dict[str, Any]) -> Response:
    """The framework's exception hook: every error that leaves a view becomes the one shape."""
    set_rollback()
    status, message, headers = _told(error)
    if status == 500:
        log.error("a request failed", exc_info=error)
    return error_answer(status, message, headers)


def error_answer(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """An answer of the one shape."""
    body = {"code": GRPC_CODES.get(status, 2), "message": message, "details": []}
    return Response(body, status=status, headers=headers)


def _told(error: Exception) -> tuple[int, str, dict[str, str]]:
    if isinstance(error, TooMany):
        return 429, str(error), {"Retry-After": str(math.ceil(max(1.0, error.wait.total_seconds())))}
    if isinstance(error, Refusal):
        return next(code for kind, code in REFUSALS.items() if isinstance(error, kind)), str(error), {}
    if isinstance(error, Http404):
        return 404, "There is nothing here.", {}
    if isinstance(error, PermissionDenied):
        return 403, "You may not do this.", {}
    if isinstance(error, RequestDataTooBig):
        return 413, "The body is too large.", {}
    if isinstance(error, OperationalError):
        log.warning("the database did not answer: %s", error)
        return 503, "The database is busy; try again.", {"Retry-After": str(RETRY_SECONDS)}
    if isinstance(error, exceptions.APIException):
        return error.status_code, first_mistake(error.detail), _headers(error)
    return 500, "Something went wrong here; it was written down.", {}


def _headers(error: exceptions.APIException) -> dict[str, str]:
    headers = {}
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    wait = getattr(error, "wait", None)
    if error.status_code in (429, 503):
        headers["Retry-After"] = str(RETRY_SECONDS if wait is None else math.ceil(wait))
    return headers


def first_mistake(detail: Any, path: str = "") -> str:
    """The first thing that is wrong, with its place: `items.0.payload: This field is required.`"""
    if isinstance(detail, dict):
        name, first = next(iter(detail.items()))
        return first_mistake(first, path if name == "non_field_errors" else f"{path}.{name}".lstrip("."))
    if isinstance(detail, list):
        at, first = next(((i, item) for i, item in enumerate(detail) if item), (0, ""))
        nested = isinstance(first, dict | list)
        return first_mistake(first, f"{path}.{at}".lstrip(".") if nested else path)
    return f"{path}: {detail}" if path else str(detail)
