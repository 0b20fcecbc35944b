"""Which pages show the trail?"""

from datetime import datetime
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from kombu.exceptions import OperationalError

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.looking_over import asked_for
from audit.models import AuditChain
from audit.tasks import verify_chain
from audit.trail import Actor, record
from console.answering import actor_of
from console.audit_list import SITE, read_trail_wanted, trail_names
from console.audit_page import event_page
from console.chain_lines import is_asked
from console.contexts.nodes import MAY_EXCLUDE as MAY_VERIFY
from console.returning import way_back
from console.views.asked import asked_of, page
from console.wake import push

TRAIL = ("audit_events", "audit_chains")
ANSWER_WITHIN = 60  # seconds that the question may wait for a worker


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
        chained=list(AuditChain.objects.order_by("cluster").values_list("cluster", flat=True)),
    )


@require_safe
@login_required
def event(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """One event: what it says, what it changed, what seals it."""
    found = event_page(uuid)
    if found is None:
        raise Http404(_("There is no such event."))
    return render(request, "console/audit_event.html", {"page": found, "now": timezone.now()})


@require_POST
@login_required
@permission_required(MAY_VERIFY, raise_exception=True)
def verify(request: HttpRequest) -> HttpResponse:
    """Ask a worker whether a chain is as it was written; the answer stands in the trail (404: no such chain)."""
    now, name = timezone.now(), request.POST.get("cluster", "")[:64]
    cluster = "" if name == SITE else name
    if not AuditChain.objects.filter(cluster=cluster).exists():
        raise Http404(_("There is no trail of that cluster."))
    actor = actor_of(request)
    if is_asked(cluster, now):
        messages.warning(request, _("That trail is being verified already; the answer comes below."))
    elif not _ask(cluster, actor, now):
        messages.error(request, _("No worker can be asked now: the broker does not answer. Try again later."))
    else:
        push()
        text = _("A worker verifies the trail of %(name)s; the answer comes below.")
        messages.success(request, text % {"name": cluster or _("the site")})
    return redirect(f"{way_back(request, reverse('audit'))}#title-audit_chains")


def _ask(cluster: str, actor: Actor, now: datetime) -> bool:
    """Whether a worker was asked. The question is in the trail before the answer can be."""
    try:
        with transaction.atomic():
            record([asked_for(cluster, actor)], now)
            verify_chain.apply_async((cluster, actor.name), expires=ANSWER_WITHIN)
    except OperationalError:
        return False
    return True
