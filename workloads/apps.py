"""Which app is this room?"""

from django.apps import AppConfig


class WorkloadsConfig(AppConfig):
    """The room `workloads`."""

    name = "workloads"
    verbose_name = "Workloads"
    default_auto_field = "django.db.models.BigAutoField"
