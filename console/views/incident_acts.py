"""How does a person say that somebody is at an incident, or remark on it? What it means, a reason, a swap."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from advisor_api.incident_acts import acknowledge, add_note, unacknowledge
from advisor_api.refusals import Refusal
from console.answering import actor_of, status_of
from console.contexts.incidents import MAY_ANSWER, MAY_NOTE
from console.incident_forms import NoteForm, SeenIncidentForm
from console.incident_page import incident_of
from console.incident_words import Meaning, of_answer, of_note, of_unanswer
from console.wake import push
from detectors.models import Incident


@dataclass(frozen=True)
class Act:
    """One page: its question, its button, what it means: in sentences, or under headings where it is more."""

    title: str
    button: str
    effects: Sequence[str] = ()
    care: str = ""
    meaning: Sequence[Meaning] = ()


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required(MAY_ANSWER, raise_exception=True)
def answer(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """GET: what it means. POST: somebody is at it (400 unusable, 409 it has changed)."""
    act = Act(_("Say that you are at it?"), _("I am at it"), of_answer())
    return _answered(request, uuid, act, acknowledge, _("You are at it. Everybody sees that."))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required(MAY_ANSWER, raise_exception=True)
def unanswer(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """GET: what it means. POST: nobody is at it any more (400 unusable, 409 it has changed)."""
    act = Act(_("Take back that somebody is at it?"), _("Take it back"), of_unanswer())
    return _answered(request, uuid, act, unacknowledge, _("Nobody is at it any more."))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required(MAY_NOTE, raise_exception=True)
def note(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """GET: the form. POST: the remark stands (400 unusable, 409 others were writing)."""
    incident, act = the_incident(uuid), Act(_("Remark on the incident"), _("Add the remark"), of_note())
    form = NoteForm(request.POST if request.method == "POST" else None)
    if request.method != "POST":
        return act_page(request, incident, act, form)
    if not form.is_valid():
        return act_page(request, incident, act, form, 400)
    try:
        add_note(incident, form.cleaned_data["text"], actor_of(request), timezone.now())
    except Refusal as refusal:
        return act_page(request, incident, act, form, status_of(refusal), str(refusal))
    return done(request, incident, _("Your remark stands."))


def _answered(request: HttpRequest, uuid: UUID, act: Act, does: Callable[..., Incident], said: str) -> HttpResponse:
    incident = the_incident(uuid)
    form = SeenIncidentForm(request.POST if request.method == "POST" else None)
    if request.method != "POST":
        return act_page(request, incident, act, form)
    if not form.is_valid():
        return act_page(request, incident, act, form, 400)
    seen = form.cleaned_data
    try:
        does(incident, seen["version"], seen["reason"], actor_of(request), timezone.now())
    except Refusal as refusal:
        return act_page(request, the_incident(uuid), act, form, status_of(refusal), str(refusal))
    return done(request, incident, said)


def the_incident(uuid: UUID) -> Incident:
    """The incident; 404 when there is none."""
    found = incident_of(uuid)
    if found is None:
        raise Http404(_("There is no such incident."))
    return found


def done(request: HttpRequest, incident: Incident, said: str) -> HttpResponse:
    """Back to the page of the incident, with a sentence."""
    push()
    messages.success(request, said)
    return redirect("incident", incident.uuid)


def act_page(  # noqa: PLR0917  # what is shown, and how it came to that
    request: HttpRequest,
    incident: Incident,
    act: Act,
    form: Form,
    status: int = 200,
    refusal: str = "",
    **more: Any,
) -> HttpResponse:
    """The page of one act."""
    context = {
        "incident": incident,
        "act": act,
        "form": form,
        "refusal": refusal,
        "now": timezone.now(),
        **more,
    }
    return render(request, "console/incident_act.html", context, status=status)
