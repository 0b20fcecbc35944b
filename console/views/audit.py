"""Which pages show the trail?"""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from console.audit_list import SITE, read_trail_wanted, trail_names
from console.audit_page import event_page
from console.views.asked import asked_of, page

TRAIL = ("audit_events",)


@require_safe
@login_required
def trail(request: HttpRequest) -> HttpResponse:
    """The trail, searched by the address."""
    asked = asked_of(request)
    wanted = read_trail_wanted(request.GET, asked.now)
    return page(
        request,
        "console/audit.html",
        TRAIL,
        asked,
        wanted=wanted,
        names=trail_names(),
        site=SITE,
        exported=wanted.exported(asked.now),
        types=list(EventType),
        levels=list(Level),
        kinds=list(ActorKind),
    )


@require_safe
@login_required
def event(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """One event: what it says, what it changed, what seals it."""
    found = event_page(uuid)
    if found is None:
        raise Http404("There is no such event.")
    return render(request, "console/audit_event.html", {"page": found, "now": timezone.now()})
