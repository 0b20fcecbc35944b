"""How does a look at a cluster's sources look on the wire?"""

from rest_framework import serializers

from advisor_api.wire.fields import LARGEST, Form, Int64, WireChoice, names
from detectors.signal_bounds import ATTEMPTS, MOST_ATTEMPTS
from detectors.signals.grade import Grade

GRADES = {grade: grade.value for grade in Grade}


class SignalsQuery(Form):
    """One job's newest attempt, or how many running attempts, the newest first."""

    job = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST)
    attempts = serializers.IntegerField(default=ATTEMPTS, min_value=1, max_value=MOST_ATTEMPTS)


class SignalRemark(Form):
    """One point: what was seen, why it matters, and what to do. The last two may be empty."""

    point = serializers.CharField()
    grade = WireChoice("SignalGrade", GRADES)
    sentence = serializers.CharField()
    matters = serializers.CharField(allow_blank=True)
    remedy = serializers.CharField(allow_blank=True)


class SignalsOfJob(Form):
    """The remarks on one attempt; `grade` is the worst of them."""

    jobId = Int64(source="number")
    attemptIndex = serializers.IntegerField(source="index")
    grade = WireChoice("SignalGrade", GRADES)
    remarks = SignalRemark(many=True)


class LabelCandidate(Form):
    """A label of a store that may hold the job_id, node, rank, filename or restart. `score`: 0 to 1."""

    holds = serializers.CharField(source="field")
    name = serializers.CharField(source="label")
    score = serializers.FloatField()
    why = serializers.CharField()
    examples = names()


class SignalsAnswer(Form):
    """What the sources of a cluster give the detectors. `command` would set the labels; empty: nothing to set."""

    cluster = serializers.CharField()
    lookedAt = serializers.DateTimeField(source="at")
    grade = WireChoice("SignalGrade", GRADES)
    remarks = SignalRemark(many=True)
    jobs = SignalsOfJob(many=True)
    candidates = LabelCandidate(many=True)
    command = serializers.CharField(allow_blank=True)
