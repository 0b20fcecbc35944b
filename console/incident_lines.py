"""Which incidents stand on the overview?"""

from typing import Any

from console.asking import Asked
from console.incident_list import incident_lines
from detectors.models import Incident

ON_OVERVIEW = 8


def incidents_now(asked: Asked) -> dict[str, Any]:
    """The newest open incidents of all clusters."""
    opened = Incident.objects.filter(ended_at=None)
    newest = list(opened.select_related("cluster")[:ON_OVERVIEW])
    return {"lines": incident_lines(newest, asked.now), "more": opened.count() - ON_OVERVIEW}
