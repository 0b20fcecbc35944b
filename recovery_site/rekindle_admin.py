"""What is the same on every page of the admin? Its name, its order, its doors, and that no text can act."""

import unicodedata
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from django.contrib.admin import AdminSite
from django.core.exceptions import SuspiciousOperation
from django.db import transaction
from django.http import HttpRequest, HttpResponseBase
from django.template.response import SimpleTemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from advisor_api.client_address import client_address
from console.signing_in import signed_out, tell
from workloads.visible_text import stand_in

SECTIONS: Sequence[tuple[str, Promise, Sequence[str]]] = (
    (
        "clusters",
        gettext_lazy("Clusters"),
        ("workloads.Cluster", "workloads.Node", "advisor_api.Pause", "advisor_api.Exclusion"),
    ),
    ("policies", gettext_lazy("Policies"), ("advisor_api.PolicyVersion", "advisor_api.PolicyActivation")),
    (
        "signatures-and-providers",
        gettext_lazy("Signatures and providers"),
        ("detectors.SiteSignature", "detectors.AttributionProvider", "detectors.ProviderQuestion"),
    ),
    ("people-and-tokens", gettext_lazy("People and tokens"), ("auth.User", "auth.Group", "advisor_api.ApiToken")),
    (
        "who-is-told",
        gettext_lazy("Who is told"),
        (
            *("advisor_api.NotificationRoute", "advisor_api.Delivery", "advisor_api.Silence"),
            *("advisor_api.RepairSystem", "advisor_api.RepairRecord"),
        ),
    ),
)
"""What people come for, in the order of the front page, each by its place there; all else is evidence."""
EVIDENCE = gettext_lazy("Evidence, to be read")


class RekindleSite(AdminSite):
    """The admin. Every page of it passes through `admin_view`."""

    site_header = "Rekindle"
    site_title = gettext_lazy("Rekindle admin")
    index_title = gettext_lazy("What is set, and what is stored")
    empty_value_display = "–"

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Any:
        """The view, in whose answer acting characters are replaced by what stands in for them."""
        inner = super().admin_view(view, cacheable)

        @wraps(view)
        def shown(request: HttpRequest, *args: Any, **names: Any) -> HttpResponseBase:
            try:
                answer: HttpResponseBase = inner(request, *args, **names)
            except (
                OverflowError,
                RecursionError,
            ) as error:  # a key that no column takes, a text nested without end
                sentence = "a number or a text that no page of the admin sends"  # stays English: for the log
                raise SuspiciousOperation(sentence) from error
            if isinstance(answer, SimpleTemplateResponse) and not answer.is_rendered:
                answer.add_post_render_callback(_calmed)
                return answer
            found: HttpResponseBase = _calmed(answer)
            return found

        return shown

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """By what they are for, not by which room stores them."""
        rooms = super().get_app_list(request, app_label)
        if app_label is not None:
            return rooms
        left = {model["model"]._meta.label: model for room in rooms for model in room["models"]}
        found = []
        for place, title, labels in SECTIONS:
            if models := [left.pop(label) for label in labels if label in left]:
                found.append(_section(place, str(title), models))
        return [*found, _section("evidence", str(EVIDENCE), list(left.values()))] if left else found

    def password_change(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Somebody's own password, and the event, or neither."""
        with transaction.atomic():
            answer = super().password_change(request, extra_context)
            if request.method == "POST" and answer.status_code == 302:
                name = request.user.get_username()
                said = f"{name} changed the own password."  # stays English: stored
                tell(said, name, client_address(request), timezone.now())
        return answer

    def logout(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Out, and into the trail, as in the console."""
        if request.method == "POST" and request.user.is_authenticated:
            signed_out(request.user, client_address(request), timezone.now())
        return super().logout(request, extra_context)


def _section(place: str, title: str, models: list[Any]) -> dict[str, Any]:
    return {
        "name": title,
        "app_label": place,
        "app_url": f"{reverse('admin:index')}#{place}",
        "has_module_perms": True,
        "models": models,
    }


def _calmed(answer: Any) -> Any:
    """The same answer without acting characters, where it is a page."""
    if getattr(answer, "streaming", False) or not answer.get("Content-Type", "").startswith("text/html"):
        return answer
    text = answer.content.decode(answer.charset)
    if not text.isascii() or not text.isprintable():
        strange = {one: stand_in(one) for one in set(text) if _acts(one)}
        if strange:
            answer.content = text.translate(str.maketrans(strange))
    return answer


def _acts(character: str) -> bool:
    return character not in "\t\n\r" and unicodedata.category(character) in {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
