"""`manage.py makemessages -l de`: as Django's, and the labels of the enums, translated where they are shown."""

from typing import Any

from django.core.management.commands import makemessages

from recovery_site.environment import BASE_DIR
from recovery_site.vocabulary_page import ENUMS

LABELS = BASE_DIR / "labels_of_enums.py"
"""There only while messages are collected: xgettext reads calls, and the labels are not written as calls."""

IGNORED = ("tests/*", "lab/*", "benchmarks/*", "docs/*", "var/*", "static/vendor/*")


class Command(makemessages.Command):
    """Collects what is to be translated on the console's pages."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Collect for one domain."""
        options["ignore_patterns"] += IGNORED
        labels = sorted({member.label for enum in ENUMS for member in enum})
        try:
            LABELS.write_text("".join(f"gettext({label!r})\n" for label in labels if label))
            super().handle(*args, **options)
        finally:
            LABELS.unlink(missing_ok=True)
