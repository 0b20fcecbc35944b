"""How does a person leave a node out, give it back, or take that back? What it means in words, a reason, a swap."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from advisor_api.excluding import exclude, lift, restore, take_back
from advisor_api.models import Exclusion
from advisor_api.refusals import Refusal
from console.answering import actor_of, status_of
from console.asking import Asked
from console.contexts.nodes import MAY_EXCLUDE
from console.hostile_text import visible
from console.node_forms import ExcludeForm, SeenForm, shown
from console.node_page import NodeNow, node_now
from console.node_words import Meaning, meaning_of_exclusion, meaning_of_lifting, meaning_of_undoing
from console.returning import way_back
from console.views.asked import asked_of
from console.wake import push

UNREAD = gettext_lazy("Tick that you have read the warning; nothing was changed.")


@dataclass(frozen=True)
class Act:
    """One page: its question, its button, what it means."""

    title: str
    button: str
    meaning: Meaning
    colour: str = "primary"


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required(MAY_EXCLUDE, raise_exception=True)
def exclude_node(request: HttpRequest, cluster: str, node: str) -> HttpResponse:
    """GET: what it would mean. POST: the node is left out (400 unusable, 409 it is kept out by other things)."""
    asked = asked_of(request, cluster, node=node)
    seen = node_now(asked.the_cluster, node, asked.now)
    meaning = meaning_of_exclusion(asked.the_cluster, seen, asked.now)
    title, button = _("Leave %(node)s out?"), _("Leave %(node)s out")
    act = Act(title % {"node": node}, button % {"node": visible(node, 60)}, meaning, "danger")
    form = ExcludeForm(request.POST if request.method == "POST" else None, initial={"lasts": "1d"})
    if request.method != "POST":
        return _page(request, asked, seen, act, form)
    if not form.is_valid():
        return _page(request, asked, seen, act, form, 400)
    if meaning.warnings and not form.cleaned_data["understood"]:
        return _page(request, asked, seen, act, form, 400, str(UNREAD))

    def do() -> Exclusion:
        said = form.cleaned_data
        until = form.ends_at(asked.now)
        actor = actor_of(request)
        return exclude(
            asked.the_cluster,
            node,
            reason=said["reason"],
            until=until,
            actor=actor,
            now=asked.now,
            seen=said["seen"],
        )

    return _done(request, asked, act, form, do, _("%(node)s is left out.") % {"node": visible(node, 255)})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required(MAY_EXCLUDE, raise_exception=True)
def lift_node(request: HttpRequest, cluster: str, node: str) -> HttpResponse:
    """GET: what it would mean. POST: all that keeps the node out ends (400 unusable, 409 something has changed)."""
    asked = asked_of(request, cluster, node=node)
    seen = node_now(asked.the_cluster, node, asked.now)
    title, button = _("Give %(node)s back?"), _("Give %(node)s back")
    act = Act(title % {"node": node}, button % {"node": visible(node, 60)}, meaning_of_lifting(seen))
    form = SeenForm(request.POST if request.method == "POST" else None)
    if request.method != "POST":
        return _page(request, asked, seen, act, form)
    if not form.is_valid():
        return _page(request, asked, seen, act, form, 400)
    if not seen.kept:
        refusal = _("Nothing keeps %(node)s out any more.") % {"node": node}
        return _page(request, asked, seen, act, form, 409, refusal)

    def do() -> Exclusion:
        said, actor = form.cleaned_data, actor_of(request)
        return lift(seen.kept[0], actor, asked.now, reason=said["reason"], seen=said["seen"])

    return _done(request, asked, act, form, do, _("%(node)s may be used again.") % {"node": visible(node, 255)})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required(MAY_EXCLUDE, raise_exception=True)
def undo_exclusion(request: HttpRequest, cluster: str, exclusion: int) -> HttpResponse:
    """GET: what it would mean. POST: an exclusion, or its lifting, is taken back (400 unusable, 409 it is over)."""
    row = Exclusion.objects.filter(cluster__name=cluster, pk=exclusion).select_related("cluster").first()
    if row is None:
        raise Http404(_("There is no such exclusion."))
    asked = asked_of(request, cluster, node=row.node)
    seen = node_now(asked.the_cluster, row.node, asked.now)
    title = _("Take back what was said of %(node)s?") % {"node": row.node}
    act = Act(title, _("Take it back"), meaning_of_undoing(row))
    usual = {"reason": "It was a mistake."}  # stays English: it is stored
    form = SeenForm(request.POST if request.method == "POST" else None, initial=usual)
    if request.method != "POST":
        return _page(request, asked, seen, act, form)
    if not form.is_valid():
        return _page(request, asked, seen, act, form, 400)
    if not _is_last_word(row, seen) or form.cleaned_data["seen"] != {one.pk for one in seen.kept}:
        refusal = _("What was said of %(node)s has changed since, or is too long ago to be taken back.")
        return _page(request, asked, seen, act, form, 409, refusal % {"node": row.node})
    back = restore if row.lifted_at is not None else take_back

    def do() -> Exclusion:
        back(row, reason=form.cleaned_data["reason"], actor=actor_of(request), now=asked.now)
        return row

    return _done(request, asked, act, form, do, _("It was taken back."), undo=False)


def _is_last_word(row: Exclusion, seen: NodeNow) -> bool:
    """Whether nothing was said of the node since; one lifting may have ended several exclusions."""
    last = seen.undo
    if last is None:
        return False
    return row.lifted_at == last.lifted_at if row.lifted_at is not None else row.pk == last.pk


def _done(  # noqa: PLR0917  # the page again, and what is done
    request: HttpRequest,
    asked: Asked,
    act: Act,
    form: SeenForm,
    do: Callable[[], Exclusion],
    said: str,
    *,
    undo: bool = True,
) -> HttpResponse:
    try:
        row = do()
    except Refusal as refusal:
        seen = node_now(asked.the_cluster, asked.node, asked.now)
        return _page(request, asked, seen, act, form, status_of(refusal), str(refusal))
    push()
    back = reverse("exclusion-undo", args=[asked.the_cluster.name, row.pk])
    # stays English: markup
    link = format_html(' <a class="alert-link" href="{}">{}</a>', back, _("Undo…")) if undo else ""
    messages.success(request, format_html("{}{}", said, link))
    return redirect(way_back(request, reverse("node", args=[asked.the_cluster.name, asked.node])))


def _page(  # noqa: PLR0917  # what is shown, and how it came to that
    request: HttpRequest,
    asked: Asked,
    seen: NodeNow,
    act: Act,
    form: SeenForm,
    status: int = 200,
    refusal: str = "",
) -> HttpResponse:
    context: dict[str, Any] = {
        "asked": asked,
        "act": act,
        "form": form,
        "refusal": refusal,
        "seen": seen,
        "seen_keys": shown(row.pk for row in seen.kept),
        "now": asked.now,
    }
    return render(request, "console/node_act.html", context, status=status)
