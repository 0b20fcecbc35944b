"""How does an administrator say who is told about excluded nodes? Every change is an event of the trail."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from advisor_api.insert_only import InsertOnlyAdmin, actor_of
from advisor_api.repair_models import RepairRecord, RepairSystem
from advisor_api.repair_records import send_again
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.read_only import AdminPage
from audit.trail import Actor, Entry, record
from workloads.subjects import subject_of_cluster

if TYPE_CHECKING:
    Form = ModelForm[RepairSystem]
else:  # takes no type argument when it runs
    Form = ModelForm


@admin.register(RepairSystem)
class RepairSystemAdmin(AdminPage):
    """Repair systems. What they were told stands in *Repair records*."""

    list_display = ("name", "cluster", "kind", "file", "address", "enabled")
    list_filter = ("cluster", "kind", "enabled")
    list_select_related = ("cluster",)
    search_fields = ("name", "address", "file")
    fields = ("cluster", "name", "kind", "file", "address", "credential", "timeout_seconds", "enabled")

    def get_readonly_fields(self, request: HttpRequest, obj: RepairSystem | None = None) -> tuple[str, ...]:
        """Whose it is, and what it is called in the trail."""
        return ("cluster", "name") if obj else ()

    def trail_of(self, obj: RepairSystem) -> dict[str, str]:
        """What was set."""
        return {"cluster": obj.cluster.name, "type": EventType.CONFIGURATION.value}

    def save_model(self, request: HttpRequest, obj: RepairSystem, form: Form, change: bool) -> None:
        """Store it, and write one event that says what changed."""
        changed = list(form.changed_data)
        if change and not changed:
            return
        super().save_model(request, obj, form, change)
        person = request.user.get_username()
        what = f"changed {', '.join(changed)} of" if change else "added"  # stays English: stored
        payload: dict[str, Any] = {
            "repair_system": obj.name,
            "before": {name: form.initial.get(name) for name in changed} if change else {},
            "after": {name: getattr(obj, name) for name in self.fields if name != "cluster"},
        }
        entry = Entry(
            type=EventType.CONFIGURATION,
            subject=subject_of_cluster(obj.cluster),
            actor=Actor(ActorKind.PERSON, person),
            # stays English: stored
            sentence=f"{person} {what} the repair system {obj.name} of cluster {obj.cluster.name}.",
            level=Level.WARNING,
            payload=payload,
        )
        record([entry], timezone.now())


@admin.register(RepairRecord)
class RepairRecordAdmin(InsertOnlyAdmin):
    """What repair systems were told of which node, and what came of it; what was given up can be sent again."""

    actions = ("send_again",)
    list_display = ("made_at", "name", "node", "deed", "outcome", "tries", "said", "over_at", "again_at")
    list_filter = ("outcome", "deed", "system")
    list_select_related = ("exclusion__cluster",)
    ordering = ("-id",)
    search_fields = ("=key", "node", "name")
    search_help_text = gettext_lazy("A key; words of a node or of the system in the newest 100,000.")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody: records are made with what they tell."""
        return False

    def trail_of(self, obj: RepairRecord) -> dict[str, str]:
        """What the trail says of the node."""
        return {"cluster": obj.exclusion.cluster.name, "node": obj.node}

    def has_send_permission(self, request: HttpRequest) -> bool:
        """Whoever may change whom they are sent to."""
        return bool(request.user.has_perm("advisor_api.change_repairsystem"))

    @admin.action(description=gettext_lazy("Send again what was given up"), permissions=["send"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[RepairRecord]) -> None:
        """Hand it over once more."""
        actor, now = actor_of(request), timezone.now()
        rows = queryset.select_related("exclusion__cluster")

        def act(row: RepairRecord) -> str:
            told = {"name": send_again(row, actor, now).name, "node": row.node}
            return _("%(name)s is told again of %(node)s.") % told

        self.each(request, rows, act)
