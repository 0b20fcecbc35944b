"""Is what an operator said about a cluster's log store usable?"""

import re
from typing import Any, Protocol
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError

STORE_KINDS = [("loki", "Grafana Loki"), ("victorialogs", "VictoriaLogs")]
MAPPED = ("job_id", "node", "rank", "filename", "restart")
_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_.:/-]{0,127}\Z")
_TENANT = re.compile(r"[0-9]{1,10}(:[0-9]{1,10})?\Z")
_CREDENTIAL = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}\Z")
LARGEST = 2**32 - 1  # of an AccountID or ProjectID


class Described(Protocol):
    """The columns of a cluster that describe its log store."""

    log_store: str
    log_store_address: str
    log_store_job_lines: str
    log_store_node_lines: str
    log_store_labels: Any
    log_store_tenant: str
    log_store_credential: str
    log_roots: Any
    log_patterns: Any


def store_address(value: str) -> None:
    """`http://` or `https://`, a host, perhaps a port and a path; no credentials, no query."""
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or any(char.isspace() or ord(char) < 32 for char in value):
        raise ValidationError(f"{value[:60]!r} is no address: write http://HOST:PORT or https://HOST:PORT.")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValidationError("Write no user, query or fragment into the address; name a credential instead.")


def one_line(value: str) -> None:
    """Text without line breaks and control characters."""
    if any(ord(char) < 32 or ord(char) == 127 for char in value):
        raise ValidationError("Write it in one line, without control characters.")


def credential_name(value: str) -> None:
    """A plain file name: it never leads out of the credentials folder."""
    if not _CREDENTIAL.match(value):
        raise ValidationError(f"{value[:40]!r} is no name of a credential (letters, digits, '.', '_', '-').")


def is_label(name: str) -> bool:
    """Whether this can be the name of a label that is mapped."""
    return _LABEL.match(name) is not None


def store_labels(value: Any) -> None:
    """`{"job_id": "slurm_job_id", "node": "host"}`"""
    if not isinstance(value, dict):
        raise ValidationError('Labels are written as {"job_id": "LABEL"}.')
    for name, label in value.items():
        if name not in MAPPED:
            raise ValidationError(f"{str(name)[:40]!r} is not mapped; known are {', '.join(MAPPED)}.")
        if not isinstance(label, str) or not _LABEL.match(label):
            raise ValidationError(f"{str(label)[:40]!r} is no label's name, for {name}.")


def store_mistakes(cluster: Described) -> dict[str, str]:
    """What is missing or too much, by column; each one sentence."""
    if not cluster.log_store:
        said = [name for name in ("address", "job_lines", "node_lines") if getattr(cluster, f"log_store_{name}")]
        return {"log_store": "Say which kind of log store it is."} if said else {}
    mistakes = {}
    if not cluster.log_store_address:
        mistakes["log_store_address"] = "Say where the log store is."
    if not cluster.log_store_job_lines.strip():
        mistakes["log_store_job_lines"] = "Say how the lines of all jobs are selected."
    labels = cluster.log_store_labels if isinstance(cluster.log_store_labels, dict) else {}
    if "job_id" not in labels:
        mistakes["log_store_labels"] = 'Say which label holds the job\'s number: {"job_id": "LABEL"}.'
    elif cluster.log_store_node_lines and "node" not in labels:
        mistakes["log_store_labels"] = 'Lines of nodes need a label for the node: {"node": "LABEL"}.'
    if cluster.log_roots or cluster.log_patterns:
        mistakes["log_store"] = (
            "A cluster reads files or a log store: empty its log roots and log patterns, or this."
        )
    if cluster.log_store == "victorialogs" and cluster.log_store_tenant and not _tenant(cluster.log_store_tenant):
        mistakes["log_store_tenant"] = (
            "A tenant of VictoriaLogs is ACCOUNT or ACCOUNT:PROJECT, two numbers below 2^32."
        )
    if cluster.log_store_credential and readable_by_all(cluster.log_store_address):
        mistakes["log_store_credential"] = "A credential is sent over https only: it would be readable by all."
    return mistakes


def readable_by_all(address: str) -> bool:
    """Whether a credential that is sent there passes a network in the clear."""
    host = urlsplit(address).hostname if address else ""
    return not address.startswith("https://") and host not in ("127.0.0.1", "::1", "localhost")


def _tenant(text: str) -> bool:
    return bool(_TENANT.match(text)) and all(int(part) <= LARGEST for part in text.split(":"))
