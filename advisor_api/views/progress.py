"""Doors for training jobs: what they tell of themselves, and the key with which they may."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from advisor_api.authentication import REPORTERS, Roles
from advisor_api.job_keys import make_key
from advisor_api.progress_intake import Named, take_progress
from advisor_api.views.door import Door, clock
from advisor_api.wire import progress as wire
from advisor_api.wire.errors import answers
from detectors.telling import Message


class Progress(Door):
    """How far a job is, by its own word. It counts as much as a line of its log."""

    roles: ClassVar[dict[str, Roles]] = {"POST": REPORTERS}
    for_jobs: ClassVar[bool] = True

    @extend_schema(
        request=wire.ToldProgress,
        responses=answers({200: wire.ProgressAnswer, 201: wire.ProgressAnswer}, 404, 409),
        operation_id="tellProgress",
    )
    def post(self, request: Request) -> Response:
        """Store it once by its key; the same again gives the first answer. 409: the attempt does not run."""
        sent = self.sent(wire.ToldProgress)
        named = Named(sent["heimdallJobId"], sent["jobId"], sent["attemptIndex"])
        checkpoint = sent["checkpoint"] or {}
        message = Message(
            step=sent["step"],
            total=sent["totalSteps"],
            loss=sent["loss"],
            rate=sent["tokensPerSecond"],
            seconds=sent["stepSeconds"],
            phase=sent["phase"],
            deed=checkpoint.get("deed", ""),
            at_step=checkpoint.get("step"),
            path=checkpoint.get("path", ""),
        )
        row, new = take_progress(
            self.caller, named, sent["idempotencyKey"], message, cluster=self.cluster_name, now=clock()
        )
        return self.answer(wire.ProgressAnswer, row, 201 if new else 200)


class ProgressKey(Door):
    """The key of a job that begins: for a prolog of the scheduler, which hands it to the job."""

    roles: ClassVar[dict[str, Roles]] = {"POST": REPORTERS}

    @extend_schema(
        request=wire.KeyRequest, responses=answers({200: wire.KeyAnswer}), operation_id="makeProgressKey"
    )
    def post(self, request: Request) -> Response:
        """Make it. Nothing is stored, and the job need not have been seen yet."""
        number, now = self.sent(wire.KeyRequest)["jobId"], clock()
        key, until = make_key(self.caller.token, self.cluster(), number, now)
        return self.answer(wire.KeyAnswer, {"jobId": number, "key": key, "until": until})
