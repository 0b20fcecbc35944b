"""`python -m controller hand-over`: has the Advisor's trail got what the watchdog did?

A process of its own, so that the watchdog itself never waits for a network. Each act has a key: one that is sent
twice is stored once.
"""

from argparse import Namespace
from datetime import datetime

from controller.acts import Act, Acts
from controller.client import Advisor, AdvisorError, Rejected, Unreachable
from controller.config import Settings
from controller.plain import one_line, write_line
from controller.starting import BadStart
from controller.token_check import check_token

NOT_NOW = 1
BAD_TOKEN = 3
BAD_ITEM = 400
NOT_FOUND = 404


class Trail(Advisor):
    """The Advisor as the watchdog's acts see it."""

    def put(self, act: Act) -> None:
        """Store one act; when this returns it is durable. Raises `AdvisorError`."""
        item = {
            "eventProducer": "watchdog",
            "eventType": "action",
            "eventLevel": "warning",
            "payload": {
                "action": "SLURM_RELEASE",
                "job": str(act.job),
                "restarts": str(act.restarts),
                "generation": str(act.generation),
                "outcome": act.outcome,
                "sentence": act.sentence,
            },
            "eventProducedAt": str(int(datetime.fromisoformat(act.at).timestamp() * 1_000_000)),
            "idempotencyKey": f"watchdog:{act.key}",
        }
        if identity := self._attempt(act):
            item["heimdallJobId"] = identity
        answer = self._ask("POST", "/v1/audit/events", {"items": [item]})
        partial = answer.get("partialSuccess")
        counted = partial if isinstance(partial, dict) else answer
        if counted.get("rejected"):
            raise Rejected(BAD_ITEM, one_line(f"the act was not stored: {counted['rejected']}"))
        if str(counted.get("accepted")) != "1":
            raise Unreachable("it is not known whether the act was stored")

    def _attempt(self, act: Act) -> str:
        """The attempt that was held, or the one before where no listing has shown it yet; else none."""
        for index in (act.restarts, act.restarts - 1):
            try:
                job = self._ask("GET", f"/v1/jobs/{act.job}-{index}").get("job")
            except Rejected as error:
                if error.status != NOT_FOUND:
                    raise
                continue
            return str(job.get("heimdallJobId", "")) if isinstance(job, dict) else ""
        return ""


def hand_over(acts: Acts, trail: Trail) -> int:
    """Hand over what waits, in its order; how much that was. Raises `AdvisorError` where none answers.

    An act that it will never take stays in the file alone: the others do not wait behind it.
    """
    count = 0
    for act, size in acts.untold():
        if act is not None:
            try:
                trail.put(act)
                count += 1
            except Rejected as error:
                if error.status != BAD_ITEM:
                    raise
                write_line(f"The act {act.key} is not taken: {error}.")
        acts.set_told(size)
    return count


def main(settings: Settings, options: Namespace) -> int:
    """Hand over what waits. Returns the exit status: 0 done, 1 not now, 3 the token is not taken."""
    try:
        trail = check_token(settings, Trail)
    except BadStart as error:
        write_line(f"{error}.")
        return BAD_TOKEN
    acts = Acts(settings.acts)
    if not acts.waiting:
        return 0
    try:
        count = hand_over(acts, trail)
    except (AdvisorError, OSError) as error:
        write_line(f"The acts of the watchdog wait: {error}.")
        return NOT_NOW
    write_line(f"The trail has got {count} {'act' if count == 1 else 'acts'} of the watchdog.")
    return 0
