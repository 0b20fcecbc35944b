"""Which silences were there? They are read here, and made and ended in the console."""

from django.contrib import admin
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from advisor_api.silence_models import Silence
from audit.read_only import ReadOnlyAdmin


@admin.register(Silence)
class SilenceAdmin(ReadOnlyAdmin):
    """Silences, those that are over too."""

    list_display = ("since", "cluster", "what", "owner", "reason", "until", "ended_at", "ended_by")
    list_filter = ("cluster",)
    list_select_related = ("cluster",)
    search_fields = ("=fingerprint", "signature", "node", "partition", "owner", "reason")
    search_help_text = _("Words of what is silenced, of the reason or of its owner.")

    def trail_of(self, obj: Silence) -> dict[str, str]:
        """The notifications of the cluster, and what keeps them back."""
        return {"cluster": obj.cluster.name, "type": "notification"}

    def console_of(self, obj: Silence) -> str:
        """Where silences are ended."""
        return reverse("silences")
