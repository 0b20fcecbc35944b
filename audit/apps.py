"""Which app is this room?"""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """The room `audit`."""

    name = "audit"
    verbose_name = "Audit trail"
    default_auto_field = "django.db.models.BigAutoField"
