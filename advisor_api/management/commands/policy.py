"""`manage.py policy`: lists, shows, compares, exports, imports, activates and withdraws policies."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from advisor_api.activating import (
    activate,
    add_version,
    as_text,
    find_place,
    find_version,
    standing,
    withdraw_policy,
)
from advisor_api.models import PolicyVersion
from advisor_api.policies import Place, in_force, place_of, policy_at
from advisor_api.policy.comparing import differences
from advisor_api.policy.text import MOST_BYTES, read, write
from advisor_api.policy.values import BadPolicy
from advisor_api.refusals import Refusal
from audit.command_line import shell_actor

LISTED = 200  # newest versions


class Command(BaseCommand):
    """A version is never changed: it is added, and activated with a reason."""

    help = "Policies: list, show what holds, compare, export, import, activate, withdraw."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """One sub-command each."""
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        verbs.add_parser("list", help=f"the {LISTED} newest versions and which are active")
        show = verbs.add_parser("show", help="what holds for jobs there, and which version says each value")
        _place(show)
        compare = verbs.add_parser("compare", help="the values in which two versions differ")
        compare.add_argument("first", type=int)
        compare.add_argument("second", type=int)
        export = verbs.add_parser("export", help="a version, or the active one of a place, as YAML")
        export.add_argument("version", type=int, nargs="?")
        _place(export)
        take = verbs.add_parser("import", help="a version from YAML; it is not active yet")
        take.add_argument("file", help="- for standard input")
        take.add_argument("--activate", action="store_true", help="activate it at once; needs --reason")
        take.add_argument("--reason", default="")
        switch = verbs.add_parser("activate", help="let a version hold at its place")
        switch.add_argument("version", type=int)
        switch.add_argument("--reason", required=True)
        withdraw = verbs.add_parser("withdraw", help="say nothing at a place any more")
        _place(withdraw)
        withdraw.add_argument("--reason", required=True)

    def handle(self, *_args: Any, **options: Any) -> None:
        """Do what the sub-command says; a refusal is one sentence."""
        try:
            getattr(self, f"_{options['verb']}")(options)
        except (Refusal, BadPolicy, OSError) as error:
            raise CommandError(str(error)) from error

    def _list(self, _options: dict[str, Any]) -> None:
        holding = set(in_force().values_list("version", flat=True))
        for row in PolicyVersion.objects.select_related("cluster")[:LISTED]:
            state = "active" if row.pk in holding else "-"
            made = f"{row.created_at:%Y-%m-%d %H:%M}"
            self.stdout.write(f"{row.pk}\t{place_of(row)}\t{state}\t{made}\t{row.created_by}\t{_quiet(row.note)}")

    def _show(self, options: dict[str, Any]) -> None:
        place = _asked(options, both=True)
        found = policy_at(place.cluster, options["partition"], options["user"], timezone.now())
        for name, layer in found.resolved.origins.items():
            value = getattr(found.policy, name)
            said = (
                f"policy {layer.version} ({layer.level.label.lower()})"
                if layer.version
                else "the program's default"
            )
            self.stdout.write(f"{name}\t{value}\t{said}")

    def _compare(self, options: dict[str, Any]) -> None:
        first, second = find_version(options["first"]), find_version(options["second"])
        for one in differences(first.values, second.values):
            self.stdout.write(f"{one.sentence}\t(default {one.default}) {one.meaning}")

    def _export(self, options: dict[str, Any]) -> None:
        if options["version"] is not None:
            version: PolicyVersion | None = find_version(options["version"])
        else:
            place = _asked(options)
            version = standing(place)[1]
            if version is None:
                raise CommandError(f"No policy of {place} is active.")
        if version is not None:
            self.stdout.write(write(as_text(version)), ending="")

    def _import(self, options: dict[str, Any]) -> None:
        if options["activate"] and not options["reason"].strip():
            raise CommandError("Say why it is activated: --reason.")
        text = read(_bytes(options["file"]))
        place, now = find_place(text.cluster, text.partition, text.user), timezone.now()
        with transaction.atomic():
            version = add_version(place, text.values, text.note, actor=shell_actor(), now=now)
            if options["activate"]:
                activate(version, standing(place)[0], options["reason"], actor=shell_actor(), now=now)
        state = "active" if options["activate"] else "not active yet"
        self.stdout.write(f"Policy {version.pk} of {place} was added; it is {state}.")

    def _activate(self, options: dict[str, Any]) -> None:
        version = find_version(options["version"])
        place = place_of(version)
        activate(version, standing(place)[0], options["reason"], actor=shell_actor(), now=timezone.now())
        self.stdout.write(f"Policy {version.pk} of {place} is active now.")

    def _withdraw(self, options: dict[str, Any]) -> None:
        place = _asked(options)
        withdraw_policy(place, standing(place)[0], options["reason"], actor=shell_actor(), now=timezone.now())
        self.stdout.write(f"No policy of {place} is active any more; the levels below hold.")


def _place(parser: ArgumentParser) -> None:
    for name in ("cluster", "partition", "user"):
        parser.add_argument(f"--{name}", default="")


def _asked(options: dict[str, Any], *, both: bool = False) -> Place:
    """The place of the options. `both`: of a job, which has a partition and a user."""
    if both and options["partition"] and options["user"]:
        find_place(options["cluster"], options["partition"], "")
        return find_place(options["cluster"], "", options["user"])
    return find_place(options["cluster"], options["partition"], options["user"])


def _bytes(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    with Path(file).open("rb") as opened:
        return opened.read(MOST_BYTES + 1)


def _quiet(text: str) -> str:
    """One line without characters that act on a terminal."""
    return "".join(char if char.isprintable() else " " for char in text)
