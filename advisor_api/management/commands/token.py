"""`manage.py token`: makes, lists, replaces and takes back API tokens."""

from argparse import ArgumentParser, ArgumentTypeError
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from advisor_api.expiring import expiring
from advisor_api.models import ApiToken
from advisor_api.refusals import Refusal
from advisor_api.token_role import TokenRole
from advisor_api.tokens import LIFETIME, LONGEST, issue, revoke, rotate
from audit.command_line import shell_actor
from workloads.models import Cluster

OVERLAP_HOURS = 24


class Command(BaseCommand):
    """Tokens are shown once, on standard output alone: `manage.py token create … > token-file`."""

    help = "Make, list, rotate and revoke API tokens."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """One sub-command each."""
        commands = parser.add_subparsers(dest="verb", required=True, metavar="create|list|rotate|revoke")
        create = commands.add_parser("create", help="make a token and print it once")
        create.add_argument("name", help="who will use it, e.g. controller-of-demo")
        create.add_argument("--role", required=True, choices=[role.value for role in TokenRole])
        create.add_argument("--cluster", action="append", required=True, help="may be given several times")
        create.add_argument("--days", type=_days, default=LIFETIME.days, help="lifetime; 90 by default")
        commands.add_parser("list", help="names, roles, clusters and ages; never the tokens")
        replace = commands.add_parser("rotate", help="print a new token; the old one works a while longer")
        replace.add_argument("name")
        replace.add_argument("--overlap-hours", type=_hours, default=OVERLAP_HOURS)
        take_back = commands.add_parser("revoke", help="take a token back at once")
        take_back.add_argument("name")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Do what the sub-command says; a refusal is one sentence."""
        try:
            getattr(self, f"_{options['verb']}")(options)
        except Refusal as error:
            raise CommandError(str(error)) from error

    def _create(self, options: dict[str, Any]) -> None:
        clusters = list(Cluster.objects.filter(name__in=options["cluster"]))
        if missing := sorted(set(options["cluster"]) - {cluster.name for cluster in clusters}):
            raise CommandError(f"There is no cluster {', '.join(missing)}.")
        lifetime = timedelta(days=options["days"])
        role = TokenRole(options["role"])
        secret = issue(options["name"], role, clusters, now=timezone.now(), actor=shell_actor(), lifetime=lifetime)
        self.stdout.write(secret)

    def _list(self, _options: dict[str, Any]) -> None:
        now = timezone.now()
        soon = set(expiring(now).values_list("pk", flat=True))
        for token in ApiToken.objects.prefetch_related("clusters"):
            state = "revoked" if token.revoked_at else "expired" if token.expires_at <= now else "valid"
            if state == "valid" and token.pk in soon:
                state = f"valid, ends in {(token.expires_at - now).days} days"
            used = f"{token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at else "never"
            names = ",".join(cluster.name for cluster in token.clusters.all()) or "-"
            until = f"{token.expires_at:%Y-%m-%d %H:%M}"
            self.stdout.write(f"{token.name}\t{token.role}\t{names}\t{state}\tuntil {until}\tused {used}")

    def _rotate(self, options: dict[str, Any]) -> None:
        overlap = timedelta(hours=options["overlap_hours"])
        self.stdout.write(rotate(_named(options["name"]), overlap=overlap, now=timezone.now(), actor=shell_actor()))

    def _revoke(self, options: dict[str, Any]) -> None:
        revoke(_named(options["name"]), now=timezone.now(), actor=shell_actor())
        self.stdout.write(f"The token {options['name']!r} was revoked.")


def _days(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= LONGEST.days:
        raise ArgumentTypeError(f"must be a whole number of days from 1 to {LONGEST.days}")
    return int(text)


def _hours(text: str) -> float:
    try:
        hours = float(text)
    except ValueError:
        hours = -1.0
    if not 0 <= hours <= LONGEST.days * 24:
        raise ArgumentTypeError(f"must be a number of hours from 0 to {LONGEST.days * 24}")
    return hours


def _named(name: str) -> ApiToken:
    token = ApiToken.objects.filter(name=name).first()
    if token is None:
        raise CommandError(f"There is no token {name!r}.")
    return token
