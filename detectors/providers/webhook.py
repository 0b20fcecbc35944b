"""How is anything else asked? A webhook: our own JSON goes out, a small JSON comes back.

Both are described in the operator's guide, *Ask somebody outside about a verdict*.
"""

from collections.abc import Mapping
from typing import Any

from detectors.attribution.answers import Answer
from detectors.providers.provider import Asked, NoAnswer, moment
from detectors.providers.told import LONGEST_SENTENCE, hosts_and_places, share, text, word

FORM = "rekindle.attribution/1"


class Webhook:
    """Our own form."""

    name = "webhook"
    title = "Webhook (JSON of Rekindle)"

    def path(self) -> str:
        """The address is the whole one."""
        return ""

    def write(self, asked: Asked) -> dict[str, Any]:
        """The question."""
        return {
            "form": FORM,
            "question": asked.verdict_id,
            "phase": asked.phase,
            "answer_within_seconds": asked.seconds,
            "workload": {
                "id": asked.workload_id,
                "cluster": asked.cluster,
                "job": asked.job,
                "attempt": asked.attempt,
                "state": asked.state,
                "exit_code": asked.exit_code,
                "exit_signal": asked.exit_signal,
                "started_at": moment(asked.started_at),
                "ended_at": moment(asked.ended_at),
                "nodes": list(asked.nodes),
            },
            "verdict": {
                "kind": asked.kind,
                "sentence": asked.sentence,
                "happened_at": moment(asked.happened_at),
                "confidence": asked.confidence,
                "suspects": [vars(one) for one in asked.suspects],
                "causes": [vars(one) for one in asked.causes],
                "evidence": [vars(one) for one in asked.evidence],
            },
        }

    def read(self, told: Mapping[str, Any], asked: Asked, provider: str) -> Answer:
        """The answer; raises `NoAnswer`, also for one to another question."""
        question = told.get("question")
        if question != asked.verdict_id:
            said = text(str(question)[:200], 64)
            raise NoAnswer(
                f"it answered another question: {said!r}" if question else "its answer names no question"
            )
        hosts, places = hosts_and_places(told.get("nodes"))
        return Answer(
            provider,
            about=asked.fingerprint,
            layer=word(told.get("layer")),
            signature=word(told.get("signature")),
            confidence=share(told.get("confidence")),
            hosts=hosts,
            places=places,
            sentence=text(told.get("sentence"), LONGEST_SENTENCE),
        )
