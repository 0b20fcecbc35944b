"""`manage.py seen_by`: say which groups of people see a cluster, or look who does."""

import getpass
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import Group
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from audit.actor_kind import ActorKind
from audit.trail import Actor
from workloads.models import Cluster
from workloads.seen_by import set_seen_by


class Command(BaseCommand):
    """Without groups and without `--everybody` it only says who sees the cluster."""

    help = "Say which groups alone see a cluster and what runs on it (or --everybody), or look who does."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The cluster and the groups."""
        parser.add_argument("cluster")
        parser.add_argument("group", nargs="*", help="its members alone see it, and superusers; may be repeated")
        parser.add_argument("--everybody", action="store_true", help="whoever may sign in sees it")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Do it, or say in one sentence why not."""
        groups, everybody = options["group"], options["everybody"]
        if groups and everybody:
            raise CommandError("Either groups or --everybody.")
        cluster = Cluster.objects.filter(name=options["cluster"]).first()
        if cluster is None:
            raise CommandError(f"There is no cluster {options['cluster']!r}; see `cluster list`.")
        there = {*Group.objects.values_list("name", flat=True)}
        if unknown := sorted({*groups} - there):
            known = ", ".join(sorted(there)) or "none"
            raise CommandError(f"There is no group {', '.join(map(repr, unknown))}; there are: {known}.")
        if (groups or everybody) and {*groups} != {*cluster.seen_by}:
            actor = Actor(ActorKind.PERSON, f"{getpass.getuser()} (command line)")
            with transaction.atomic():
                set_seen_by(cluster, {*groups}, actor, timezone.now())
        named = ", ".join(cluster.seen_by)
        whom = f"members of {named} and superusers" if named else "whoever may sign in"
        self.stdout.write(f"{cluster.name} is seen by {whom}.")
