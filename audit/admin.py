"""What does the admin show of the trail? Everything, to be read and searched, never to be changed."""

from django.contrib import admin

from audit.models import AuditArchive, AuditEvent
from audit.read_only import ReadOnlyAdmin


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    """The events, newest first."""

    list_display = ("at", "cluster", "attempt_label", "type", "level", "actor_kind", "actor", "sentence")
    list_display_links = ("at",)
    list_filter = ("cluster", "type", "level", "actor_kind", "at")
    search_fields = ("=job_number", "=heimdall_job_id", "=node", "=trace_id", "actor", "sentence")
    search_help_text = "A job number, attempt UUID, node or trace, or words of the sentence."
    ordering = ("-id",)


@admin.register(AuditArchive)
class AuditArchiveAdmin(ReadOnlyAdmin):
    """What left the table, and for which file."""

    list_display = ("cluster", "first_seq", "last_seq", "first_at", "last_at", "file", "size", "at")
    list_display_links = ("file",)
    list_filter = ("cluster",)
    ordering = ("-at", "-id")
