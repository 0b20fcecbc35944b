"""How do a verdict and a decision look on the wire?"""

from typing import Any

from rest_framework import serializers

from advisor_api.verdict_view import whole_verdict
from advisor_api.wire.advice import Advice
from advisor_api.wire.fields import AnyJson, Form, Int64
from detectors.attribution.action import VerdictAction
from detectors.attribution.evidence_status import EvidenceStatus
from detectors.provider_models import OUTCOMES


class WholeVerdict(AnyJson):
    """All fields of the verdict's schema, made from the row and what stands beside it."""

    def get_attribute(self, instance: Any) -> Any:
        """The row as it is served."""
        return whole_verdict(instance)


class ProviderSaid(Form):
    """What a provider outside was asked about the attempt, and what came: ours stands beside it."""

    provider = serializers.CharField(source="name")
    kind = serializers.CharField()
    phase = serializers.CharField()
    outcome = serializers.ChoiceField(choices=[name for name, _label in OUTCOMES])
    said = serializers.CharField(allow_blank=True)
    answer = AnyJson(allow_null=True)
    askedAt = serializers.DateTimeField(source="asked_at")
    answeredAt = serializers.DateTimeField(source="answered_at", allow_null=True)


class Verdict(Form):
    """The attribution of an attempt's failure.

    `body` is the whole of it (schema 1.0) with evidence and rivals; `inputs` are the facts that it was made from;
    `providers` are those outside who were asked.
    """

    verdictId = serializers.UUIDField(source="uuid")
    supersedes = serializers.UUIDField(source="supersedes.uuid", allow_null=True)
    speed = serializers.CharField()
    kind = serializers.CharField()
    layer = serializers.CharField()
    signature = serializers.CharField(allow_blank=True)
    fingerprint = serializers.CharField(allow_blank=True)
    sentence = serializers.CharField()
    evidenceStatus = serializers.ChoiceField(
        choices=[status.value for status in EvidenceStatus], source="evidence_status"
    )
    confidence = serializers.FloatField()
    suggestion = serializers.ChoiceField(choices=[action.value for action in VerdictAction], source="action")
    implicated = serializers.ListField(child=AnyJson())
    body = WholeVerdict()
    inputs = AnyJson(source="body.inputs", default=dict)
    inputHash = serializers.CharField(source="input_hash")
    providers = ProviderSaid(many=True, source="attempt.questions")
    happenedAt = serializers.DateTimeField(source="happened_at")
    judgedAt = serializers.DateTimeField(source="judged_at")


class VerdictAnswer(Form):
    """The newest verdict on an attempt."""

    verdict = Verdict()


class Turn(Form):
    """One fact, and the value with which a rule would have decided."""

    fact = serializers.CharField()
    value = serializers.JSONField()


class RuleSaid(Form):
    """What one rule said: whether it applied, and the facts and limits that it looked at.

    `winsIf` is the smallest change of one fact with which it would have decided; null where there is none.
    """

    rule = serializers.CharField()
    operation = serializers.CharField(source="then", allow_blank=True)
    applied = serializers.BooleanField()
    chosen = serializers.BooleanField()
    because = serializers.CharField()
    inputs = AnyJson()
    winsIf = Turn(source="wins_if", allow_null=True, default=None)


class Decision(Form):
    """The newest decision on an attempt. Without advice it says why it was left alone."""

    rule = serializers.CharField()
    because = serializers.CharField()
    policyVersion = Int64(source="policy_version", allow_null=True)
    decidedAt = serializers.DateTimeField(source="decided_at")
    advice = Advice(allow_null=True)
    facts = AnyJson()
    trace = RuleSaid(many=True)


class DecisionAnswer(Form):
    """The newest decision, with every rule that was looked at."""

    decision = Decision()
