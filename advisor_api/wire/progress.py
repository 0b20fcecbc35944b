"""How does a training job tell its progress on the wire?"""

import math
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from advisor_api.wire.fields import Form, Id, Int64, Text
from detectors.telling import DEEDS, PHASES, STEP_LIMIT
from workloads.progress import PLACE_LIMIT

NO_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
LARGEST = 1e15
LARGEST_JOB = 8_999_999_999_999_999_999  # what the pattern of 64-bit texts in the document holds


@extend_schema_field({"type": "number", "minimum": 0, "maximum": LARGEST})
class Amount(serializers.Field[float, Any, float, Any]):
    """A number that is not negative, and no text that would become one."""

    def to_representation(self, value: float) -> float:
        """As it is."""
        return value

    def to_internal_value(self, data: Any) -> float:
        """The number."""
        if isinstance(data, bool) or not isinstance(data, int | float) or not 0 <= data <= LARGEST:
            raise serializers.ValidationError("must be a number from 0 to 10^15")
        return float(data)


@extend_schema_field(
    {"anyOf": [{"type": "number", "minimum": -LARGEST, "maximum": LARGEST}, {"enum": list(NO_NUMBERS)}]}
)
class Loss(serializers.Field[float, Any, float, Any]):
    """A number, or one of `nan`, `inf` and `-inf` as text: JSON has no such numbers."""

    def to_representation(self, value: float) -> float:
        """As it is."""
        return value

    def to_internal_value(self, data: Any) -> float:
        """The number, which may be none."""
        if isinstance(data, str) and data in NO_NUMBERS:
            return NO_NUMBERS[data]
        if isinstance(data, bool) or not isinstance(data, int | float) or not -LARGEST <= data <= LARGEST:
            raise serializers.ValidationError(f"must be a number, or one of {', '.join(NO_NUMBERS)}")
        return float(data)


@extend_schema_field(
    {
        "anyOf": [
            {"type": "string", "pattern": "^[0-8]?[0-9]{1,18}$"},
            {"type": "integer", "minimum": 0, "maximum": LARGEST_JOB},
        ]
    }
)
class JobNumber(Int64):
    """A job's number, as text or as a number: shells and Python write either."""

    def to_internal_value(self, data: Any) -> int:
        """The number."""
        whole = isinstance(data, float) and data.is_integer() and abs(data) <= LARGEST_JOB  # 12345.0 is one in JSON
        number = super().to_internal_value(int(data) if whole else data)
        if number > LARGEST_JOB:
            raise serializers.ValidationError("must be the number of a job")
        return number


class ToldCheckpoint(Form):
    """A checkpoint that is complete on its storage, or that was loaded."""

    step = serializers.IntegerField(min_value=0, max_value=STEP_LIMIT)
    deed = serializers.ChoiceField(choices=DEEDS, default="saved")
    path = serializers.RegexField(r"^[\x21-\x7e]*\Z", default="", allow_blank=True, max_length=PLACE_LIMIT)


class ToldProgress(Form):
    """How far a running attempt is. At least one of step, phase and checkpoint is told."""

    jobId = JobNumber(default=None, allow_null=True)
    attemptIndex = serializers.IntegerField(default=None, allow_null=True, min_value=0, max_value=2**31 - 1)
    heimdallJobId = Id(default=None, allow_null=True)
    idempotencyKey = Text(max_length=128)
    step = serializers.IntegerField(default=None, allow_null=True, min_value=0, max_value=STEP_LIMIT)
    totalSteps = serializers.IntegerField(default=None, allow_null=True, min_value=1, max_value=STEP_LIMIT)
    loss = Loss(default=None, allow_null=True)
    tokensPerSecond = Amount(default=None, allow_null=True)
    stepSeconds = Amount(default=None, allow_null=True)
    phase = serializers.ChoiceField(choices=PHASES, default="", allow_blank=True)
    checkpoint = ToldCheckpoint(default=None, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Something must be told."""
        if attrs["step"] is None and not attrs["phase"] and attrs["checkpoint"] is None:
            raise serializers.ValidationError("tell at least one of step, phase and checkpoint")
        return attrs


class ProgressAnswer(Form):
    """Whose progress it is, and when it arrived."""

    heimdallJobId = serializers.UUIDField(source="attempt.heimdall_id")
    attemptIndex = serializers.IntegerField(source="attempt.index")
    toldAt = serializers.DateTimeField(source="told_at")


class KeyRequest(Form):
    """For which job."""

    jobId = JobNumber()


class KeyAnswer(Form):
    """A key with which this job can tell its own progress, and nothing else."""

    jobId = Int64()
    key = serializers.CharField()
    until = serializers.DateTimeField()
