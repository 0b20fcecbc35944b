"""Which app is this room?"""

from django.apps import AppConfig


class DetectorsConfig(AppConfig):
    """The room `detectors`."""

    name = "detectors"
    verbose_name = "Detectors"
    default_auto_field = "django.db.models.BigAutoField"
