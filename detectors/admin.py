"""What may an administrator look at here? Everything; it is evidence.

Only the site's own signatures and its providers change.
"""

from django.contrib import admin

from audit.read_only import ReadOnlyAdmin
from detectors.incident_admin import IncidentAdmin, IncidentChoiceAdmin, IncidentNoteAdmin
from detectors.models import Anomaly, Excerpt, Feed, HealthEvent, Verdict
from detectors.provider_admin import AttributionProviderAdmin, ProviderQuestionAdmin
from detectors.signature_admin import SiteSignatureAdmin

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
class AnomalyAdmin(ReadOnlyAdmin):
    """Symptoms found."""

    list_display = ("detected_at", "attempt", "kind", "role", "layer", "signature", "sentence", "count")
    list_filter = ("kind", "role", "layer")
    list_select_related = ("attempt__job",)
    search_fields = ("signature", "fingerprint", "attempt__job__number")


@admin.register(Verdict)
class VerdictAdmin(ReadOnlyAdmin):
    """Verdicts."""

    list_display = ("judged_at", "attempt", "sentence", "action", "confidence", "evidence_status", "layer")
    list_filter = ("action", "evidence_status", "layer", "kind")
    list_select_related = ("attempt__job",)
    search_fields = ("signature", "fingerprint", "attempt__job__number")


@admin.register(Feed)
class FeedAdmin(ReadOnlyAdmin):
    """How far each stream is read."""

    list_display = ("stream", "source", "attempt", "revision", "moved_at")
    list_filter = ("source", "cluster")
    list_select_related = ("attempt__job",)
    search_fields = ("stream", "attempt__job__number")


@admin.register(Excerpt)
class ExcerptAdmin(ReadOnlyAdmin):
    """Stored copies of log text."""

    list_display = ("kept_at", "attempt", "why", "stream", "offset")
    list_filter = ("why",)
    list_select_related = ("attempt__job",)
    search_fields = ("stream", "attempt__job__number")


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
    list_filter = ("cluster", "fatal", "healthy", "source")
    search_fields = ("node", "check_name", "message")
