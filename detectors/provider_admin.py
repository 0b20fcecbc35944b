"""How does an administrator say who outside is asked about verdicts? Every change is an event of the trail."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.read_only import AdminPage
from audit.trail import Actor, Entry, record
from detectors.provider_models import AttributionProvider, ProviderQuestion
from workloads.attempt_admin import OfAttemptAdmin
from workloads.subjects import subject_of_cluster

if TYPE_CHECKING:
    Form = ModelForm[AttributionProvider]
else:  # takes no type argument when it runs
    Form = ModelForm


@admin.register(AttributionProvider)
class AttributionProviderAdmin(AdminPage):
    """Providers. What they answer stands in *Provider questions*, and only narrows our verdicts."""

    list_display = ("name", "cluster", "kind", "address", "phases", "timeout_seconds", "enabled")
    list_filter = ("cluster", "kind", "enabled")
    list_select_related = ("cluster",)
    search_fields = ("name", "address")
    fields = ("cluster", "name", "kind", "address", "credential", "timeout_seconds", "phases", "enabled")

    def get_readonly_fields(self, request: HttpRequest, obj: AttributionProvider | None = None) -> tuple[str, ...]:
        """Whose it is, and what it is called in the trail."""
        return ("cluster", "name") if obj else ()

    def trail_of(self, obj: AttributionProvider) -> dict[str, str]:
        """What was set."""
        return {"cluster": obj.cluster.name, "type": EventType.CONFIGURATION.value}

    def save_model(self, request: HttpRequest, obj: AttributionProvider, form: Form, change: bool) -> None:
        """Store it, and write one event that says what changed."""
        changed = [name for name in form.changed_data if not change or form.initial.get(name) != getattr(obj, name)]
        if change and not changed:
            return
        super().save_model(request, obj, form, change)
        record([_configured(request, obj, form, changed if change else None)], timezone.now())


def _configured(request: HttpRequest, obj: AttributionProvider, form: Form, changed: list[str] | None) -> Entry:
    person = request.user.get_username()
    what = f"changed {', '.join(changed)} of" if changed else "added"  # stays English: stored
    names = changed or [name for name in AttributionProviderAdmin.fields if name != "cluster"]
    payload: dict[str, Any] = {
        "provider": obj.name,
        "before": {name: form.initial.get(name) for name in changed or ()},
        "after": {name: getattr(obj, name) for name in names},
    }
    return Entry(
        type=EventType.CONFIGURATION,
        subject=subject_of_cluster(obj.cluster),
        actor=Actor(ActorKind.PERSON, person),
        # stays English: stored
        sentence=f"{person} {what} the attribution provider {obj.name} of cluster {obj.cluster.name}.",
        level=Level.WARNING,
        payload=payload,
    )


@admin.register(ProviderQuestion)
class ProviderQuestionAdmin(OfAttemptAdmin):
    """What providers were asked, and what came."""

    list_display = ("asked_at", "name", "attempt", "phase", "outcome", "tries", "said", "answered_at")
    list_filter = ("outcome", "phase")
    list_select_related = ("attempt__job",)
    search_fields = ("name",)
    search_help_text = _(
        "The number of a job, an attempt as 4711-0, or its UUID; words of a provider's name in the newest 100,000."
    )
