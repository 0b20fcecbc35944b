"""What of a verdict is of the attempt itself? Only when that changes is there anything new to say."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from detectors.attribution.enriching import RULE

ELSEWHERE = ("around", "nodes", "answers")  # facts that count as far as they change the verdict
OWN_BUT = ("inputs", "input_hash", "history")


def own_part(body: Mapping[str, Any]) -> dict[str, Any]:
    """A verdict and its inputs without what happened elsewhere, and without answers that changed nothing."""
    own = {name: part for name, part in body.items() if name not in OWN_BUT}
    inputs = {name: part for name, part in body.get("inputs", {}).items() if name not in ELSEWHERE}
    own["rules"] = [rule for rule in own.get("rules", ()) if not str(rule.get("id")).startswith(RULE)]
    shared = (own.get("outcome") or {}).get("shared") or {}
    # How many more it struck is the incident's to say.
    outcome = {**(own.get("outcome") or {}), "shared": shared.get("rule")}
    return {**own, "outcome": outcome, "inputs": inputs}


def own_hash(body: Mapping[str, Any]) -> str:
    """SHA-256 over it: 64 hexadecimal digits."""
    return hashlib.sha256(json.dumps(own_part(body), sort_keys=True).encode()).hexdigest()
