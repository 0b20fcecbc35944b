"""How does the domain say no? Typed exceptions; a door turns each into its status code."""

from datetime import timedelta


class Refusal(Exception):
    """Something cannot be done; the message is one sentence for whoever asked. Nothing was changed."""


class NotFound(Refusal):
    """There is no such thing among what the caller may see (404)."""


class Bad(Refusal):
    """What was asked makes no sense (400)."""


class Stale(Refusal):
    """It has moved since the caller looked, or somebody was first (409)."""


class Forbidden(Refusal):
    """The caller may not do this (403)."""


class TooMany(Refusal):
    """More than is taken; `wait` is when to come back (429)."""

    def __init__(self, sentence: str, wait: timedelta) -> None:
        super().__init__(sentence)
        self.wait = wait
