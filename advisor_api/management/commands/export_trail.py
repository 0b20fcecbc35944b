"""`manage.py export_trail`: which events does the trail hold, as lines for other programs?"""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from rest_framework.exceptions import ValidationError

from advisor_api.errors import first_mistake
from advisor_api.pseudonyms import pseudonyms_for
from advisor_api.trail_export import FORMATS
from advisor_api.trail_search import archived_before, search
from advisor_api.wire.trail import TrailFilters, filters_of

WORDS = ("node", "user", "pattern", "action", "actor", "actorKind", "eventType", "eventLevel", "traceId")


class Command(BaseCommand):
    """Writes what fits to the standard output, oldest first, a page at a time."""

    help = (
        "Write the events of a cluster's trail that fit all filters as JSON Lines or CSV, oldest first. With "
        "--pseudonyms the names of people that the site knows are keyed hashes."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The cluster, the filters of `GET /v1/trail:export`, and the form."""
        parser.add_argument("cluster", help="Its name; '' is what speaks of none.")
        parser.add_argument("--format", choices=sorted(FORMATS), default="jsonl")
        parser.add_argument("--pseudonyms", action="store_true", help="Keyed hashes instead of people's names.")
        for name in ("jobId", "attemptIndex", "heimdallJobId", *WORDS, "since", "until"):
            parser.add_argument(f"--{name}")

    def handle(self, *args: Any, **options: Any) -> None:
        """One line an event."""
        given = {name: value for name, value in options.items() if value is not None}
        form = TrailFilters(data=given)
        try:
            form.is_valid(raise_exception=True)
        except ValidationError:
            raise CommandError(first_mistake(form.errors)) from None
        now = timezone.now()
        rows = search(options["cluster"], filters_of(form.validated_data)).filter(at__lt=now)
        if (archived := archived_before(options["cluster"])) is not None:
            self.stderr.write(
                f"Events up to {archived:%Y-%m-%d %H:%M:%S} UTC are in the archive and not in this export."
            )
        _type, lines_of = FORMATS[options["format"]]
        for line in lines_of(rows, pseudonyms_for(options["cluster"]) if options["pseudonyms"] else None):
            self.stdout.write(line, ending="")
