"""How does a process get a site of its own, with an empty database?

Must run before anything of the product's rooms is imported: models need a configured Django.
"""

import os
from pathlib import Path

import django
from django.core.management import call_command

SETTINGS = "recovery_site.settings"


def prepare(folder: Path, *, on_disk: bool = False) -> None:
    """Configure Django for this process and make every table. `folder` takes what the site keeps beside them.

    No setting of the caller's leaks in. The database is in memory, or `on_disk` in `folder`.
    """
    for name in [name for name in os.environ if name.startswith("REKINDLE_")]:
        del os.environ[name]
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": SETTINGS,
        "REKINDLE_STATE_DIR": str(folder),
        "REKINDLE_DATABASE_URL": "" if on_disk else "sqlite:///:memory:",
        "REKINDLE_LOG_LEVEL": "WARNING",
    }
    django.setup()
    call_command("migrate", verbosity=0)
