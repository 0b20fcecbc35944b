"""Is what an operator said about a cluster's metrics usable?"""

import re
from typing import Any, Protocol

from django.core.exceptions import ValidationError

from workloads.log_stores import readable_by_all

DEFAULT_LABELS = {"gpu_node": "Hostname", "gpu": "gpu", "node": "instance", "port": "port", "device": "device"}
"""As the exporters write them: DCGM's names its node itself, that of a node by the address it is scraped at."""
_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")


class Described(Protocol):
    """The columns of a cluster that describe its metrics."""

    metrics_address: str
    metrics_selector: str
    metrics_credential: str
    metrics_labels: Any


def metrics_labels(value: Any) -> None:
    """`{"gpu_node": "Hostname", "node": "instance"}`"""
    if not isinstance(value, dict):
        raise ValidationError('Labels are written as {"gpu_node": "LABEL"}.')
    for name, label in value.items():
        if name not in DEFAULT_LABELS:
            raise ValidationError(f"{str(name)[:40]!r} is not mapped; known are {', '.join(DEFAULT_LABELS)}.")
        if not isinstance(label, str) or not _LABEL.match(label):
            raise ValidationError(f"{str(label)[:40]!r} is no label's name, for {name}.")


def metrics_selector(value: str) -> None:
    """Matchers as they stand between braces: `cluster="a",job=~"dcgm|node"`."""
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", value)
    if any(char in outside for char in "{}()[]\"'`#"):
        raise ValidationError('Write matchers alone, without braces: cluster="a",job=~"dcgm|node".')


def metrics_mistakes(cluster: Described) -> dict[str, str]:
    """What is missing or too much, by column; each one sentence."""
    if not cluster.metrics_address:
        said = cluster.metrics_selector or cluster.metrics_credential or cluster.metrics_labels
        return {"metrics_address": "Say where the metrics are."} if said else {}
    if cluster.metrics_credential and readable_by_all(cluster.metrics_address):
        return {"metrics_credential": "A credential is sent over https only: it would be readable by all."}
    return {}


def effective_labels(own: dict[str, str]) -> dict[str, str]:
    """The defaults with a cluster's own labels laid over them."""
    return {**DEFAULT_LABELS, **own}
