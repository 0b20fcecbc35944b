"""Would passwords and tokens travel where others can read them, or would nothing work at all? Pure: settings go in.

The site itself speaks plain HTTP on the machine's own address and leaves TLS to a proxy. What follows for cookies,
redirects and HSTS hangs on four settings; this module says when they do not go together.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Reached:
    """How the site is reached: scheme and host, whether by TLS, behind a proxy or not, and where it listens."""

    scheme: str
    host: str
    https: bool
    proxy: bool
    hosts: tuple[str, ...]
    listen: str

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Reached":
        """From the values of the settings by name."""
        base = urlsplit(values["REKINDLE_BASE_URL"])
        return cls(
            scheme=base.scheme,
            host=base.hostname or "",
            https=values["REKINDLE_HTTPS"],
            proxy=values["REKINDLE_TRUSTED_PROXY"],
            hosts=tuple(values["REKINDLE_ALLOWED_HOSTS"]),
            listen=values["REKINDLE_LISTEN"],
        )


@dataclass(frozen=True)
class Exposed:
    """One thing that may be wrong: its number, whether the site must not start then, when, and what to do."""

    number: int
    refused: bool
    when: Callable[[Reached], bool]
    sentence: str
    hint: str


ROWS = (
    Exposed(
        101,
        True,
        lambda at: at.scheme == "http" and not is_own(at.host),
        "People would send passwords and tokens to {at.host} in plain HTTP (REKINDLE_BASE_URL).",
        "Let a proxy terminate TLS (deploy/nginx.conf); set REKINDLE_BASE_URL=https://… and REKINDLE_HTTPS=true.",
    ),
    Exposed(
        102,
        True,
        lambda at: at.scheme == "https" and not at.https,
        "REKINDLE_BASE_URL is https, but without REKINDLE_HTTPS=true cookies go over plain HTTP as well.",
        "Set REKINDLE_HTTPS=true.",
    ),
    Exposed(
        103,
        True,
        lambda at: at.scheme == "http" and at.https and is_own(at.host),
        "REKINDLE_HTTPS is true, but REKINDLE_BASE_URL is http: links would fail, and forms be refused.",
        "Set REKINDLE_BASE_URL to the https address under which people reach the console.",
    ),
    Exposed(
        104,
        True,
        lambda at: not any(_answers(at.host, allowed) for allowed in at.hosts),
        "The site would answer to no request for {at.host}, the host of REKINDLE_BASE_URL.",
        "Add the host to REKINDLE_ALLOWED_HOSTS.",
    ),
    Exposed(
        105,
        True,
        lambda at: "*" in at.hosts,
        "REKINDLE_ALLOWED_HOSTS is *: whoever makes up a Host header writes the site's links.",
        "Name the hosts.",
    ),
    Exposed(
        106,
        False,
        lambda at: at.https and not at.proxy,
        "REKINDLE_HTTPS is true and no proxy is trusted: unless the servers hold the certificate themselves,"
        " every page is redirected to itself for ever.",
        "Behind a proxy of yours that sets X-Forwarded-Proto, set REKINDLE_TRUSTED_PROXY=true.",
    ),
    Exposed(
        107,
        False,
        lambda at: at.proxy and not at.https,
        "REKINDLE_TRUSTED_PROXY is true without REKINDLE_HTTPS: whoever sends X-Forwarded-Proto is believed.",
        "Set REKINDLE_HTTPS=true, or leave REKINDLE_TRUSTED_PROXY out.",
    ),
    Exposed(
        108,
        False,
        lambda at: not at.https and not is_own(at.listen.rpartition(":")[0]),
        "The embedded server listens on {at.listen} in plain HTTP: whoever is on the network can read passwords"
        " and tokens.",
        "Listen on 127.0.0.1 and put a proxy with TLS before it.",
    ),
)


def exposed(values: Mapping[str, Any]) -> Iterator[tuple[Exposed, str]]:
    """Every row that holds for the settings, with its sentence."""
    at = Reached.of(values)
    for row in ROWS:
        if row.when(at):
            yield row, row.sentence.format(at=at)


def is_own(host: str) -> bool:
    """Whether only this machine itself reaches the address."""
    name = host.strip("[]").lower()
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def _answers(host: str, allowed: str) -> bool:
    """As Django compares: `*` is all, `.example.org` every name below it, too."""
    allowed = allowed.lower().strip("[]")
    return allowed in {"*", host} or (allowed.startswith(".") and (host.endswith(allowed) or host == allowed[1:]))
