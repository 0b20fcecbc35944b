"""How does a person join incidents, split one, or take that back? Choose, read what it means, do it."""

from uuid import UUID

from django.contrib.auth.decorators import login_required, permission_required
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from advisor_api.refusals import Refusal
from advisor_api.regrouping import merge, split
from advisor_api.regrouping_told import Act as Choosing
from advisor_api.regrouping_undo import undo
from console.answering import actor_of, status_of
from console.contexts.incidents import MAY_REGROUP
from console.incident_forms import MergeForm, SeenIncidentForm, SplitForm
from console.incident_list import incident_lines
from console.incident_page import members_of
from console.incident_words import of_merge, of_split, of_undo
from console.node_forms import shown
from console.views.incident_acts import Act, act_page, done, the_incident
from detectors.choice_models import IncidentChoice
from detectors.models import Incident, Verdict

OFFERED = 50  # incidents into which one may be joined, and fingerprints by which one may be split


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required(MAY_REGROUP, raise_exception=True)
def join(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """GET: into which. POST: what it means; POST with `confirmed`: done (400 unusable, 409 it has changed)."""
    incident = the_incident(uuid)
    form = MergeForm(request.POST if request.method == "POST" else None)
    if request.method != "POST":
        return _which(request, incident, form)
    if not form.is_valid():
        return _which(request, incident, form, 400)
    key, version = form.cleaned_data["target"]
    target = Incident.objects.select_related("cluster").filter(pk=key).first()
    if target is None:
        return _which(request, incident, form, 400, _("There is no such incident."))
    try:
        if "confirmed" in request.POST:
            merge((incident.pk, form.cleaned_data["version"]), (key, version), _choosing(request, form))
            return done(request, target, _("They are one incident now."))
    except Refusal as refusal:
        return _which(request, the_incident(uuid), form, status_of(refusal), str(refusal))
    meaning = of_merge(incident, target, timezone.now())
    act = Act(_("Join this incident into another one?"), _("Join them"), care="careful", meaning=meaning)
    return act_page(request, incident, act, form, confirming=True, target=target)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required(MAY_REGROUP, raise_exception=True)
def part(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """GET: which attempts. POST: what it means; POST with `confirmed`: it is done (400 unusable, 409 changed)."""
    incident = the_incident(uuid)
    form = SplitForm(request.POST if request.method == "POST" else None)
    if request.method != "POST":
        return _what(request, incident, form)
    if not form.is_valid():
        return _what(request, incident, form, 400)
    keys, fingerprints = form.cleaned_data["chosen"], form.fingerprints()
    try:
        if "confirmed" in request.POST:
            seen = (incident.pk, form.cleaned_data["version"])
            choice = split(seen, keys, fingerprints, _choosing(request, form))
            return done(request, choice.target, _("This is an incident of its own now."))
    except Refusal as refusal:
        return _what(request, the_incident(uuid), form, status_of(refusal), str(refusal))
    standing = Verdict.objects.filter(incident=incident, newer=None).only("fingerprint", "happened_at")
    moved = [one for one in standing if one.pk in keys or one.fingerprint in fingerprints]
    if not moved or len(moved) == standing.count():
        unclear = _("Choose some of the attempts: one must go, and one must stay.")
        return _what(request, incident, form, 400, unclear)
    meaning = of_split(incident, moved, timezone.now())
    act = Act(_("Split this incident in two?"), _("Split it"), care="careful", meaning=meaning)
    return act_page(request, incident, act, form, confirming=True, chosen=shown(keys), fingerprints=fingerprints)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required(MAY_REGROUP, raise_exception=True)
def take_back(request: HttpRequest, choice: UUID) -> HttpResponse:
    """GET: what it would mean. POST: a split or a merge is taken back (400 unusable, 409 it has changed)."""
    row = IncidentChoice.objects.select_related("source__cluster", "target__cluster").filter(uuid=choice).first()
    if row is None:
        raise Http404(_("There is no such choice."))
    target = row.target
    act = Act(_("Take this back?"), _("Take it back"), care="careful", meaning=of_undo(row))
    form = SeenIncidentForm(request.POST if request.method == "POST" else None)
    if request.method != "POST":
        return act_page(request, target, act, form, choice=row)
    if not form.is_valid():
        return act_page(request, target, act, form, 400, choice=row)
    try:
        undo(row, form.cleaned_data["version"], _choosing(request, form))
    except Refusal as refusal:
        return act_page(request, target, act, form, status_of(refusal), str(refusal), choice=row)
    return done(request, row.source, _("It was taken back."))


def _choosing(request: HttpRequest, form: SeenIncidentForm) -> Choosing:
    return Choosing(actor_of(request), form.cleaned_data["reason"], timezone.now())


def _which(
    request: HttpRequest, incident: Incident, form: MergeForm, status: int = 200, refusal: str = ""
) -> HttpResponse:
    """The open incidents of the same cluster, those that hold the words of `q`."""
    words = request.GET.get("q", "")[:64].replace("\0", "").strip()
    others = Incident.objects.filter(cluster_id=incident.cluster_id, ended_at=None).exclude(pk=incident.pk)
    if words:
        others = others.filter(sentence__icontains=words)
    lines = incident_lines(
        list(others.select_related("cluster").order_by("-last_seen_at")[:OFFERED]), timezone.now()
    )
    act = Act(_("Join the incident into which other one?"), _("See what that means"))
    more = {"lines": lines, "q": words, "offered": OFFERED}
    return act_page(request, incident, act, form, status, refusal, **more)


def _what(
    request: HttpRequest, incident: Incident, form: SplitForm, status: int = 200, refusal: str = ""
) -> HttpResponse:
    """Its attempts, page by page, and its fingerprints when there are several."""
    page = request.GET.get("page", "1")
    number = int(page) if page.isascii() and page.isdigit() and 0 < len(page) < 6 else 1
    standing = Verdict.objects.filter(incident=incident, newer=None).order_by()
    marks = standing.values("fingerprint").annotate(number=Count("pk")).order_by("-number", "fingerprint")[:OFFERED]
    named = {one["fingerprint"]: one["number"] for one in marks if one["fingerprint"]}
    firsts = dict(standing.filter(fingerprint__in=named).values_list("fingerprint", "sentence").order_by("pk"))
    act = Act(_("Which attempts are an incident of their own?"), _("See what that means"))
    more = {
        "members": members_of(incident, max(1, number)),
        "marks": [(mark, firsts.get(mark, ""), many) for mark, many in named.items()] if len(named) > 1 else [],
        "picked": form.cleaned_data.get("chosen", frozenset())
        if form.is_bound and form.is_valid()
        else frozenset(),
    }
    return act_page(request, incident, act, form, status, refusal, **more)
