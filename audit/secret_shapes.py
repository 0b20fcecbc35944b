"""What do secrets look like in one line of a log, and what only looks alike?

A line is hostile: each repetition is bounded, and no pattern is worse than linear in the line.
"""

import re

MASK = "[masked]"

_BEFORE = r"[A-Za-z0-9_.-]{0,40}"
_STRONG = (
    r"(?:passw(?:or)?d|passwd|passphrase|pwd|secret|api[_-]?key|access[_-]?key|private[_-]?key|credentials?|"
    r"authorization|auth[_-]?key|session[_-]?key|cookie)"
)
_NO_WORD = (  # eos_token='</s>': a word of a model
    r"(?<!(?:eos|bos|pad|unk|sep|cls|end)[_-]token)(?<!(?:mask|next|stop)[_-]token)(?<!(?:image|start)[_-]token)"
)
_STRONG_NAME = rf"(?:{_BEFORE}{_STRONG}[A-Za-z0-9_-]{{0,20}})"
# training counts tokens in every line: the token itself is a secret, not token_ids, token_count, per_token_loss
_TOKEN_NAME = rf"(?:{_BEFORE}token{_NO_WORD}(?:[_-]?(?:value|string|key|\d{{1,3}}))?(?![A-Za-z0-9_-]))"
_OTHER_TOKEN = rf"(?:{_BEFORE}token(?!s|iz)[A-Za-z0-9_-]{{1,20}})"
NAME = rf"(?:{_STRONG_NAME}|{_TOKEN_NAME})"
_QUOTE = r"(?:\\{0,3}[\"'])"  # also within a text of JSON within JSON
_QUOTED = (
    r"\\{1,3}\"[^\"\n]{0,2000}\"?|\\{1,3}'[^'\n]{0,2000}'?|"
    r"\"(?:[^\"\\\n]|\\.){0,2000}(?:\"|\\$)?|'(?:[^'\\\n]|\\.){0,2000}(?:'|\\$)?"
)
_VALUE = rf"(?:\[masked\**\]|{_QUOTED}|[^\s,;&)\]}}\"']{{1,2000}})"
_SCHEME = r"(?:(?:bearer|basic|digest|token|negotiate)\s+)?"
_SAYS = r"\s{0,3}(?:[:=]|=>)\s{0,3}"
_START = r"(?<![A-Za-z0-9_.-])"
# counts, lists, <s>, [PAD] and None
_NO_TOKEN = (
    r"(?![-+]?\d[\d.,_]{0,30}(?:e[-+]?\d{1,4})?(?:[kmgtb%x]|ms|s)?(?:/s)?(?:[\s,;&)\]}|\"']|$)|"
    rf"\[(?!masked)|\{{|{_QUOTE}?<[^\s<>]{{0,40}}>|(?:none|null|true|false|nan|inf)\b)"
)
# "Token: CUDA error" is a sentence; after a colon and a space a bare word is a token when it looks like one
_NO_SENTENCE = (
    rf"(?:(?<!:\s)(?<!:\s\s)(?<!:\s\s\s)|(?={_QUOTE}|\[masked|[a-z0-9_.+/=~-]{{20}}|"
    r"(?=[a-z0-9_.+/=~-]{8})(?=[0-9_.+/=~-]{0,60}[a-z])[a-z_.+/=~-]{0,60}\d))"
)
_RANDOM = r"(?=[a-z-]{0,60}\d)(?=[\d-]{0,60}[a-z])[a-z\d-]{16,255}(?![\w.])"
_KNOWN = (
    r"gh[pousr]_[A-Za-z0-9]{16,255}",
    r"github_pat_[A-Za-z0-9_]{16,255}",
    r"glpat-[A-Za-z0-9_-]{16,255}",
    r"glsa_[A-Za-z0-9_]{16,255}",
    r"hf_[A-Za-z0-9]{16,255}",
    r"npm_[A-Za-z0-9]{30,255}",
    r"nvapi-[A-Za-z0-9_-]{16,255}",
    r"sk-[A-Za-z0-9_-]{16,255}",
    r"xox[abprs]-[A-Za-z0-9-]{8,255}",
    r"rekindle_[A-Za-z0-9_-]{16,255}",
    r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    r"AIza[A-Za-z0-9_-]{30,255}",
    r"eyJ[A-Za-z0-9_-]{6,2000}\.[A-Za-z0-9_-]{6,2000}(?:\.[A-Za-z0-9_-]{0,2000})?",
)
# a key on one line: as it is, with \n for line ends, or with spaces
_KEY_PART = (
    r"(?:\\{1,3}[nr]){1,2}[A-Za-z0-9+/=]{0,4096}| [A-Za-z0-9+/=]{16,4096}| [A-Za-z0-9+/=]{1,76}(?= -----END)"
)
_KEY = (
    rf"-----BEGIN [A-Z ]{{0,40}}PRIVATE KEY-----[A-Za-z0-9+/=]{{0,4096}}(?:{_KEY_PART}){{0,300}}"
    r"(?: ?-----END [A-Z ]{0,40}PRIVATE KEY-----)?"
)


def _rule(pattern: str, flags: re.RegexFlag = re.IGNORECASE) -> tuple[re.Pattern[str], str]:
    return re.compile(pattern, flags), rf"\1{MASK}"


RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(_KEY), MASK),
    (re.compile(r"-----END [A-Z ]{0,40}PRIVATE KEY-----"), MASK),
    # https://user:password@host, also with a token for a user; a password may hold a slash, a port is none
    _rule(
        r"(\b[A-Za-z][A-Za-z0-9+.-]{0,20}://)(?:[^\s/@]{1,500}|[^\s/@:]{0,64}:(?!\d{1,5}/)[^\s@\"'<>]{1,128})(?=@)"
    ),
    _rule(r"(\bhooks\.slack\.com/(?:services|workflows|triggers)/)[A-Za-z0-9/_+-]{8,255}"),
    (re.compile(rf"\b(?:{'|'.join(_KNOWN)})"), MASK),
    # {"name": "password", "value": "…"}
    _rule(
        rf"({_QUOTE}(?:name|key){_QUOTE}\s{{0,3}}:\s{{0,3}}{_QUOTE}{NAME}{_QUOTE}\s{{0,3}},\s{{0,3}}"
        rf"{_QUOTE}value{_QUOTE}\s{{0,3}}:\s{{0,3}}){_VALUE}"
    ),
    # password=…, "api_key": "…", Authorization: Bearer …
    _rule(rf"({_START}-{{0,2}}{_QUOTE}?{_STRONG_NAME}{_QUOTE}?{_SAYS}){_SCHEME}{_VALUE}"),
    _rule(rf"({_START}-{{0,2}}{_QUOTE}?{_TOKEN_NAME}{_QUOTE}?{_SAYS}){_SCHEME}{_NO_TOKEN}{_NO_SENTENCE}{_VALUE}"),
    _rule(rf"({_START}-{{0,2}}{_QUOTE}?{_OTHER_TOKEN}{_QUOTE}?{_SAYS}{_QUOTE}?){_RANDOM}"),
    # DB_PASS=…; PASS=3 of a test run is a count
    _rule(rf"({_START}(?:[A-Z0-9_]{{0,40}}_)?PASS=)(?!\d{{1,5}}(?:\W|$)){_VALUE}", re.RegexFlag(0)),
    _rule(rf"({_START}{_QUOTE}pass{_QUOTE}\s{{0,3}}:\s{{0,3}})(?:\[masked\**\]|{_QUOTED})"),
    _rule(rf"((?<!\S)--{_STRONG_NAME}\s{{1,3}}){_VALUE}"),
    _rule(rf"((?<!\S)--{_TOKEN_NAME}\s{{1,3}}){_NO_TOKEN}{_VALUE}"),
    # ['--api-key', '…']: a command as Python and JSON write it
    _rule(rf"({_QUOTE}-{{1,2}}{NAME}{_QUOTE}\s{{0,3}},\s{{0,3}})(?:\[masked\**\]|\*{{1,9}}|{_QUOTED})"),
    # curl -u user:password, mysql -ppassword, sshpass -p password
    _rule(
        r"(\bcurl\b[^\n;|]{0,120}?\s(?:-[a-z]{0,5}u|--user|--proxy-user)[\s=]{0,3}[\"']?[^\s:\"']{1,64}:)"
        r"(?:\[masked\**\]|[^\s\"']{1,255})"
    ),
    _rule(rf"(\b(?:mysql|mariadb)[a-z-]{{0,20}}\b[^\n;|]{{0,120}}?\s-p)(?=\S){_VALUE}", re.RegexFlag(0)),
    _rule(rf"(\bsshpass\s{{1,3}}-p\s{{0,3}}){_VALUE}", re.RegexFlag(0)),
    # what is no word: with a digit, or long; of basic also with letters as only base64 mixes them
    _rule(r"(\bbearer\s{1,3})(?:(?=[a-z+/_.=-]{0,60}\d)[a-z0-9+/_.=-]{8,2000}|[a-z0-9+/_.=-]{20,2000})"),
    _rule(
        r"(\b[Bb](?:asic|ASIC)\s{1,3})(?=[A-Za-z0-9+/]{0,60}[a-z][A-Z])(?=[A-Za-z0-9+/]{0,60}(?:[A-Z]{2}|[0-9=]))"
        r"(?:[A-Za-z0-9+/]{4}){1,500}(?:[A-Za-z0-9+/]{2,4}={0,2})(?![A-Za-z0-9+/=])",
        re.RegexFlag(0),
    ),
)

_WORDS = (
    *("pass", "pwd", "secret", "key", "credential", "authorization", "cookie", "bearer", "basic"),
    *(
        "://",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
        "glpat-",
        "glsa_",
        "hf_",
        "npm_",
        "nvapi-",
        "sk-",
    ),
    *("xox", "rekindle_", "akia", "asia", "aiza", "eyj", "hooks.slack", "curl", "mysql", "mariadb"),
)
"""No line without one of these, or `token`, holds a secret of `RULES`."""
_COUNTED = ("tokens", "tokeniz")  # no secrets, and in every line of progress
SECRET_NAME = re.compile(_STRONG_NAME, re.IGNORECASE)
TOKEN_NAME = re.compile(_TOKEN_NAME, re.IGNORECASE)
OTHER_TOKEN_NAME = re.compile(_OTHER_TOKEN, re.IGNORECASE)
RANDOM = re.compile(_RANDOM, re.IGNORECASE)
OPTION = re.compile(rf"-{{1,2}}{NAME}", re.IGNORECASE)
# the secret itself: a `password_length` and `credentials` count
NUMBER_NAME = re.compile(
    rf"{_BEFORE}(?:passw(?:or)?d|passwd|passphrase|pwd|secret|(?:api|access|private|auth|session)[_-]?key)",
    re.IGNORECASE,
)


def may_hold(text: str) -> bool:
    """False is certain, and costs a twentieth of the rules. Beyond ASCII a letter has more than two forms."""
    if not text.isascii():
        return True
    lower = text.lower()
    return any(word in lower for word in _WORDS) or lower.count("token") > sum(map(lower.count, _COUNTED))
