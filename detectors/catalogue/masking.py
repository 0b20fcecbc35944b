"""Which parts of a line are secrets that must not leave the site?

What looks like a token, a key or a password is replaced by `MASK`; the rest of the line stays as it is. A line is
hostile and at most a few hundred characters long: every pattern is linear in it.
"""

import re

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


def masked(text: str) -> str:
    """The text with `MASK` in the place of every secret in it. To mask twice changes nothing more."""
    for pattern, instead in _RULES:
        text = pattern.sub(instead, text)
    return text
