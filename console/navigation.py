"""Which pages stand in the menu, and which keys lead to them?"""

from dataclasses import dataclass

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True)
class Place:
    """One line of the menu.

    `page` is the name of its address, `key` the letter after `g` that leads there, and `within` are further names
    of addresses that belong to it.
    """

    page: str
    label: Promise
    key: str
    within: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """A line of the menu as it is shown."""

    label: str
    address: str
    key: str
    here: bool


OF_INCIDENTS = (
    *("incident", "incident-answer", "incident-unanswer", "incident-note", "incident-join", "incident-split"),
    *("incident-undo", "silences", "silence-new", "silence-end"),
)
PLACES = (
    Place("overview", _("Overview"), "o"),
    Place("jobs", _("Jobs"), "j", ("job", "newest-job", "log-copy", "job-log", "job-logs")),
    Place("incidents", _("Incidents"), "i", OF_INCIDENTS),
    Place("approvals", _("Approvals"), "a", ("approval", "approvals-together")),
    Place("nodes", _("Nodes"), "n", ("node", "node-exclude", "node-lift", "exclusion-undo")),
    Place(
        "clusters", _("Clusters"), "c", ("cluster", "cluster-mode", "cluster-signals", "cluster-pause", "pause-end")
    ),
    Place("audit", _("Audit"), "u", ("audit-event",)),
    Place("policy", _("Policy"), "p", ("policy-replay", "policy-versions", "policy-compare")),
)
MORE = (
    Place("notifications", _("Notifications"), "m", ("notification",)),
    Place("api", _("Advisor API"), "v"),
)


def entries(places: tuple[Place, ...], here: str) -> list[Entry]:
    """The menu, as seen from the address named `here`."""
    return [
        Entry(str(place.label), reverse(place.page), place.key, here == place.page or here in place.within)
        for place in places
    ]
