"""What was done about incidents, for those who look it up? It is read here, and done in the console."""

from django.contrib import admin

from audit.read_only import ReadOnlyAdmin
from detectors.choice_models import IncidentChoice, IncidentNote
from detectors.models import Incident


@admin.register(Incident)
class IncidentAdmin(ReadOnlyAdmin):
    """Incidents."""

    list_display = ("last_seen_at", "cluster", "sentence", "layer", "shared", "acknowledged_by", "ended_at")
    list_filter = ("cluster", "layer", "shared")
    list_select_related = ("cluster",)
    search_fields = ("sentence", "=fingerprint", "=acknowledged_by")


@admin.register(IncidentNote)
class IncidentNoteAdmin(ReadOnlyAdmin):
    """Remarks of people."""

    list_display = ("at", "author", "incident", "text")
    list_select_related = ("incident",)
    search_fields = ("text", "=author")


@admin.register(IncidentChoice)
class IncidentChoiceAdmin(ReadOnlyAdmin):
    """Splits and merges, and which were taken back."""

    list_display = ("made_at", "cluster", "deed", "made_by", "reason", "undone_at", "undone_by")
    list_filter = ("cluster", "deed")
    list_select_related = ("cluster",)
    search_fields = ("reason", "=made_by")
