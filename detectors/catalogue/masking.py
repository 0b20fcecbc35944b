"""Which parts of a line are secrets that must neither be stored nor leave the site?

What looks like a token, a key or a password is replaced by `MASK`; the rest of the line stays as it is. A line is
hostile: every pattern is linear in it.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

MASK = "[masked]"

_NAME = (
    r"(?:[A-Za-z0-9_.-]{0,40}(?:passw(?:or)?d|passwd|passphrase|pwd|secret|token(?!s|iz)|api[_-]?key|access[_-]?key|"
    r"private[_-]?key|credentials?|authorization|auth[_-]?key|session[_-]?key|cookie)[A-Za-z0-9_-]{0,20})"
)
_VALUE = r"(?:\"[^\"\n]{0,2000}\"?|'[^'\n]{0,2000}'?|[^\s,;&)\]}\"']{1,2000})"
_SCHEME = r"(?:(?:bearer|basic|digest|token|negotiate)\s+)?"
_KNOWN = (
    r"gh[pousr]_[A-Za-z0-9]{16,255}",
    r"github_pat_[A-Za-z0-9_]{16,255}",
    r"glpat-[A-Za-z0-9_-]{16,255}",
    r"hf_[A-Za-z0-9]{16,255}",
    r"sk-[A-Za-z0-9_-]{16,255}",
    r"xox[abprs]-[A-Za-z0-9-]{8,255}",
    r"rekindle_[A-Za-z0-9_-]{16,255}",
    r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    r"AIza[A-Za-z0-9_-]{30,255}",
    r"eyJ[A-Za-z0-9_-]{6,2000}\.[A-Za-z0-9_-]{6,2000}(?:\.[A-Za-z0-9_-]{0,2000})?",
)
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*", re.DOTALL), MASK),
    # https://user:password@host, also with a token for a user
    (re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]{0,20}://)[^\s/@]{1,500}@"), rf"\1{MASK}@"),
    (re.compile(rf"\b(?:{'|'.join(_KNOWN)})"), MASK),
    # password=…, "token": "…", --api-key …, Authorization: Bearer …; tokens that are counted are none
    (
        re.compile(
            rf"(?<![A-Za-z0-9_.-])(-{{0,2}}[\"']?{_NAME}[\"']?\s{{0,3}}(?:[:=]|=>)\s{{0,3}}){_SCHEME}{_VALUE}",
            re.IGNORECASE,
        ),
        rf"\1{MASK}",
    ),
    (re.compile(rf"((?<!\S)--{_NAME}\s{{1,3}}){_VALUE}", re.IGNORECASE), rf"\1{MASK}"),
    (re.compile(r"(\b(?:bearer|basic)\s{1,3})[A-Za-z0-9+/_.=-]{8,2000}", re.IGNORECASE), rf"\1{MASK}"),
)

_WORDS = (
    *("passw", "passphrase", "pwd", "secret", "key", "credential", "authorization", "cookie", "bearer", "basic"),
    *("://", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "hf_", "sk-", "xox", "rekindle_"),
    *("akia", "asia", "aiza", "eyj"),
)
"""No line without one of these, or `token`, holds a secret of `_RULES`."""
_COUNTED = ("tokens", "tokeniz")  # no secrets, and in every line of progress
_SECRET = re.compile(_NAME, re.IGNORECASE)
_MASKED = re.compile(r"([\"']?)(?:\[masked\**\]?|\*+)\1")
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----")
_KEY_ENDS = "PRIVATE KEY-----"


def masked(text: str) -> str:
    """The text with `MASK` in the place of every secret in it. To mask twice changes nothing more."""
    if not _may_hold(text):
        return text
    for pattern, instead in _RULES:
        text = pattern.sub(instead, text)
    return text


def masked_in_place(line: str) -> str:
    """As `masked`, with as many bytes as before: what is counted in bytes of the log stays where it was."""
    if not _may_hold(line):
        return line
    for pattern, instead in _RULES:
        line = pattern.sub(partial(_as_long, instead), line)
    return line


def masked_copy(text: str) -> str:
    """As `masked_in_place`, of many lines; a private key to its end."""
    return "".join(_masked_lines(text))


def masked_json(value: Any) -> Any:
    """As `masked`, in every text of a JSON value; a text under a name that is that of a secret is one."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, list):
        return [masked_json(one) for one in value]
    if isinstance(value, dict):
        return {masked(name): _under(name, one) for name, one in value.items()}
    return value


def _may_hold(text: str) -> bool:
    """False is certain, and costs a twentieth of the rules. Beyond ASCII a letter has more than two forms."""
    if not text.isascii():
        return True
    lower = text.lower()
    return any(word in lower for word in _WORDS) or lower.count("token") > sum(map(lower.count, _COUNTED))


def _under(name: str, value: Any) -> Any:
    return MASK if isinstance(value, str) and value and _SECRET.fullmatch(name) else masked_json(value)


def _as_long(instead: str, found: re.Match[str]) -> str:
    """`instead`, with a mask that is as long as what it hides."""
    told = found.expand(instead)
    before, _, after = told.rpartition(MASK)
    if _MASKED.fullmatch(found[0], len(before), len(found[0]) - len(after)):
        return found[0]
    room = len(found[0].encode("utf-8", "surrogatepass")) - len(told.encode("utf-8", "surrogatepass")) + len(MASK)
    mask = f"{MASK[:-1]}{'*' * (room - len(MASK))}]" if room >= len(MASK) else "*" * room
    return f"{before}{mask}{after}"


def _masked_lines(text: str) -> Iterator[str]:
    inside = False
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        ends = inside and _KEY_ENDS in bare
        inside = not ends and (inside or _KEY_BEGINS.search(bare) is not None)
        hidden = inside or ends
        body = masked_in_place(bare)
        if hidden and body == bare:
            body = "*" * len(bare.encode("utf-8", "surrogatepass"))
        yield body + line[len(bare) :]
