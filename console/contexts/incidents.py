"""What stands on the list of incidents, on the page of one, and on the list of silences?"""

from uuid import UUID

from django.http import Http404, QueryDict
from django.utils.translation import gettext as _

from advisor_api.silence_models import Silence
from console.asking import Asked
from console.contexts import Context
from console.incident_list import incident_list
from console.incident_page import choices_of, incident_of, line_of, members_of, places_of, story_of, told_of
from console.incident_wanted import read_incidents_wanted
from console.silence_list import SILENCES, silence_lines
from detectors.models import Incident

MAY_ANSWER = "detectors.change_incident"
MAY_NOTE = "detectors.add_incidentnote"
MAY_REGROUP = "detectors.add_incidentchoice"
MAY_SILENCE = "advisor_api.add_silence"
MAY_END_SILENCE = "advisor_api.change_silence"


def incident_table(asked: Asked) -> Context:
    """One page of incidents."""
    wanted = read_incidents_wanted(QueryDict(asked.query))
    page = incident_list(wanted, asked.now)
    return {
        "page": page,
        "wanted": wanted,
        "earlier": wanted.address(page=wanted.page - 1) if wanted.page > 1 else None,
        "later": wanted.address(page=wanted.page + 1) if page.more else None,
    }


def incident_summary(asked: Asked) -> Context:
    """How it stands, since when, whom it concerns, and what may be done."""
    incident = _incident(asked)
    may = {
        "answer": MAY_ANSWER in asked.may,
        "note": MAY_NOTE in asked.may,
        "regroup": MAY_REGROUP in asked.may,
        "silence": MAY_SILENCE in asked.may,
    }
    return {"line": line_of(incident, asked.now), "may": may, "absorbed": list(incident.absorbed.all()[:20])}


def incident_members(asked: Asked) -> Context:
    """Its attempts with verdict and advice."""
    incident, page = _incident(asked), QueryDict(asked.query).get("page", "1")
    number = int(page) if page.isascii() and page.isdigit() and 0 < len(page) < 6 else 1
    return {"incident": incident, "members": members_of(incident, max(1, number))}


def incident_places(asked: Asked) -> Context:
    """Its nodes with what is known of each."""
    incident = _incident(asked)
    return {"incident": incident, "places": places_of(incident, asked.now), "count": incident.nodes.count()}


def incident_notes(asked: Asked) -> Context:
    """What people said, the oldest first."""
    incident = _incident(asked)
    return {"incident": incident, "notes": list(incident.notes.order_by("pk")[:200]), "may": MAY_NOTE in asked.may}


def incident_choices(asked: Asked) -> Context:
    """What people did to the grouping."""
    incident = _incident(asked)
    return {"incident": incident, "choices": choices_of(incident), "may": MAY_REGROUP in asked.may}


def incident_story(asked: Asked) -> Context:
    """What happened, and what was done."""
    incident = _incident(asked)
    return {"incident": incident, "events": story_of(incident)}


def incident_told(asked: Asked) -> Context:
    """Who was told, and what a silence kept back."""
    incident = _incident(asked)
    of_cluster = Silence.objects.filter(cluster_id=incident.cluster_id, until__gte=incident.first_seen_at)
    return {"rows": told_of(incident, list(of_cluster.order_by("-id")[:5]))}


def silence_table(asked: Asked) -> Context:
    """Silences that hold, then those that are over."""
    lines = silence_lines(asked.now)
    return {"lines": lines, "may": MAY_END_SILENCE in asked.may, "most": SILENCES}


def _incident(asked: Asked) -> Incident:
    """The incident that the query names."""
    named = QueryDict(asked.query).get("incident", "")
    try:
        found = incident_of(UUID(named))
    except ValueError:
        found = None
    if found is None:
        raise Http404(_("There is no such incident."))
    return found
