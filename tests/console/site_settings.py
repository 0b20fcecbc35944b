"""Settings of a console that runs alone in a process of its own."""

from recovery_site.settings import *  # noqa: F403

ROOT_URLCONF = "tests.console.urls"
