"""Which tests need a log store that this machine may not have? They are collected only where one is named."""

import os

BINARIES = ("LOKI_BIN", "VICTORIALOGS_BIN")
collect_ignore = [] if any(os.environ.get(name) for name in BINARIES) else ["test_real.py"]
