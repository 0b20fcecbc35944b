"""Which silences were there? They are read here, and made and ended in the console."""

from django.contrib import admin

from advisor_api.silence_models import Silence
from audit.read_only import ReadOnlyAdmin


@admin.register(Silence)
class SilenceAdmin(ReadOnlyAdmin):
    """Silences, those that are over too."""

    list_display = ("since", "cluster", "what", "owner", "reason", "until", "ended_at", "ended_by")
    list_filter = ("cluster",)
    list_select_related = ("cluster",)
    search_fields = ("=fingerprint", "signature", "=node", "=partition", "owner", "reason")
