"""Which groups of people are there from the start? An administrator puts people into them."""

from typing import Any

from django.contrib.auth.models import Group, Permission
from django.db.models import Q

INCIDENTS = (
    "detectors.change_incident",
    "detectors.add_incidentnote",
    "detectors.add_incidentchoice",
    "advisor_api.add_silence",
    "advisor_api.change_silence",
)
"""Acknowledge, remark on, join and split incidents; have nobody told of something, and end that."""
GROUPS = {
    "Operators": ("advisor_api.approve_advice", "advisor_api.view_policyversion", "console.share_view", *INCIDENTS),
    "Administrators": (
        "advisor_api.approve_advice",
        "console.share_view",
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
    ),
}


def make_groups(**_signal: Any) -> None:
    """Make the groups that are missing; one that exists is left as its administrator shaped it."""
    for name, permissions in GROUPS.items():
        group, made = Group.objects.get_or_create(name=name)
        if made:
            wanted = Q()
            for permission in permissions:
                app, _, codename = permission.partition(".")
                wanted |= Q(content_type__app_label=app, codename=codename)
            group.permissions.set(Permission.objects.filter(wanted))
