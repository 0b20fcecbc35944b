"""Which app is this room?"""

from django.apps import AppConfig


class RecoverySiteConfig(AppConfig):
    """The room `recovery_site`: registers the start-up checks."""

    name = "recovery_site"
    verbose_name = "Site"

    def ready(self) -> None:
        """Import what registers itself."""
        from recovery_site import checks, metrics  # noqa: F401, PLC0415  # registration needs loaded apps
