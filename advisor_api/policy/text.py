"""How does a policy look as YAML, and which text is refused, with which sentence?

Only plain mappings of plain scalars are read: no tags, anchors, aliases, lists or second document. Numbers are the
decimal ones; YAML's own octal, sexagesimal and yes/no forms are no numbers here. Texts keep their spelling.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from advisor_api.policy.values import BadPolicy, for_a_user, read_policy

FORMAT = "rekindle-policy/1"
MOST_BYTES = 65_536
NAME_LIMITS = {"cluster": 64, "partition": 128, "user": 64, "note": 500}
KEYS = ("format", "cluster", "partition", "user", "note", "values")
FOLDED = "\x85\u2028\u2029"  # line breaks to YAML, which would read them as a space: where one is, all is escaped
DEEPEST = 2  # the mapping, and the mapping of values in it
LONGEST_NUMBER = 30  # digits; more are no limit of ours
WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)")
BROKEN = re.compile(r"-?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|-?[0-9]+[eE][-+]?[0-9]+")


class BadText(BadPolicy):
    """A text that is no policy; the sentence says what is wrong and in which line."""


@dataclass(frozen=True)
class PolicyText:
    """A policy as it is carried from site to site. An empty name: none, so it speaks of all."""

    values: Mapping[str, Any] = field(default_factory=dict)
    cluster: str = ""
    partition: str = ""
    user: str = ""
    note: str = ""


def write(policy: PolicyText) -> str:
    """The text; `read` gives back the same policy, and the text of that is the same to the byte."""
    named = {name: getattr(policy, name) for name in NAME_LIMITS}
    body = {"format": FORMAT, **{name: text for name, text in named.items() if text}}
    body["values"] = dict(sorted(policy.values.items()))
    readable = not any(mark in text for text in named.values() for mark in FOLDED)
    return yaml.safe_dump(body, sort_keys=False, allow_unicode=readable, default_flow_style=False, width=10_000)


def read(raw: bytes | str) -> PolicyText:
    """The policy that the text says. Raises `BadText`."""
    top = _mapping(_root(_decoded(raw)), "a policy", KEYS)
    if "format" not in top or _text(top["format"], "format") != FORMAT:
        raise BadText(f"A policy begins with `format: {FORMAT}`; this one does not say so.")
    if "values" not in top:
        raise BadText("`values` is missing: write `values: {}` when nothing differs.")
    names = {name: _name(top[name], name) for name in NAME_LIMITS if name in top}
    values = {name: _number(node, name) for name, node in _mapping(top["values"], "values").items()}
    found = PolicyText(values, **names)
    check(found)
    return found


def check(policy: PolicyText) -> None:
    """`BadPolicy` unless values and place go together."""
    read_policy(dict(policy.values))
    check_place(policy.cluster, policy.partition, policy.user)
    if policy.user:
        for_a_user(policy.values)


def check_place(cluster: object, partition: str, user: str) -> None:
    """`BadPolicy` unless it is all clusters, a cluster, a partition of one or a user of one."""
    if partition and user:
        raise BadPolicy("A policy speaks of a partition or of a user, not of both.")
    if (partition or user) and not cluster:
        raise BadPolicy("A policy of a partition or a user names its cluster.")
    for name, text in (("partition", partition), ("user", user)):
        if text != text.strip() or not text.isprintable() or "," in text or len(text) > NAME_LIMITS[name]:
            raise BadPolicy(
                f"{name} must be one name of at most {NAME_LIMITS[name]} printable characters, without a comma "
                "or spaces around it."
            )


def _decoded(raw: bytes | str) -> str:
    try:
        size = len(raw.encode() if isinstance(raw, str) else raw)
        text = raw if isinstance(raw, str) else raw.decode("utf-8-sig")
    except UnicodeError as error:
        raise BadText("The text is not UTF-8.") from error
    if size > MOST_BYTES:
        raise BadText(f"The text has more than {MOST_BYTES} bytes; a policy is short.")
    return text


def _root(text: str) -> yaml.Node:
    """The one document's node. Events are looked at first: nothing is built of what is refused."""
    depth = documents = 0
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            documents += isinstance(event, yaml.DocumentStartEvent)
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            _allowed(event, depth, documents)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise BadText(f"{_line(mark)}the text is no YAML: {error.problem or error.context}.") from error
    except yaml.YAMLError as error:
        raise BadText(f"The text is no YAML: {str(error).splitlines()[0][:200]}.") from error
    if root is None:
        raise BadText("The text is empty.")
    return root


def _allowed(event: yaml.Event, depth: int, documents: int) -> None:
    where = _line(event.start_mark)
    if documents > 1:
        raise BadText(f"{where}a second document begins; a policy is one.")
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
        raise BadText(f"{where}anchors and aliases (& and *) are not read.")
    if tag := getattr(event, "tag", None):
        raise BadText(f"{where}tags ({str(tag)[:60]!r}) are not read.")
    if isinstance(event, yaml.SequenceStartEvent):
        raise BadText(f"{where}a list stands where none is understood.")
    if depth > DEEPEST:
        raise BadText(f"{where}a mapping stands in a mapping of values.")


def _mapping(node: yaml.Node, what: str, known: tuple[str, ...] = ()) -> dict[str, yaml.Node]:
    if not isinstance(node, yaml.MappingNode):
        raise BadText(f"{_line(node.start_mark)}{what} must be a mapping of names.")
    found: dict[str, yaml.Node] = {}
    for key, value in node.value:
        name, where = _text(key, "a name"), _line(key.start_mark)
        if name in found:
            raise BadText(f"{where}{name[:60]!r} stands there twice.")
        if known and name not in known:
            raise BadText(f"{where}{name[:60]!r} is not known; known are {', '.join(known)}.")
        found[name] = value
    return found


def _plain(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.style is None


def _text(node: yaml.Node, what: str) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise BadText(f"{_line(node.start_mark)}{what} must be a text.")
    return str(node.value)


def _name(node: yaml.Node, name: str) -> str:
    text = _text(node, name)
    if _plain(node) and text in {"", "~", "null", "Null", "NULL"}:
        return ""
    if len(text) > NAME_LIMITS[name] or "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise BadText(
            f"{_line(node.start_mark)}{name} must be plain text of at most {NAME_LIMITS[name]} characters."
        )
    return text


def _number(node: yaml.Node, name: str) -> int | float:
    text = _text(node, name[:60])
    plain = _plain(node) and len(text) <= LONGEST_NUMBER
    if plain and WHOLE.fullmatch(text):
        number: int | float = int(text)
    elif plain and BROKEN.fullmatch(text):
        number = float(text)
    else:
        raise BadText(f"{_line(node.start_mark)}{name[:60]} must be a decimal number, and {text[:60]!r} is none.")
    try:
        read_policy({name: number})
    except BadPolicy as error:
        raise BadText(f"{_line(node.start_mark)}{error}") from error
    return number


def _line(mark: Any) -> str:
    return f"Line {mark.line + 1}: " if mark is not None else ""
