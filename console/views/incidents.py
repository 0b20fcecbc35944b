"""Which pages speak of incidents?"""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from console.asking import Asked
from console.incident_page import incident_of
from console.incident_state import ShownIncidents
from console.incident_wanted import read_incidents_wanted
from console.views.asked import asked_of, page
from detectors.catalogue.layer import Layer
from workloads.models import Cluster

INCIDENT = (
    "incident_summary",
    "incident_members",
    "incident_notes",
    "incident_story",
    "incident_places",
    "incident_choices",
    "incident_told",
)


@require_safe
@login_required
def incidents(request: HttpRequest) -> HttpResponse:
    """Failures that belong together, filtered by the address."""
    asked, wanted = asked_of(request), read_incidents_wanted(request.GET)
    names = list(Cluster.objects.order_by("name").values_list("name", flat=True))
    more: dict[str, Any] = {"names": names, "wanted": wanted, "layers": list(Layer), "shown": list(ShownIncidents)}
    return page(request, "console/incidents.html", ["incident_table"], asked, **more)


@require_safe
@login_required
def incident(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """Everything about one incident, and what may be done about it."""
    found = incident_of(uuid)
    if found is None:
        raise Http404(_("There is no such incident."))
    asked = asked_about(request, uuid)
    return page(request, "console/incident.html", INCIDENT, asked, incident=found)


def asked_about(request: HttpRequest, uuid: UUID) -> Asked:
    """What is asked for, with the incident in the query of its panels."""
    number = request.GET.get("page", "")[:6]
    named = {"incident": str(uuid), **({"page": number} if number else {})}
    return replace(asked_of(request), query=urlencode(named))
