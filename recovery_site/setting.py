"""What is a setting, and how does the text of a variable become its value?"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class BadSetting(ValueError):
    """A variable holds something that cannot be used."""


def text(raw: str) -> str:
    """As it is."""
    return raw


def flag(raw: str) -> bool:
    """A word for yes or no."""
    words = {
        "1": True,
        "true": True,
        "yes": True,
        "on": True,
        "0": False,
        "false": False,
        "no": False,
        "off": False,
    }
    if raw.lower() not in words:
        raise BadSetting("must be true or false")
    return words[raw.lower()]


def names(raw: str) -> list[str]:
    """Names with commas between them."""
    return [part.strip() for part in raw.split(",") if part.strip()]


def whole(least: int, most: int) -> Callable[[str], int]:
    """A whole number within bounds."""

    def parse(raw: str) -> int:
        if not raw.isascii() or not raw.isdigit() or not least <= int(raw) <= most:
            raise BadSetting(f"must be a whole number from {least} to {most}")
        return int(raw)

    return parse


def seconds(least: float, most: float) -> Callable[[str], float]:
    """A number of seconds within bounds."""

    def parse(raw: str) -> float:
        try:
            value = float(raw)
        except ValueError:
            raise BadSetting("must be a number of seconds") from None
        if not least <= value <= most:
            raise BadSetting(f"must be from {least:g} to {most:g} seconds")
        return value

    return parse


def one_of(*words: str) -> Callable[[str], str]:
    """One of these words."""

    def parse(raw: str) -> str:
        if raw not in words:
            raise BadSetting(f"must be one of {', '.join(words)}")
        return raw

    return parse


def address(*schemes: str) -> Callable[[str], str]:
    """An address that begins with one of these schemes."""

    def parse(raw: str) -> str:
        if raw.partition("://")[0] not in schemes or "://" not in raw:
            raise BadSetting(f"must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}")
        return raw

    return parse


def mail_address(raw: str) -> str:
    """One mail address."""
    name, _, place = raw.rpartition("@")
    if not name or not place or any(char.isspace() or not char.isprintable() or char in "<>,;" for char in raw):
        raise BadSetting("must be one mail address, e.g. rekindle@example.org")
    return raw


def listen(raw: str) -> str:
    """HOST:PORT."""
    host, _, port = raw.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 <= int(port) <= 65535:
        raise BadSetting("must be HOST:PORT, e.g. 127.0.0.1:8000")
    return raw


@dataclass(frozen=True)
class Setting:
    """One environment variable. `parse` turns its text into a value or raises `BadSetting`."""

    name: str
    default: str
    help: str
    parse: Callable[[str], Any] = text
    secret: bool = False
