"""Which pages stand in the menu, and which keys lead to them?"""

from dataclasses import dataclass

from django.urls import reverse


@dataclass(frozen=True)
class Place:
    """One line of the menu.

    `page` is the name of its address, `key` the letter after `g` that leads there, and `within` are further names
    of addresses that belong to it.
    """

    page: str
    label: str
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
    Place("overview", "Overview", "o"),
    Place("jobs", "Jobs", "j", ("job", "newest-job", "log-copy", "job-log", "job-logs")),
    Place("incidents", "Incidents", "i", OF_INCIDENTS),
    Place("approvals", "Approvals", "a", ("approval", "approvals-together")),
    Place("nodes", "Nodes", "n", ("node", "node-exclude", "node-lift", "exclusion-undo")),
    Place(
        "clusters", "Clusters", "c", ("cluster", "cluster-mode", "cluster-signals", "cluster-pause", "pause-end")
    ),
    Place("audit", "Audit", "u", ("audit-event",)),
    Place("policy", "Policy", "p", ("policy-replay", "policy-versions", "policy-compare")),
)
MORE = (
    Place("notifications", "Notifications", "m", ("notification",)),
    Place("api", "Advisor API", "v"),
)


def entries(places: tuple[Place, ...], here: str) -> list[Entry]:
    """The menu, as seen from the address named `here`."""
    return [
        Entry(place.label, reverse(place.page), place.key, here == place.page or here in place.within)
        for place in places
    ]
