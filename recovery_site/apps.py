"""Which app is this room?"""

from django.apps import AppConfig, apps
from django.contrib.admin.apps import AdminConfig
from django.db.models.signals import post_migrate, pre_migrate


class RecoverySiteConfig(AppConfig):
    """The room `recovery_site`: registers the start-up checks and the groups of people."""

    name = "recovery_site"
    verbose_name = "Site"

    def ready(self) -> None:
        """Import what registers itself, and have the groups made after each migration."""
        from recovery_site import checks  # noqa: F401, PLC0415  # registration needs loaded apps
        from recovery_site.groups import make_groups, note_permissions  # noqa: PLC0415  # its models need loaded apps

        # The last app with models: by then the permissions of all others are there.
        last = apps.get_app_config("console")
        pre_migrate.connect(note_permissions, sender=last, dispatch_uid="rekindle permissions")
        post_migrate.connect(make_groups, sender=last, dispatch_uid="rekindle groups")


class RekindleAdminConfig(AdminConfig):
    """Django's admin, with our own site of it."""

    default_site = "recovery_site.rekindle_admin.RekindleSite"
