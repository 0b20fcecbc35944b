"""Which groups of people are there from the start? An administrator puts people into them."""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.db.models import Q, QuerySet

INCIDENTS = (
    "detectors.change_incident",
    "detectors.add_incidentnote",
    "detectors.add_incidentchoice",
    "advisor_api.add_silence",
    "advisor_api.change_silence",
)
"""Acknowledge, remark on, join and split incidents; have nobody told of something, and end that."""
READ_LOGS = "workloads.view_job_log"
"""Page through whole logs of jobs; what was kept around the evidence is for everybody who may sign in."""
GROUPS = {
    "Operators": (
        "advisor_api.approve_advice",
        "advisor_api.view_policyversion",
        "console.share_view",
        READ_LOGS,
        *INCIDENTS,
    ),
    "Administrators": (
        "advisor_api.approve_advice",
        "console.share_view",
        READ_LOGS,
        *INCIDENTS,
        "detectors.view_incident",
        "detectors.view_incidentnote",
        "detectors.view_incidentchoice",
        "advisor_api.view_silence",
        "workloads.switch_mode",
        "workloads.add_cluster",
        "workloads.change_cluster",
        "workloads.view_cluster",
        "advisor_api.add_policyversion",
        "advisor_api.view_policyversion",
        "advisor_api.activate_policy",
        "advisor_api.view_policyactivation",
        "detectors.add_sitesignature",
        "detectors.change_sitesignature",
        "detectors.view_sitesignature",
        "detectors.add_attributionprovider",
        "detectors.change_attributionprovider",
        "detectors.view_attributionprovider",
        "advisor_api.add_repairsystem",
        "advisor_api.change_repairsystem",
        "advisor_api.view_repairsystem",
        "advisor_api.view_repairrecord",
        "advisor_api.add_notificationroute",
        "advisor_api.change_notificationroute",
        "advisor_api.view_notificationroute",
        "advisor_api.view_delivery",
        "advisor_api.add_apitoken",
        "advisor_api.view_apitoken",
        "advisor_api.add_pause",
        "advisor_api.view_pause",
        "advisor_api.add_exclusion",
        "advisor_api.view_exclusion",
        "auth.add_user",
        "auth.change_user",
        "auth.view_user",
        "auth.view_group",
    ),
}


_known: set[str] = set()
"""Permissions that were there before this process migrated."""


def note_permissions(**_signal: Any) -> None:
    """Before a migration: which permissions are there already."""
    if Permission._meta.db_table in connection.introspection.table_names():
        _known.update(map(_name_of, Permission.objects.values_list("content_type__app_label", "codename")))


def make_groups(**_signal: Any) -> None:
    """After a migration: make the groups that are missing.

    One that exists is left as its administrator shaped it, but for permissions that came with this migration:
    nobody can have decided about those yet.
    """
    for name, permissions in GROUPS.items():
        group, made = Group.objects.get_or_create(name=name)
        wanted = [one for one in permissions if made or (_known and one not in _known)]
        if wanted:
            group.permissions.add(*_stored(wanted))
    _known.update(one for permissions in GROUPS.values() for one in permissions)


def _stored(names: Iterable[str]) -> QuerySet[Permission]:
    wanted = Q()
    for name in names:
        app, _, codename = name.partition(".")
        wanted |= Q(content_type__app_label=app, codename=codename)
    return Permission.objects.filter(wanted)


def _name_of(pair: tuple[str, str]) -> str:
    return ".".join(pair)
