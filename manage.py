#!/usr/bin/env python
"""Runs one of the site's commands, e.g. `python manage.py migrate`."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recovery_site.settings")
    execute_from_command_line(sys.argv)
