"""Is it the same again? One hash for what one cause prints on other ranks, hosts, attempts and days.

The reference, 4.19: layer, signature, text without what changes from run to run, class, place and phase. Step, file
position and data index are kept beside it, so that "same bug, same step" and "same bug, other step" stay apart.
"""

import hashlib
import re
from collections.abc import Set

TEXT_LIMIT = 240  # characters of a line that count; what follows is detail

_KEPT = r"(?:[Ee]rrno|[Xx]id|[Ee]rror|[Ee]xit(?: ?code)?|exitcode|status=?(?:\w+\()?|[Ss]ignal|SXid|HTTP/[\d.]+\"?)"
_TOKENS = re.compile(
    r"(?P<uuid>\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b)"
    r"|(?P<pci>\b(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?\b)"
    r"|(?P<hex>\b0x[0-9a-fA-F]+\b)"
    r"|(?P<ip>\b\d{1,3}(?:\.\d{1,3}){3}(?:[:<]\d{1,5}>?)?)"
    r"|(?P<path>(?:/[^\s/'\":,()]{1,255}){1,40}/)"
    rf"|(?P<code>\b{_KEPT}[ :=]{{0,3}}-?\d{{1,6}}\b)"
    r"|(?P<word>[A-Za-z_][\w\-]*(?:\.[\w\-]+)*)"
    r"|(?P<number>\d+(?:\.\d+)?(?:[eE][+\-]?\d+)?)"
)
_SPACE = re.compile(r"\s+")
_DIGITS = re.compile(r"\d+")
_TOKEN = {"uuid": "<uuid>", "pci": "<pci>", "hex": "<hex>", "ip": "<ip>", "path": "", "number": "#"}


def normalised(text: str, hosts: Set[str] = frozenset()) -> str:
    """The text with everything that changes from run to run replaced by tokens; codes of errors stay."""

    def token(found: re.Match[str]) -> str:
        kind = found.lastgroup or ""
        if kind == "code":
            return found[0]
        if kind != "word":
            return _TOKEN[kind]
        if found[0] in hosts or found[0].partition(".")[0] in hosts:
            return "<host>"
        return _DIGITS.sub("#", found[0])

    return _SPACE.sub(" ", _TOKENS.sub(token, text[:TEXT_LIMIT])).strip()


def fingerprint(layer: str, signature: str, text: str, place: str = "", phase: str = "") -> str:
    """SHA-256 in hexadecimal over the parts; `text` is already normalised."""
    return hashlib.sha256("\0".join((layer, signature, text, place, phase)).encode("utf-8", "replace")).hexdigest()
