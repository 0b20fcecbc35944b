"""Do the keys of the configuration fit each other?"""

import ipaddress
import os
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from controller.keys import KEYS, REQUIRED
from schedulers.ssh_transport import SshPlace

Add = Callable[[str, str, str], None]  # table, key, sentence


def cross_check(values: dict[str, dict[str, Any]], add: Add) -> None:
    """Tell of what is wrong between keys, and put what several of them make up among the values."""
    url = values["advisor"].get("url", REQUIRED)
    if url is not REQUIRED and not values["advisor"].get("allow_plain_http") and _shows_token(url):
        why = "plain http would show the token to the network; use https, or set allow_plain_http = true"
        add("advisor", "url", why)
    journal = values["controller"].get("journal", REQUIRED)
    if journal is not REQUIRED and not journal.parent.is_dir():
        add("controller", "journal", f"there is no folder {journal.parent}")
    if values["controller"].get("holder") == "":
        values["controller"]["holder"] = os.uname().nodename
    if values["scheduler"].get("transport") == "ssh":
        _check_ssh(values["ssh"], add)
    _check_rest(values["slurmrestd"], add)


def _check_rest(rest: dict[str, Any], add: Add) -> None:
    """What the keys of [slurmrestd] say together."""
    url = rest.get("url", "")
    for name, other in (("user", "token_file"), ("token_file", "user")):
        if rest.get(name) and not rest.get(other, True):
            add("slurmrestd", name, f"is of no use without {other}")
    if not url:
        for name in ("user", "token_file", "ca_file"):
            if rest.get(name) and "url" in rest:
                add("slurmrestd", name, "is given, and url says of no slurmrestd")
                return
    elif not url.startswith("unix:") and rest.get("token_file") == "":
        add("slurmrestd", "token_file", "is missing; only on a unix socket a token is not needed")
    elif url.startswith("http:") and _shows_token(url):
        add("slurmrestd", "url", "plain http would show the token to the network; use https")


def _check_ssh(ssh: dict[str, Any], add: Add) -> None:
    """Put the place that the keys of [ssh] describe among them, unless one of them is told of already."""
    if len(ssh) < len(KEYS["ssh"]):
        return
    for name in ("host", "user", "known_hosts_file"):
        if not ssh.get(name):
            add("ssh", name, "is missing, and scheduler.transport is ssh")
            return
    try:
        ssh["place"] = SshPlace(
            host=ssh["host"],
            user=ssh["user"],
            port=ssh["port"],
            known_hosts=ssh["known_hosts_file"],
            key=ssh["key_file"],
            certificate=ssh["certificate_file"],
            folder=ssh["folder"],
        )
    except ValueError as error:
        add("ssh", "host", str(error).rstrip("."))


def _shows_token(url: str) -> bool:
    """Whether this is plain http to another machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        here = ipaddress.ip_address(host).is_loopback
    except ValueError:
        here = host == "localhost"
    return parts.scheme == "http" and not here
