"""Django on an empty database of its own. Import this before anything that has models.

SQLite in a temporary folder, or what `REKINDLE_DATABASE_URL` names (which must be empty: nothing is removed there).
"""

import atexit
import os
import shutil
import tempfile

import django
from django.core.management import call_command

_FOLDER = tempfile.mkdtemp(prefix="rk-bench-")
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)
os.environ["REKINDLE_STATE_DIR"] = _FOLDER
os.environ.setdefault("REKINDLE_LOG_LEVEL", "ERROR")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recovery_site.settings")
django.setup()


def prepare() -> str:
    """Make the tables; the folder, in which a benchmark may write as well."""
    call_command("migrate", verbosity=0)
    return _FOLDER
