"""Which incidents does the address of the list ask for?"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from console.incident_state import ShownIncidents
from detectors.catalogue.layer import Layer

LIMIT = 128
PAGES_AT_MOST = 10_000


@dataclass(frozen=True)
class IncidentsWanted:
    """The filters. Whatever is not understood is left out, and `mistake` says so."""

    cluster: str = ""
    layer: str = ""
    state: str = ShownIncidents.OPEN.value
    node: str = ""
    signature: str = ""
    q: str = ""
    page: int = 1
    mistake: str = ""

    def address(self, **changes: object) -> str:
        """The query part of an address that asks for this with `changes`; other filters begin at page 1."""
        changed = replace(self, mistake="", **{"page": 1, **changes})  # type: ignore[arg-type]
        pairs = {one.name: getattr(changed, one.name) for one in fields(changed) if one.name != "mistake"}
        kept = {name: value for name, value in pairs.items() if value not in {"", 1}}
        if kept.get("state") == ShownIncidents.OPEN.value:
            del kept["state"]
        return f"?{urlencode(kept)}" if kept else ""

    @property
    def narrow(self) -> bool:
        """Whether it asks for less than all open ones."""
        return bool(self.address(state=ShownIncidents.OPEN.value))


def read_incidents_wanted(query: Mapping[str, str]) -> IncidentsWanted:
    """What a query string asks for, bounded."""
    mistakes = []
    words = {name: _word(query, name) for name in ("cluster", "layer", "state", "node", "signature", "q")}
    if words["state"] not in {"", *ShownIncidents}:
        names = {"names": ", ".join(ShownIncidents)}
        mistakes.append(_("There is no state of that name; known are %(names)s.") % names)
        words["state"] = ""
    if words["layer"] not in {"", *Layer}:
        mistakes.append(_("There is no layer of that name; all are shown."))
        words["layer"] = ""
    words["state"] = words["state"] or ShownIncidents.OPEN.value
    page = query.get("page", "") or "1"
    whole = page.isascii() and page.isdigit() and len(page) < 9 and 0 < int(page) <= PAGES_AT_MOST
    if not whole:
        mistakes.append(_("The page is no number; this is the first one."))
    return IncidentsWanted(page=int(page) if whole else 1, mistake=" ".join(mistakes), **words)


def _word(query: Mapping[str, str], name: str) -> str:
    return query.get(name, "")[:LIMIT].strip().replace("\0", "")
