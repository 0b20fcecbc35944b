"""Which errors does every endpoint declare?"""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from advisor_api.wire.fields import AnyJson, Form


class Error(Form):
    """The one shape of an error: the grpc code and one sentence."""

    code = serializers.IntegerField()
    message = serializers.CharField()
    details = serializers.ListField(child=AnyJson())


def answers(good: Mapping[Any, Any], *more: int) -> dict[Any, Any]:
    """The answers of an endpoint: the good ones, those that every endpoint may give, and `more` errors.

    A good one is known by its status, or by status and content type.
    """
    return {**good, **dict.fromkeys((400, 401, 403, 429, 503, *more), Error)}
