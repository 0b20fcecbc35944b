"""Which app is this room?"""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    """The room `console`."""

    name = "console"
    verbose_name = "Recovery Console"
    default_auto_field = "django.db.models.BigAutoField"
