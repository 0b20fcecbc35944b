"""What do all endpoints have in common? Who asks, what they ask, and the form of the answer."""

from typing import Any, ClassVar

from django.utils import timezone
from django.views.decorators.http import conditional_page
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor_api.authentication import Caller, Roles, caller_of
from advisor_api.finding import one_cluster
from advisor_api.parsing import BoundedJson
from advisor_api.refusals import Bad
from advisor_api.wire import scheme  # noqa: F401  # registers itself
from advisor_api.wire.fields import Form
from workloads.models import Cluster

NAME_LIMIT = 64


class Door(APIView):
    """An endpoint: reads the clock, asks one thing of the domain, and answers. `roles` by HTTP method."""

    parser_classes = (BoundedJson,)
    roles: ClassVar[dict[str, Roles]] = {}

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        """The view. Its good answers to GET have an ETag: who has seen one already is told 304 and no more."""
        return conditional_page(super().as_view(**initkwargs))

    @property
    def caller(self) -> Caller:
        """Who asks."""
        return caller_of(self.request)

    @property
    def cluster_name(self) -> str:
        """What `cluster=` says, or `""`."""
        return self.request.query_params.get("cluster", "")[: NAME_LIMIT + 1]

    def cluster(self) -> Cluster:
        """The one cluster that is meant (decisions 23)."""
        return one_cluster(self.caller, self.cluster_name)

    def asked(self, form: type[Form]) -> dict[str, Any]:
        """The query parameters as `form` reads them; unknown ones are passed over. 400 for a bad one."""
        params = self.request.query_params
        if any("\0" in value for values in params.lists() for value in values[1]):
            raise Bad("A parameter holds a NUL byte.")
        lists = {name for name, field in form().fields.items() if isinstance(field, serializers.ListField)}
        given = {name: params.getlist(name) if name in lists else params[name] for name in params}
        return _valid(form(data=given))

    def sent(self, form: type[Form]) -> dict[str, Any]:
        """The body as `form` reads it; unknown keys are passed over. 400 for a bad one."""
        return _valid(form(data=self.request.data))

    def answer(self, form: type[Form], content: Any, status: int = 200) -> Response:
        """`content` in the form of the answer."""
        return Response(form(content).data, status=status)


def _valid(form: Form) -> dict[str, Any]:
    form.is_valid(raise_exception=True)
    found: dict[str, Any] = form.validated_data
    return found


def clock() -> Any:
    """The moment of the request; doors alone read it."""
    return timezone.now()
