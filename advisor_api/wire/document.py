"""What does the OpenAPI document say of every operation alike: its errors, their headers, and `cluster=`?

Called by the generator when the document is made (`SPECTACULAR_SETTINGS`).
"""

from typing import Any

from advisor_api.wire.examples import EXAMPLES

MEANINGS = {
    "200": "As asked.",
    "201": "Made.",
    "304": "Not changed since the answer whose ETag was sent as `If-None-Match`.",
    "400": "What was sent cannot be read, or does not go together; the message says what and where.",
    "401": "No token, or one that is not known, has expired or was revoked.",
    "403": "The role does not allow it, or the cluster is not one of the token's.",
    "404": "It is not there, or not on a cluster that the caller may see.",
    "405": "The path does not have this method.",
    "406": "Answers are JSON; another form was asked for.",
    "409": "Somebody was first: look again.",
    "413": "The body is larger than 1 MiB, or nested deeper than 32 levels.",
    "415": "The body is not JSON.",
    "429": "Too many requests of one caller, or too many wrong tokens from one address.",
    "503": "Busy; nothing was changed.",
}
"""What each status means, whatever the operation."""
BODY_ERRORS = ("413", "415")
ETAG = {
    "ETag": {"description": "Send it as `If-None-Match` to be told 304 instead.", "schema": {"type": "string"}},
    "Vary": {"description": "What the answer depends on.", "schema": {"type": "string"}},
}
RETRY = {
    "Retry-After": {
        "description": "Seconds after which to ask again.",
        "required": True,
        "schema": {"type": "integer", "minimum": 0},
    }
}
HEADERS: dict[str, dict[str, Any]] = {
    "401": {
        "WWW-Authenticate": {"description": "`Bearer`.", "required": True, "schema": {"type": "string"}},
    },
    "405": {
        "Allow": {"description": "The methods that there are.", "required": True, "schema": {"type": "string"}},
    },
    "429": RETRY,
    "503": RETRY,
}
CLUSTER = {
    "in": "query",
    "name": "cluster",
    "description": "Name of the cluster; needed by a token for several ones and by people, where no UUID says it.",
    "schema": {"type": "string", "maxLength": 64},
    "example": "demo",
}
ERROR = {"$ref": "#/components/schemas/Error"}


def complete(result: dict[str, Any], **_generator: Any) -> dict[str, Any]:
    """The document with what holds for all of its operations, and with an example of each body."""
    for path, methods in result["paths"].items():
        for method, operation in methods.items():
            if "/clusters" not in path:
                operation.setdefault("parameters", []).append(dict(CLUSTER))
            _answers(method, operation)
            _examples(operation)
    return result


def _answers(method: str, operation: dict[str, Any]) -> None:
    answers = operation["responses"]
    for status in ("405", "406", *(BODY_ERRORS if "requestBody" in operation else ())):
        answers.setdefault(status, {"content": {"application/json": {"schema": dict(ERROR)}}})
    if method == "get":
        answers["304"] = {}
    for status, answer in answers.items():
        answer["description"] = MEANINGS[status]
        headers = ETAG if method == "get" and status in {"200", "304"} else HEADERS.get(status)
        if headers:
            answer["headers"] = {name: dict(header) for name, header in headers.items()}
    operation["responses"] = dict(sorted(answers.items()))


def _examples(operation: dict[str, Any]) -> None:
    """The good answers, and the body where there is one; the first good answer stands for all."""
    example = EXAMPLES.get(operation["operationId"])
    if example is None:
        return
    if "requestBody" in operation:
        operation["requestBody"]["content"]["application/json"]["example"] = example["request"]
    for status, answer in operation["responses"].items():
        if status.startswith("2") and "application/json" in answer["content"]:
            answer["content"]["application/json"]["example"] = example["answer"]
