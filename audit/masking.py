"""Which parts of a text are secrets that must neither be stored nor leave the site?

What looks like a token, a key or a password (`audit.secret_shapes`) is replaced by `MASK`; the rest stays as it is.
"""

import json
from collections.abc import Iterator
from typing import Any

from audit.private_keys import KEY_MARK, end_of_key, key_lines
from audit.secret_shapes import (
    MASK,
    NUMBER_NAME,
    OPTION,
    OTHER_TOKEN_NAME,
    RANDOM,
    RULES,
    SECRET_NAME,
    TOKEN_NAME,
    may_hold,
)

__all__ = ["MASK", "RULES", "masked", "masked_comment", "masked_json", "may_hold"]


def masked(text: str) -> str:
    """The text with `MASK` in the place of every secret in it. To mask twice changes nothing more."""
    if not may_hold(text):
        return text
    if "PRIVATE KEY-----" in text:
        text = "".join(_without_keys(text.splitlines(keepends=True)))
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
        found = {_name(name): _under(name, one) for name, one in value.items()}
        return {**found, "value": _hidden(value["value"], numbers=True)} if _pair(value) else found
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


def _without_keys(lines: list[str]) -> Iterator[str]:
    """The lines without the bodies of private keys; the first mark of one stays for the rules."""
    hidden = key_lines([line.rstrip("\r\n") for line in lines])
    for at, line in enumerate(lines):
        marks = list(KEY_MARK.finditer(line)) if at in hidden else []
        if at not in hidden or (marks and (marks[0][1] == "BEGIN" or not end_of_key(line))):
            yield line
            continue
        after = line[end_of_key(line) :] if marks else ""
        if at - 1 not in hidden:
            yield MASK + (after or line[len(line.rstrip("\r\n")) :])
        elif after.strip():
            yield after


def _name(name: Any) -> Any:
    return masked(name) if isinstance(name, str) else name


def _under(name: Any, value: Any) -> Any:
    if not isinstance(name, str):
        return masked_json(value)
    if SECRET_NAME.fullmatch(name) or TOKEN_NAME.fullmatch(name):
        return _hidden(value, numbers=bool(NUMBER_NAME.fullmatch(name)))
    random = isinstance(value, str) and OTHER_TOKEN_NAME.fullmatch(name) and RANDOM.fullmatch(value)
    return MASK if random else masked_json(value)


def _after(before: Any, value: Any) -> Any:
    option = isinstance(value, str) and isinstance(before, str) and OPTION.fullmatch(before)
    return _hidden(value) if option else masked_json(value)


def _hidden(value: Any, *, numbers: bool = False) -> Any:
    """Numbers stay but under a name that cannot count, as `password` is: most count what has such a name."""
    if isinstance(value, str):
        return MASK if value else value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return MASK if numbers else value
    if isinstance(value, list | tuple):
        return [_hidden(one, numbers=numbers) for one in value]
    if isinstance(value, dict):
        return {
            _name(name): _hidden(one, numbers=bool(NUMBER_NAME.fullmatch(str(name)))) for name, one in value.items()
        }
    return value


def _pair(value: dict[Any, Any]) -> bool:
    """Whether it is `{"name": "password", "value": …}`."""
    names = [name for name in (value.get("name"), value.get("key")) if isinstance(name, str)]
    return "value" in value and any(SECRET_NAME.fullmatch(name) or TOKEN_NAME.fullmatch(name) for name in names)
