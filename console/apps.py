"""Which app is this room?"""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ConsoleConfig(AppConfig):
    """The room `console`."""

    name = "console"
    verbose_name = _("Recovery Console")
    default_auto_field = "django.db.models.BigAutoField"
