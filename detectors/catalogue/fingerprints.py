"""Is it the same again? One hash for what one cause prints on other ranks, hosts, attempts and days.

The reference, 4.19: layer, signature, text without what changes from run to run, class, place and phase. Step, file
position and data index are kept beside it, so that "same bug, same step" and "same bug, other step" stay apart.
"""

import functools
import hashlib
import re
from collections.abc import Set

TEXT_LIMIT = 240  # characters of a line that count; what follows is detail
REMEMBERED = 4096  # texts of one turn

_KEPT = r"(?:[Ee]rrno|[Xx]id|[Ee]rror|[Ee]xit(?: ?code)?|exitcode|status=?(?:\w+\()?|[Ss]ignal|SXid|HTTP/[\d.]+\"?)"
_TOKENS = re.compile(
    r"(?P<uuid>\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b)"
    r"|(?P<pci>\b(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?\b)"
    r"|(?P<hex>\b0x[0-9a-fA-F]+\b)"
    r"|(?P<ip>\b\d{1,3}(?:\.\d{1,3}){3}(?:[:<]\d{1,5}>?)?)"
    r"|(?P<path>(?:/[^\s/'\":,()]{1,255}){1,40}/)"
    rf"|(?P<code>\b{_KEPT}[ :=]{{0,3}}-?\d{{1,6}}\b)"
    r"|(?P<size>\b\d+(?:\.\d+)? ?(?:[KMGT]i?B|bytes)\b)"
    r"|(?P<word>[A-Za-z_][\w\-]*(?:\.[\w\-]+)*)"
    r"|(?P<number>\d+(?:\.\d+)?(?:[eE][+\-]?\d+)?)"
)
_SPACE = re.compile(r"\s+")
_DIGITS = re.compile(r"\d+")
_TOKEN = {"uuid": "<uuid>", "pci": "<pci>", "hex": "<hex>", "ip": "<ip>", "path": "", "size": "#", "number": "#"}


class Normaliser:
    """Replaces what changes from run to run by tokens; codes of errors stay. `hosts`: names that become `<host>`.

    It remembers what it has seen: the lines of a cascade differ in few numbers.
    """

    def __init__(self, hosts: Set[str] = frozenset()) -> None:
        self._hosts = hosts
        self._seen: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """The first `TEXT_LIMIT` characters of `text`, normalised."""
        text = text[:TEXT_LIMIT]
        known = self._seen.get(text)
        if known is None:
            if len(self._seen) >= REMEMBERED:
                self._seen.clear()
            known = self._seen[text] = _SPACE.sub(" ", _TOKENS.sub(self._token, text)).strip()
        return known

    def _token(self, found: re.Match[str]) -> str:
        kind = found.lastgroup or ""
        if kind == "code":
            return found[0]
        if kind != "word":
            return _TOKEN[kind]
        if found[0] in self._hosts or found[0].partition(".")[0] in self._hosts:
            return "<host>"
        return _DIGITS.sub("#", found[0])


@functools.lru_cache(maxsize=REMEMBERED)
def fingerprint(layer: str, signature: str, text: str, place: str = "", phase: str = "") -> str:
    """SHA-256 in hexadecimal over the parts; `text` is already normalised."""
    return hashlib.sha256("\0".join((layer, signature, text, place, phase)).encode("utf-8", "replace")).hexdigest()
