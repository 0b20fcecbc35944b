"""Which socket addresses are there?"""

from typing import Any, cast

from django.urls import path

from console.consumers import LiveConsumer

websocket_urlpatterns = [path("ws/live", cast(Any, LiveConsumer.as_asgi()))]
