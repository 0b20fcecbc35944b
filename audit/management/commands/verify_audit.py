"""`manage.py verify_audit`: is the audit trail as it was written, and what of it is proved?"""

from argparse import ArgumentParser
from itertools import islice
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from audit.archive_file import names_in
from audit.checkpoints import read_line
from audit.models import AuditCheckpoint, AuditUnsealed
from audit.signing import BadKey, kept_key, public_half, read_public
from audit.verifying import ChainReport, chains, slipped_in, verify

SHOWN = 10  # numbers of events that slipped in


class Command(BaseCommand):
    """Follows every chain and says the first thing that is wrong. Exit status 1 when something is."""

    help = (
        "Follow the chain of seals of each cluster, event by event. Says the exact first event, seal or checkpoint "
        "that was changed, removed or slipped in, what is proved by a signature, and what is only consistent."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The chain, the key, and the checkpoints that were kept elsewhere."""
        parser.add_argument("--cluster", help="Only the chain of this cluster; '' is what speaks of none.")
        parser.add_argument(
            "--public-key", help="64 hexadecimal characters; without it, that of the site's own key."
        )
        parser.add_argument(
            "--checkpoints", type=Path, help="The file that checkpoints were added to, as it was kept."
        )
        parser.add_argument(
            "--archive",
            type=Path,
            help="The folder of archive_audit: its files are followed record by record, too.",
        )
        parser.add_argument("--show-key", action="store_true", help="Print the public key, to be kept, and end.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Report each chain in a line."""
        if options["show_key"]:
            self.stdout.write(_key(None))
            return
        public, outside = _key(options["public_key"]), _kept(options["checkpoints"])
        archive = _folder(options["archive"])
        names = [options["cluster"]] if options["cluster"] is not None else chains()
        if options["cluster"] is None:
            kept = {one[0] for one in names_in(archive)} if archive is not None else set()
            names = sorted({*names, *(row.cluster for row in outside), *kept})
        reports = []
        for name in names:
            reports.append(verify(name, public, outside, archive))
            self.stdout.write(_line(reports[-1]))
        strangers = list(islice(slipped_in(), SHOWN + 1))
        if strangers:
            more = " and more" if len(strangers) > SHOWN else ""
            listed = ", ".join(map(str, strangers[:SHOWN]))
            self.stdout.write(f"Slipped in: event {listed}{more}, which no seal covers and which waits for none.")
        self.stdout.write(f"{AuditUnsealed.objects.count()} events wait for their seal.")
        broken = sum(bool(report.problem) for report in reports)
        if broken or strangers:
            raise CommandError(f"The trail is not as it was written: {broken} of {len(reports)} chains are broken.")


def _line(report: ChainReport) -> str:
    name = report.cluster or "(the site)"
    proved = "nothing is proved"
    if report.proved_at is not None:
        proved = f"proved up to seal {report.proved_seq} ({report.proved_at:%Y-%m-%d %H:%M:%S} UTC)"
    if report.problem:
        return f"{name}: BROKEN after seal {report.seals}: {report.problem}; {proved}."
    archived = ""
    if report.archived:
        read = "read" if report.was_read else "by their stones alone; --archive FOLDER reads them"
        archived = f", of them 1 to {report.archived} in the archive ({read})"
    return f"{name}: {report.seals} seals{archived}; {proved}, consistent after it."


def _key(given: str | None) -> str:
    try:
        if given is None:
            return public_half(kept_key(settings.AUDIT_KEY_FILE))
        read_public(given)
    except (BadKey, OSError) as error:
        raise CommandError(f"The key cannot be used: {error}") from None
    return given


def _folder(path: Path | None) -> Path | None:
    if path is not None and not path.is_dir():
        raise CommandError(f"{path} is no folder.")
    return path


def _kept(path: Path | None) -> list[AuditCheckpoint]:
    if path is None:
        return []
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from None
    kept = []
    for number, line in enumerate(lines, 1):
        try:
            kept.append(read_line(line))
        except ValueError as error:
            raise CommandError(f"{path}, line {number}, {error}.") from None
    return kept
