"""What was done about incidents, for those who look it up? It is read here, and done in the console."""

from django.contrib import admin
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from audit.read_only import ReadOnlyAdmin
from detectors.choice_models import IncidentChoice, IncidentNote
from detectors.models import Incident


@admin.register(Incident)
class IncidentAdmin(ReadOnlyAdmin):
    """Incidents."""

    list_display = ("last_seen_at", "cluster", "sentence", "layer", "shared", "acknowledged_by", "ended_at")
    list_filter = ("cluster", "layer", "shared")
    list_select_related = ("cluster",)
    search_fields = ("=uuid", "=fingerprint", "sentence", "acknowledged_by")
    search_help_text = _("A UUID or fingerprint; words of the sentence, or who is at it, in the newest 100,000.")

    def trail_of(self, obj: Incident) -> dict[str, str]:
        """What was done about incidents of the cluster."""
        return {"cluster": obj.cluster.name, "type": "incident"}

    def console_of(self, obj: Incident) -> str:
        """Its page."""
        return reverse("incident", args=[obj.uuid])


@admin.register(IncidentNote)
class IncidentNoteAdmin(ReadOnlyAdmin):
    """Remarks of people."""

    list_display = ("at", "author", "incident", "text")
    list_select_related = ("incident__cluster",)
    ordering = ("-id",)
    search_fields = ("text", "author")
    search_help_text = _("Words of the remark, or who made it.")

    def trail_of(self, obj: IncidentNote) -> dict[str, str]:
        """What was done about incidents of the cluster."""
        return {"cluster": obj.incident.cluster.name, "type": "incident"}

    def console_of(self, obj: IncidentNote) -> str:
        """The page of the incident."""
        return reverse("incident", args=[obj.incident.uuid])


@admin.register(IncidentChoice)
class IncidentChoiceAdmin(ReadOnlyAdmin):
    """Splits and merges, and which were taken back."""

    list_display = ("made_at", "cluster", "deed", "made_by", "reason", "undone_at", "undone_by")
    list_filter = ("cluster", "deed")
    list_select_related = ("cluster",)
    search_fields = ("reason", "made_by")
    search_help_text = _("Words of the reason, or who made it.")

    def trail_of(self, obj: IncidentChoice) -> dict[str, str]:
        """What was done about incidents of the cluster."""
        return {"cluster": obj.cluster.name, "type": "incident"}

    def console_of(self, obj: IncidentChoice) -> str:
        """The page of what it was done to."""
        return reverse("incident", args=[obj.source.uuid])
