"""How does a controller learn of new advice without asking all the time?

The question is held while nothing changes. It costs a socket and a few small queries each `REKINDLE_LIVE_SECONDS`,
and no thread: under ASGI. A server with a thread per request (WSGI) answers at once instead, which only means that
the one who asks is back to asking now and then.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.response import Response

from advisor_api.authentication import READERS, Roles
from advisor_api.views.door import Door, clock
from advisor_api.watching import mark_of
from advisor_api.wire.errors import answers
from advisor_api.wire.watch import WatchAnswer, WatchQuery

HELD_BY_ONE = 8  # questions of one caller that wait at a time in one process
HELD_AT_MOST = 256  # of all
COME_BACK_SECONDS = 5


@dataclass(frozen=True)
class _Held:
    """A question that waits: by whom, of which cluster, until how long."""

    caller: str
    cluster: int
    seen: str
    seconds: int


_waiting: Counter[str] = Counter()  # by caller


class AdviceWatch(Door):
    """Waits for new advice, or for a gate that opens or closes."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS}

    @extend_schema(parameters=[WatchQuery], responses=answers({200: WatchAnswer}), operation_id="watchAdvice")
    def get(self, request: Request) -> Response:
        """Answers once the cluster's open advice or gates differ from `seen`, or after `waitSeconds`."""
        asked, cluster = self.asked(WatchQuery), self.cluster()
        caller = self.caller.actor
        held = _Held(f"{caller.kind.value} {caller.name}", cluster.pk, asked["seen"], asked["waitSeconds"])
        mark = mark_of(cluster.pk, clock())
        answer = self.answer(WatchAnswer, {"seen": mark, "changed": mark != held.seen})
        asked_again = getattr(request._request, "asked_again", False)
        if mark == held.seen and held.seconds and not asked_again:
            if _waiting[held.caller] >= HELD_BY_ONE or _waiting.total() >= HELD_AT_MOST:
                raise Throttled(COME_BACK_SECONDS, "Too many questions of yours are waiting already.")
            request._request.held = held  # type: ignore[attr-defined]  # the only thing that both halves see
        return answer

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        """The view that waits; the framework's own looks once."""
        look = sync_to_async(super().as_view(**initkwargs))

        async def view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            answer: HttpResponseBase = await look(request, *args, **kwargs)
            held: _Held | None = request.__dict__.pop("held", None)
            if held is None or not isinstance(request, ASGIRequest):
                return answer
            await _changed(held)
            # Asked once more as anybody is: a token that was taken back meanwhile is told so.
            request.asked_again = True  # type: ignore[attr-defined]
            answer = await look(request, *args, **kwargs)
            return answer

        view.cls = cls  # type: ignore[attr-defined]  # by it the framework knows its views
        view.initkwargs = initkwargs  # type: ignore[attr-defined]
        return csrf_exempt(view)  # sessions are checked by the framework's own authentication


async def _changed(held: _Held) -> None:
    """Return when the mark is another one, or when the time is up."""
    loop = asyncio.get_running_loop()
    end = loop.time() + held.seconds
    look = database_sync_to_async(mark_of)
    _waiting[held.caller] += 1
    try:
        while (left := end - loop.time()) > 0:
            await asyncio.sleep(min(left, settings.REKINDLE["REKINDLE_LIVE_SECONDS"]))
            if await look(held.cluster, clock()) != held.seen:
                return
    finally:
        _waiting[held.caller] -= 1
        if not _waiting[held.caller]:
            del _waiting[held.caller]
