"""Which parts of a text are secrets that must neither be stored nor leave the site?

What looks like a token, a key or a password is replaced by `MASK`; the rest of the line stays as it is. A line is
hostile: every pattern is linear in it.
"""

import json
import re
from typing import Any

MASK = "[masked]"

_NAME = (
    r"(?:[A-Za-z0-9_.-]{0,40}(?:passw(?:or)?d|passwd|passphrase|pwd|secret|token(?!s|iz)|api[_-]?key|access[_-]?key|"
    r"private[_-]?key|credentials?|authorization|auth[_-]?key|session[_-]?key|cookie)[A-Za-z0-9_-]{0,20})"
)
_QUOTE = r"(?:\\{0,3}[\"'])"  # also within a text of JSON within JSON
_QUOTED = (
    r"\\{1,3}\"[^\"\n]{0,2000}\"?|\\{1,3}'[^'\n]{0,2000}'?|"
    r"\"(?:[^\"\\\n]|\\.){0,2000}\"?|'(?:[^'\\\n]|\\.){0,2000}'?"
)
_VALUE = rf"(?:\[masked\**\]|{_QUOTED}|[^\s,;&)\]}}\"']{{1,2000}})"
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
RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:.*?-----END [A-Z ]{0,40}PRIVATE KEY-----|.*)", re.DOTALL
        ),
        MASK,
    ),
    # https://user:password@host, also with a token for a user
    (re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]{0,20}://)[^\s/@]{1,500}@"), rf"\1{MASK}@"),
    (re.compile(rf"\b(?:{'|'.join(_KNOWN)})"), MASK),
    # password=…, "token": "…", --api-key …, Authorization: Bearer …; tokens that are counted are none
    (
        re.compile(
            rf"(?<![A-Za-z0-9_.-])(-{{0,2}}{_QUOTE}?{_NAME}{_QUOTE}?\s{{0,3}}(?:[:=]|=>)\s{{0,3}}){_SCHEME}{_VALUE}",
            re.IGNORECASE,
        ),
        rf"\1{MASK}",
    ),
    (re.compile(rf"((?<!\S)--{_NAME}\s{{1,3}}){_VALUE}", re.IGNORECASE), rf"\1{MASK}"),
    # ['--api-key', '…']: a command as Python and JSON write it
    (
        re.compile(
            rf"({_QUOTE}-{{1,2}}{_NAME}{_QUOTE}\s{{0,3}},\s{{0,3}})(?:\[masked\**\]|\*{{1,9}}|{_QUOTED})",
            re.IGNORECASE,
        ),
        rf"\1{MASK}",
    ),
    (re.compile(r"(\b(?:bearer|basic)\s{1,3})[A-Za-z0-9+/_.=-]{8,2000}", re.IGNORECASE), rf"\1{MASK}"),
)

_WORDS = (
    *("passw", "passphrase", "pwd", "secret", "key", "credential", "authorization", "cookie", "bearer", "basic"),
    *("://", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "hf_", "sk-", "xox", "rekindle_"),
    *("akia", "asia", "aiza", "eyj"),
)
"""No line without one of these, or `token`, holds a secret of `RULES`."""
_COUNTED = ("tokens", "tokeniz")  # no secrets, and in every line of progress
_SECRET = re.compile(_NAME, re.IGNORECASE)
_OPTION = re.compile(rf"-{{1,2}}{_NAME}", re.IGNORECASE)


def masked(text: str) -> str:
    """The text with `MASK` in the place of every secret in it. To mask twice changes nothing more."""
    if not may_hold(text):
        return text
    for pattern, instead in RULES:
        text = pattern.sub(instead, text)
    return text


def masked_json(value: Any) -> Any:
    """As `masked`, in every text of a JSON value; a text under the name of a secret is one, however deep.

    So is a text in a list that follows the option of a secret: `["--api-key", "…"]`.
    """
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, list | tuple):
        return [_after(before, one) for before, one in zip((None, *value), value, strict=False)]
    if isinstance(value, dict):
        return {_name(name): _under(name, one) for name, one in value.items()}
    return value


def masked_comment(text: str) -> str:
    """As `masked`, of a text that may be JSON and stays JSON then: the comment of a job."""
    if not may_hold(text):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return masked(text)
    bare = masked_json(value)
    return text if bare == value else json.dumps(bare)


def may_hold(text: str) -> bool:
    """False is certain, and costs a twentieth of the rules. Beyond ASCII a letter has more than two forms."""
    if not text.isascii():
        return True
    lower = text.lower()
    return any(word in lower for word in _WORDS) or lower.count("token") > sum(map(lower.count, _COUNTED))


def _name(name: Any) -> Any:
    return masked(name) if isinstance(name, str) else name


def _under(name: Any, value: Any) -> Any:
    secret = isinstance(name, str) and _SECRET.fullmatch(name)
    return _hidden(value) if secret else masked_json(value)


def _after(before: Any, value: Any) -> Any:
    option = isinstance(value, str) and isinstance(before, str) and _OPTION.fullmatch(before)
    return _hidden(value) if option else masked_json(value)


def _hidden(value: Any) -> Any:
    """Numbers stay: they count what has such a name more often than they are one."""
    if isinstance(value, str):
        return MASK if value else value
    if isinstance(value, list | tuple):
        return [_hidden(one) for one in value]
    if isinstance(value, dict):
        return {_name(name): _hidden(one) for name, one in value.items()}
    return value
