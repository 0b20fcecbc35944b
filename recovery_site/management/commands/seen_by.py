"""`manage.py seen_by`: say which groups of people see a cluster, or look who does."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import Group
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from advisor_api.models import ApiToken
from advisor_api.notification_models import NotificationRoute
from audit.command_line import shell_actor
from workloads.models import Cluster
from workloads.removed_models import RemovedCluster
from workloads.seen_by import open_trail, set_seen_by


class Command(BaseCommand):
    """Without groups and without `--everybody` it only says who sees the cluster."""

    help = (
        "Say which groups alone see a cluster and what runs on it, in the place of those that were said before, or "
        "--everybody. With neither: who sees it now. Of a cluster that was removed: who sees its trail."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The cluster and the groups."""
        parser.add_argument("cluster", help="its name")
        parser.add_argument(
            "group", nargs="*", help="members of these alone see it, and superusers; quote a name with blanks"
        )
        parser.add_argument("--everybody", action="store_true", help="whoever may sign in sees it")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Do it, or say in one sentence why not."""
        groups, everybody = options["group"], options["everybody"]
        if groups and everybody:
            raise CommandError("Either groups or --everybody.")
        cluster = Cluster.objects.filter(name=options["cluster"]).first()
        removed = RemovedCluster.objects.filter(name=options["cluster"]).first()
        if removed is not None and cluster is None:
            self._removed(removed, groups, everybody)
            return
        if cluster is None:
            raise CommandError(f"There is no cluster {options['cluster']!r}; see `cluster list`.")
        there = {*Group.objects.values_list("name", flat=True)}
        if unknown := sorted({*groups} - there):
            known = ", ".join(sorted(there)) or "none"
            raise CommandError(f"There is no group {', '.join(map(repr, unknown))}; there are: {known}.")
        if (groups or everybody) and {*groups} != {*cluster.seen_by}:
            with transaction.atomic():
                set_seen_by(cluster, {*groups}, shell_actor(), timezone.now())
        named = ", ".join(cluster.seen_by)
        whom = f"members of {named} and superusers" if named else "whoever may sign in"
        self.stdout.write(f"{cluster.name} is seen by {whom}.")
        if cluster.seen_by:
            self._say_what_reaches(cluster)

    def _removed(self, removed: RemovedCluster, groups: list[str], everybody: bool) -> None:
        if groups:
            raise CommandError(f"{removed.name} was removed; its trail can only be opened to --everybody.")
        if everybody:
            with transaction.atomic():
                open_trail(removed, shell_actor(), timezone.now())
        whom = "whoever may sign in" if everybody else f"members of {', '.join(removed.seen_by)} and superusers"
        self.stdout.write(f"{removed.name} was removed; its trail is seen by {whom}.")

    def _say_what_reaches(self, cluster: Cluster) -> None:
        """What was made while more people saw it keeps working, whoever has it."""
        tokens = ApiToken.objects.filter(clusters=cluster, revoked_at=None, expires_at__gt=timezone.now())
        routes = NotificationRoute.objects.filter(Q(cluster=cluster) | Q(cluster=None), enabled=True)
        for what, names in (("tokens of the API", tokens), ("notification routes", routes)):
            if told := ", ".join(names.order_by("name").values_list("name", flat=True)):
                self.stdout.write(f"Look at the {what} that reach it, whoever has them: {told}.")
