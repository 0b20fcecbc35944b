"""`manage.py verify_audit`: is the audit trail as it was written, what of it is proved, and by which key?"""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from audit.archive_file import names_in
from audit.checkpoints import read_line
from audit.key_change import site_keys
from audit.key_word import Told, told_changes
from audit.keyring import (
    DATED,
    LATE,
    LEAKED,
    PROVED,
    STRANGE,
    Keyring,
    KnownKey,
    keys_in,
    of_publics,
    read_moment,
    shown,
)
from audit.models import AuditCheckpoint, AuditUnsealed
from audit.signing import BadKey, kept_key, key_id, public_half
from audit.verifying import ChainReport, chains, slipped_in, verify
from audit.walking import Run

SHOWN = 10  # numbers of events that slipped in
WORTH = {
    PROVED: "proved by the key {key}",
    LATE: "no proof: signed by the key {key} after its end",
    LEAKED: "no proof: signed by the key {key} after it leaked",
    DATED: "signed by the key {key} before it leaked, by their own date alone: whoever had it could date so, and "
    "no copy was given (--checkpoints)",
    STRANGE: "signed by the key {key}, which was not given: nothing is known of them",
}


class Command(BaseCommand):
    """Follows every chain and says the first thing that is wrong. Exit status 1 when something is."""

    help = (
        "Follow the chain of seals of each cluster, event by event. Says the exact first event, seal or checkpoint "
        "that was changed, removed or slipped in, what is proved by which key, and what is only consistent."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The chain, the keys, and the checkpoints that were kept elsewhere."""
        parser.add_argument("--cluster", help="Only the chain of this cluster; '' is what speaks of none.")
        parser.add_argument(
            "--public-key",
            action="append",
            metavar="HEX",
            help="64 hexadecimal characters, several times for several keys; without it and --keys, the site's own "
            "key and those that signed before it.",
        )
        parser.add_argument(
            "--keys", type=Path, help="A file with a key a line: HEX, HEX until TIME or HEX leaked TIME."
        )
        parser.add_argument(
            "--leaked",
            action="append",
            metavar="ID=TIME",
            help="Somebody else may have had this key since then: what it signed later proves nothing, and what it "
            "signed earlier only where --checkpoints has it, too.",
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
        """Report each chain in a line, and under it whose checkpoints it has."""
        if options["show_key"]:
            self.stdout.write(_own_key())
            return
        keys, outside = _keys(options), _kept(options["checkpoints"])
        archive = _folder(options["archive"])
        names = [options["cluster"]] if options["cluster"] is not None else chains()
        if options["cluster"] is None:
            kept = {one[0] for one in names_in(archive)} if archive is not None else set()
            names = sorted({*names, *(row.cluster for row in outside), *kept})
        reports = []
        for name in names:
            reports.append(verify(name, keys, outside, archive))
            self.stdout.write(_line(reports[-1]))
            for line in (*map(_run, reports[-1].runs), *map(_doubt, reports[-1].doubts)):
                self.stdout.write(line)
        for told in told_changes():
            self.stdout.write(_change(told, keys))
        strangers = list(islice(slipped_in(), SHOWN + 1))
        if strangers:
            more = " and more" if len(strangers) > SHOWN else ""
            listed = ", ".join(map(str, strangers[:SHOWN]))
            self.stdout.write(f"Slipped in: event {listed}{more}, which no seal covers and which waits for none.")
        self.stdout.write(f"{AuditUnsealed.objects.count()} events wait for their seal.")
        _conclude(reports, bool(strangers))


def _conclude(reports: list[ChainReport], slipped: bool) -> None:
    broken = sum(bool(report.problem) for report in reports)
    if broken or slipped:
        raise CommandError(f"The trail is not as it was written: {broken} of {len(reports)} chains are broken.")
    doubts = sum(len(report.doubts) for report in reports)
    if doubts:
        raise CommandError(f"{doubts} stones may hide something: say --archive FOLDER, which reads their files.")
    strange = sorted({run.key for report in reports for run in report.strange})
    if strange:
        more = " and more" if len(strange) > SHOWN else ""
        listed = ", ".join(map(shown, strange[:SHOWN]))
        raise CommandError(f"Checkpoints were signed by keys that were not given: {listed}{more}.")


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


def _run(run: Run) -> str:
    span = f"checkpoint {run.first_seq}"
    if run.number > 1:
        span = f"{run.number} checkpoints from {run.first_seq} to {run.last_seq}"
    return f"    {span}: {WORTH[run.worth].format(key=shown(run.key))}."


def _doubt(doubt: str) -> str:
    return f"    {doubt}: whoever had it could put one, and its file was not read (--archive)."


def _change(told: Told, keys: Keyring) -> str:
    change = told.change
    if change is None:
        return f"Event {told.event} speaks of a change of keys and is not to be understood."
    old, new = key_id(change.old), key_id(change.new)
    who = {
        (True, True): "both signed it",
        (True, False): "the old one alone signed it",
        (False, True): "the new one alone signed it",
        (False, False): "neither signed it",
    }[told.by_old, told.by_new]
    leaked = f", which leaked at {change.leaked_at:%Y-%m-%d %H:%M:%S} UTC" if change.leaked_at else ""
    known = "" if new in keys.keys else f" The new one was not given: {change.new}."
    return (
        f"Event {told.event}: from {change.at:%Y-%m-%d %H:%M:%S} UTC on {new} follows {old}{leaked}; {who}.{known}"
    )


def _own_key() -> str:
    try:
        return public_half(kept_key(settings.AUDIT_KEY_FILE))
    except (BadKey, OSError) as error:
        raise CommandError(f"The key cannot be used: {error}") from None


def _keys(options: dict[str, Any]) -> Keyring:
    try:
        keys = of_publics(*options["public_key"] or ())
        if options["keys"] is not None:
            found = keys_in(options["keys"])
            if not found:
                raise BadKey(f"{options['keys']} holds no key.")
            keys = keys.with_keys(found)
        if not keys.keys:
            keys = site_keys(settings.AUDIT_KEY_FILE)
        return keys.with_keys(_leaks(options["leaked"] or (), keys))
    except (BadKey, OSError) as error:
        raise CommandError(f"The key cannot be used: {error}") from None


def _leaks(said: Sequence[str], keys: Keyring) -> Iterator[KnownKey]:
    for one in said:
        name, _, at = one.partition("=")
        if name not in keys.keys:
            raise BadKey(f"{name[:64]!r} of --leaked is the id of none that was given.")
        yield KnownKey(keys.keys[name].public, read_moment(at), leaked=True)


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
