"""What may an administrator look at here? Everything; it is evidence.

Only the site's own signatures and its providers change.
"""

from django.contrib import admin
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from audit.read_only import ReadOnlyAdmin
from detectors.incident_admin import IncidentAdmin, IncidentChoiceAdmin, IncidentNoteAdmin
from detectors.models import Anomaly, Excerpt, Feed, HealthEvent, Verdict
from detectors.provider_admin import AttributionProviderAdmin, ProviderQuestionAdmin
from detectors.signature_admin import SiteSignatureAdmin
from workloads.attempt_admin import OfAttemptAdmin

__all__ = [
    "AnomalyAdmin",
    "AttributionProviderAdmin",
    "ExcerptAdmin",
    "FeedAdmin",
    "HealthEventAdmin",
    "IncidentAdmin",
    "IncidentChoiceAdmin",
    "IncidentNoteAdmin",
    "ProviderQuestionAdmin",
    "SiteSignatureAdmin",
    "VerdictAdmin",
]


@admin.register(Anomaly)
class AnomalyAdmin(OfAttemptAdmin):
    """Symptoms found."""

    list_display = ("detected_at", "attempt", "kind", "role", "layer", "signature", "sentence", "count")
    list_filter = ("attempt__job__cluster", "kind", "role", "layer")
    list_select_related = ("attempt__job",)
    search_fields = ("=fingerprint", "signature", "sentence")
    search_help_text = _(
        "The number of a job, an attempt as 4711-0, or its UUID, "
        "a fingerprint; words of the signature or sentence in the newest 100,000."
    )


@admin.register(Verdict)
class VerdictAdmin(OfAttemptAdmin):
    """Verdicts."""

    list_display = ("judged_at", "attempt", "sentence", "action", "confidence", "evidence_status", "layer")
    list_filter = ("attempt__job__cluster", "action", "evidence_status", "layer", "kind")
    list_select_related = ("attempt__job",)
    search_fields = ("=fingerprint", "=signature", "=uuid", "sentence")
    search_help_text = _(
        "The number of a job, an attempt as 4711-0, or its UUID, "
        "a signature, a fingerprint, a verdict's UUID; words of the sentence in the newest 100,000."
    )


@admin.register(Feed)
class FeedAdmin(OfAttemptAdmin):
    """How far each stream is read."""

    list_display = ("stream", "source", "attempt", "revision", "moved_at")
    list_filter = ("cluster",)
    list_select_related = ("attempt__job",)
    search_fields = ("source", "stream")
    search_help_text = _(
        "The number of a job, an attempt as 4711-0, or its UUID; "
        "words of the stream's path or its source in the newest 100,000."
    )


@admin.register(Excerpt)
class ExcerptAdmin(OfAttemptAdmin):
    """Stored copies of log text."""

    list_display = ("kept_at", "attempt", "why", "stream", "offset")
    list_filter = ("attempt__job__cluster", "why")
    list_select_related = ("attempt__job",)
    search_fields = ("stream",)
    search_help_text = _(
        "The number of a job, an attempt as 4711-0, or its UUID; words of the stream's path in the newest 100,000."
    )


@admin.register(HealthEvent)
class HealthEventAdmin(ReadOnlyAdmin):
    """What was told about nodes."""

    list_display = (
        "happened_at",
        "cluster",
        "node",
        "entity",
        "check_name",
        "fatal",
        "healthy",
        "message",
        "cleared_at",
    )
    list_filter = ("cluster", "fatal", "healthy")
    list_select_related = ("cluster",)
    ordering = ("-id",)
    search_fields = ("=uuid", "node", "check_name", "message", "source")
    search_help_text = _("Words of node, check, message or source in the newest 100,000.")

    def trail_of(self, obj: HealthEvent) -> dict[str, str]:
        """What the trail says of the node."""
        return {"cluster": obj.cluster.name, "node": obj.node}

    def console_of(self, obj: HealthEvent) -> str:
        """The page of the node."""
        return reverse("node", args=[obj.cluster.name, obj.node])
