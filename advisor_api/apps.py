"""Which app is this room?"""

from django.apps import AppConfig


class AdvisorApiConfig(AppConfig):
    """The room `advisor_api`."""

    name = "advisor_api"
    verbose_name = "Advisor"
    default_auto_field = "django.db.models.BigAutoField"
