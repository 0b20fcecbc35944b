"""What does the admin show of the trail? Everything, to be read and searched, never to be changed."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit.models import AuditArchive, AuditChain, AuditEvent, AuditUnsealed
from audit.read_only import ReadOnlyAdmin

SITE = "(site)"


class ClusterFilter(admin.SimpleListFilter):
    """The trails that there are; the table itself is not asked for its names."""

    title = gettext_lazy("cluster")
    parameter_name = "cluster"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, str]]:
        """Every chain."""
        return [(name or SITE, name or _("the site itself")) for name in names_of_trails()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[AuditEvent]) -> QuerySet[AuditEvent]:
        """The events of one."""
        chosen = self.value()
        return queryset if chosen is None else queryset.filter(cluster="" if chosen == SITE else chosen)


def names_of_trails() -> list[str]:
    """Every cluster that an event speaks of: those with a chain, and those whose first one is not sealed yet."""
    sealed = AuditChain.objects.values_list("cluster", flat=True)
    waiting = AuditUnsealed.objects.order_by().values_list("cluster", flat=True).distinct()
    return sorted({*sealed, *waiting})


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    """The events, newest first."""

    list_display = ("at", "cluster", "attempt_label", "type", "level", "actor_kind", "actor", "sentence")
    list_display_links = ("at",)
    list_filter = (ClusterFilter, "type", "level", "actor_kind")
    search_fields = ("=uuid", "=heimdall_job_id", "actor", "sentence")
    search_help_text = gettext_lazy(
        "A job number, node, or UUID of an attempt or event, in all events; words of the sentence or an actor in "
        "the newest 100,000. The console's Audit page looks further back and exports."
    )
    ordering = ("-id",)

    def meanings(self, term: str) -> Iterable[Q]:
        """A job or a node, by the indexes that begin with the cluster."""
        names = names_of_trails()
        if term.isascii() and term.isdigit() and len(term) < 19:
            yield Q(cluster__in=names, job_number=int(term))
        if not any(character.isspace() for character in term):
            yield Q(cluster__in=names, node=term)

    def trail_of(self, obj: AuditEvent) -> dict[str, str]:
        """What else there is of its job, or of its cluster."""
        job = {"job": obj.attempt_label or str(obj.job_number)} if obj.job_number is not None else {}
        return {"cluster": obj.cluster or SITE, **job}

    def console_of(self, obj: AuditEvent) -> str:
        """Its page, with what seals it."""
        return reverse("audit-event", args=[obj.uuid])


@admin.register(AuditArchive)
class AuditArchiveAdmin(ReadOnlyAdmin):
    """What left the table, and for which file."""

    is_long = False
    list_display = ("cluster", "first_seq", "last_seq", "first_at", "last_at", "file", "size", "at")
    list_display_links = ("file",)
    list_filter = (ClusterFilter,)
    search_fields = ("file",)
    search_help_text = gettext_lazy("Words of the file's name.")
    date_hierarchy = "at"
    ordering = ("-at", "-id")

    def trail_of(self, obj: AuditArchive) -> dict[str, str]:
        """What was archived of the same trail."""
        return {"cluster": obj.cluster or SITE, "type": "archived"}
