"""How are names of the code, states of a scheduler and values with a unit said to a person?"""

import re
from typing import Any

from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from console.spans import duration

_NAME = re.compile(r"(?:[a-z]+\.)?([a-z][a-z0-9]*(?:_[a-z0-9]+)*)")
SECONDS, SHARE, SWITCH = "_seconds", ("share", "confidence"), "act_on_"
_CODE = re.compile(r"`([^`]+)`|\b([A-Za-z]+\.)?[a-z]+(?:_[a-z]+)+\b")


def spoken(name: object) -> str:
    """`named_node` as `named node`, `facts.node_count` as `node count`; what is no name of ours as it is."""
    text = str(name)
    found = _NAME.fullmatch(text)
    return found[1].replace("_", " ") if found else text


def node_state(state: object) -> str:
    """What a scheduler says of a node: `down+not_responding`, or `down*`, as `down, not responding`."""
    words = []
    for word in str(state).split("+"):
        plain = word.rstrip("*~#!%$@^-")
        words.append(plain.replace("_", " ").lower() if plain.isascii() else plain)
        if "*" in word[len(plain) :]:
            words.append(_("not responding"))
    return ", ".join(dict.fromkeys(filter(None, words)))


def read_from(basis: str) -> str:
    """Of what a moment was read, as `Anomaly.basis` tells."""
    known = {
        "line": _("read from the line"),
        "file": _("read from the file"),
        "state": _("read from the state"),
        "step": _("read from the step"),
        "event": _("read from the event"),
    }
    return known.get(basis) or _("read from the %(basis)s") % {"basis": basis}


def with_unit(value: Any, name: str) -> str:
    """A value of a policy or a configuration as its name's unit has it: `1 d`, `80 %`, `yes`; else as it is."""
    name = name.rpartition(".")[2]
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if not isinstance(value, int | float):
        return str(value)
    if name.endswith(SECONDS):
        return duration(float(value))
    if name.endswith(SHARE):
        return f"{100 * value:g} %"
    if name.startswith(SWITCH):
        return _("yes") if value else _("no")
    return str(value)


def coded(text: object) -> SafeString:
    """A sentence, escaped; what a person has to type as it stands (`max_requeue_times`) is set apart as code."""
    parts, end = [], 0
    plain = str(text)
    for found in _CODE.finditer(plain):
        parts += [
            conditional_escape(plain[end : found.start()]),
            format_html("<code>{}</code>", found[1] or found[0]),
        ]
        end = found.end()
    return mark_safe("".join([*parts, conditional_escape(plain[end:])]))  # noqa: S308  # every part was escaped
