"""How is an attribution adapter asked? `POST /v1/attribution` (attribution section 2.1).

The request has the fields that are published; its evidence stands in `failure_context`. No field of the response
is published: its five parts (outcome, root cause, affected nodes, symptoms, evidence trail) are looked for under
these names, and what is not there is not said.
"""

from collections.abc import Mapping
from typing import Any

from detectors.attribution.answers import Answer
from detectors.providers.provider import Asked, NoAnswer, moment
from detectors.providers.told import first_text, hosts_and_places, part, share, text, word

SCHEMA_VERSION = "1.0"
ASKER = "rekindle"  # who asks is the site; the job's user is never sent


class Contract:
    """The adapter contract of an attribution service."""

    name = "contract"
    title = "Attribution adapter (POST /v1/attribution)"

    def path(self) -> str:
        """What is added to the address."""
        return "/v1/attribution"

    def write(self, asked: Asked) -> dict[str, Any]:
        """The request."""
        return {
            "schema_version": SCHEMA_VERSION,
            "workload_id": asked.workload_id,
            "phase": asked.phase,
            "failure_context": {
                "detection_signal": asked.signal or asked.kind,
                "kind": asked.kind,
                "summary": asked.sentence,
                "detected_at": moment(asked.happened_at),
                "evidence": [vars(one) for one in asked.evidence],
            },
            "scope": {
                "nodes": list(asked.nodes),
                "ranks": sorted({one.rank for one in asked.suspects if one.rank is not None}),
                "time_window": {"start": moment(asked.started_at), "end": moment(asked.ended_at)},
                "end_time": moment(asked.ended_at or asked.happened_at),
            },
            "workload_context": {
                "cluster": asked.cluster,
                "job_id": asked.job,
                "attempt": asked.attempt,
                "job_state": asked.state,
                "exit_code": asked.exit_code,
                "exit_signal": asked.exit_signal,
                "job_start_time": moment(asked.started_at),
                "job_end_time": moment(asked.ended_at),
            },
            "timeout_ms": round(asked.seconds * 1000),
            "continue_session": asked.phase == "slow",
            "user_id": ASKER,
        }

    def read(self, told: Mapping[str, Any], asked: Asked, provider: str) -> Answer:
        """The answer, as far as its parts are found; raises `NoAnswer`."""
        workload = (
            text(str(told["workload_id"])[:200]) if told.get("workload_id") is not None else asked.workload_id
        )
        if workload != asked.workload_id:
            raise NoAnswer(f"it answered about another workload: {workload[:64]!r}")
        outcome, cause = part(told, "outcome"), part(told, "root_cause")
        affected = told.get("affected_nodes", told.get("nodes"))
        hosts, places = hosts_and_places(affected)
        confidence = next((v for v in (told.get("confidence"), cause.get("confidence")) if v is not None), None)
        answer = Answer(
            provider,
            about=asked.fingerprint,
            layer=word(outcome.get("layer") or outcome.get("domain") or outcome.get("category"))
            or word(told.get("outcome")),
            signature=word(cause.get("signature_id") or cause.get("symptom")),
            confidence=share(confidence),
            hosts=hosts,
            places=places,
            sentence=first_text(
                (told.get("root_cause"), cause.get("text"), cause.get("summary"), told.get("summary"))
            ),
        )
        if answer == Answer(provider, about=asked.fingerprint):
            raise NoAnswer("its answer has none of the parts that are read")
        return answer
