"""What does a web server do once everything is loaded? It takes that out of the collector's sight."""

import gc

from django.urls import get_resolver


def settle() -> None:
    """Load what answers requests, and leave it out of garbage collections from then on.

    A full collection that looks through all modules, models and signatures took 107 ms, in the middle of one
    request of twelve for the overview (benchmarks/README.md, pages of the console).
    """
    _ = get_resolver().url_patterns  # all views, and what they import
    gc.collect()
    gc.freeze()
