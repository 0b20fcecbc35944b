"""How does a test store what a provider was asked?"""

from datetime import datetime
from typing import Any

from detectors.models import Verdict
from detectors.provider_models import ProviderQuestion

ANSWER: dict[str, Any] = {
    "provider": "acme",
    "about": "",
    "layer": "hardware.gpu",
    "signature": "",
    "confidence": 0.6,
    "hosts": ["n03"],
    "places": [],
    "sentence": "Seen before.",
}


def make_question(verdict: Verdict, now: datetime, **changes: Any) -> ProviderQuestion:
    """One that acme has answered."""
    values: dict[str, Any] = {
        "name": "acme",
        "kind": "webhook",
        "attempt": verdict.attempt,
        "verdict": verdict,
        "phase": verdict.speed,
        "own_hash": "0",
        "tries": 1,
        "asked_at": now,
        "ends_at": now,
        "answered_at": now,
        "outcome": "answered",
        "said": "hardware.gpu on n03",
        "answer": {**ANSWER, "about": verdict.fingerprint},
    }
    return ProviderQuestion.objects.create(**{**values, **changes})
