"""How does a change reach the sockets earlier than the next poll?

The in-memory layer belongs to one event loop: a message sent from a worker thread by `async_to_sync` arrived about
100 ms late and is not thread-safe, while one handed to the loop itself took 5 to 8 ms. With Redis any process may
send.
"""

import asyncio
import logging
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import InMemoryChannelLayer, get_channel_layer

from console.tail import WAKE_GROUP, loops_with_a_tail

log = logging.getLogger("rekindle.console.wake")

_MESSAGE = {"type": "wake"}
_sending: set[asyncio.Task[None]] = set()  # a loop holds its tasks only weakly


def push() -> None:
    """Make the tails look at once. Never fails, never waits for a socket: without it they look a little later."""
    try:
        layer = get_channel_layer()
        if isinstance(layer, InMemoryChannelLayer):
            for loop in loops_with_a_tail():
                asyncio.run_coroutine_threadsafe(layer.group_send(WAKE_GROUP, _MESSAGE), loop)
        else:
            _send(layer)
    except Exception:
        log.warning("could not wake the sockets; they look at their next poll", exc_info=True)


def _send(layer: Any) -> None:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        async_to_sync(layer.group_send)(WAKE_GROUP, _MESSAGE)
    else:
        sending = loop.create_task(layer.group_send(WAKE_GROUP, _MESSAGE))
        _sending.add(sending)
        sending.add_done_callback(_sending.discard)
