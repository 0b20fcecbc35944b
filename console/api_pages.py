"""What does the page that describes the API say? The OpenAPI document, in rows that a template can show."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

Described = Mapping[str, Any]
SCHEMAS = "#/components/schemas/"
BODY = "application/json"
COLOURS = {"GET": "success", "DELETE": "danger"}
BOUNDS = (
    (
        *("minLength", "maxLength"),
        gettext_lazy("%(low)s to %(high)s characters"),
        gettext_lazy("at most %(high)s characters"),
        gettext_lazy("at least %(low)s characters"),
    ),
    (
        *("minItems", "maxItems"),
        gettext_lazy("%(low)s to %(high)s entries"),
        gettext_lazy("at most %(high)s entries"),
        gettext_lazy("at least %(low)s entries"),
    ),
    (
        *("minimum", "maximum"),
        gettext_lazy("%(low)s to %(high)s"),
        gettext_lazy("at most %(high)s"),
        gettext_lazy("at least %(low)s"),
    ),
)
"""Names of a schema for the least and the most, and how both, the most alone and the least alone are said."""


@dataclass(frozen=True)
class Field:
    """A parameter or a field: its type in words, and the schema that it leads to (`""`: none)."""

    name: str
    place: str
    type: str
    schema: str
    needed: bool
    words: str


@dataclass(frozen=True)
class Answer:
    """One answer of an operation."""

    status: str
    meaning: str
    schema: str
    headers: tuple[str, ...]


@dataclass(frozen=True)
class Operation:
    """One operation with its examples as JSON text; `""` where there is none."""

    name: str
    method: str
    path: str
    words: str
    parameters: tuple[Field, ...]
    body: str
    request: str
    answers: tuple[Answer, ...]
    example: str

    @property
    def colour(self) -> str:
        """By what it does: reads, deletes, or writes."""
        return COLOURS.get(self.method, "primary")


@dataclass(frozen=True)
class Schema:
    """One form of a request, of an answer or of a part of them; `values` are those of an enum."""

    name: str
    words: str
    fields: tuple[Field, ...]
    values: tuple[str, ...]


def operations(document: Described) -> dict[str, list[Operation]]:
    """By topic, in the order of the paths."""
    found: dict[str, list[Operation]] = {}
    for path, methods in document["paths"].items():
        for method, each in methods.items():
            topic = each.get("tags", [""])[0]
            found.setdefault(topic, []).append(_operation(path, method, each))
    return found


def schemas(document: Described) -> list[Schema]:
    """By name."""
    return [_schema(name, each) for name, each in sorted(document["components"]["schemas"].items())]


def _operation(path: str, method: str, each: Described) -> Operation:
    body = each.get("requestBody", {}).get("content", {}).get(BODY, {})
    good: Described = next((answer for status, answer in each["responses"].items() if status.startswith("2")), {})
    return Operation(
        name=each["operationId"],
        method=method.upper(),
        path=path,
        words=each.get("description", ""),
        parameters=tuple(_parameter(one) for one in each.get("parameters", ())),
        body=_leads_to(body.get("schema", {})),
        request=_json(body.get("example")),
        answers=tuple(_answer(status, one) for status, one in each["responses"].items()),
        example=_json(good.get("content", {}).get(BODY, {}).get("example")),
    )


def _parameter(one: Described) -> Field:
    schema = one["schema"]
    needed = bool(one.get("required"))
    return Field(one["name"], one["in"], type_of(schema), _leads_to(schema), needed, one.get("description", ""))


def _answer(status: str, one: Described) -> Answer:
    schema = one.get("content", {}).get(BODY, {}).get("schema", {})
    return Answer(status, one["description"], _leads_to(schema), tuple(one.get("headers", {})))


def _schema(name: str, each: Described) -> Schema:
    needed = set(each.get("required", ()))
    fields = tuple(
        Field(field, "", type_of(one), _leads_to(one), field in needed, one.get("description", ""))
        for field, one in each.get("properties", {}).items()
    )
    return Schema(name, each.get("description", ""), fields, tuple(str(value) for value in each.get("enum", ())))


def type_of(schema: Described) -> str:
    """`text, 1 to 256 characters`; what a schema allows, in words."""
    words = ", ".join(word for word in (_kind(schema), _bounds(schema), _default(schema)) if word)
    return words or _("anything")


def _kind(schema: Described) -> str:
    if parts := [part for name in ("oneOf", "anyOf", "allOf") for part in schema.get(name, ())]:
        return _or().join(dict.fromkeys(_kind(part) for part in parts))
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(SCHEMAS)
    if "enum" in schema:
        return " | ".join("null" if value is None else str(value) for value in schema["enum"])
    kinds = schema.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    if "array" in kinds:
        return _("list of %(what)s") % {"what": _kind(schema.get("items", {})) or _("anything")}
    told = [str(schema.get("format") or kind) if kind == "string" else kind for kind in kinds]
    return _or().join(told)


def _or() -> str:
    return f" {_('or')} "


def _bounds(schema: Described) -> str:
    told = []
    for least, most, both, at_most, at_least in BOUNDS:
        low, high = schema.get(least), schema.get(most)
        if low is not None or high is not None:
            words = at_most if low is None else at_least if high is None else both
            told.append(words % {"low": low, "high": high})
    return ", ".join(told)


def _default(schema: Described) -> str:
    if schema.get("default") in (None, "", [], {}):
        return ""
    return _("default %(value)s") % {"value": json.dumps(schema["default"])}


def _leads_to(schema: Described) -> str:
    """The first schema that it names."""
    return next(_names(schema), "")


def _names(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if "$ref" in schema:
            yield str(schema["$ref"]).removeprefix(SCHEMAS)
        for name in ("items", "oneOf", "anyOf", "allOf"):
            yield from _names(schema.get(name))
    elif isinstance(schema, list):
        for part in schema:
            yield from _names(part)


def _json(value: Any) -> str:
    return "" if value is None else json.dumps(value, indent=2, ensure_ascii=False)
