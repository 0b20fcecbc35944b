"""How does an administrator make, replace and take back API tokens? The secret is on one page, once."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from advisor_api.admin_forms import NOT_YOURS, TokenForm, may_hand_out
from advisor_api.insert_only import InsertOnlyAdmin, Question, ReasonForm, actor_of
from advisor_api.models import ApiToken
from advisor_api.refusals import Refusal
from advisor_api.token_role import TokenRole
from advisor_api.tokens import RETIRED, issue, revoke, rotate

if TYPE_CHECKING:
    Form = ModelForm[Any]
else:  # takes no type argument when it runs
    Form = ModelForm

OVERLAP = timedelta(hours=24)
SOON = timedelta(days=14)  # before its end a token is marked
REPLACE = Question(
    gettext_lazy("Replace this token"),
    gettext_lazy(
        "A new token with the same name, role, clusters and lifetime is made and shown once. The old one works for "
        "24 more hours: put the new one in its place until then."
    ),
    gettext_lazy("Replace it"),
)
REVOKE = Question(
    gettext_lazy("Revoke tokens"),
    gettext_lazy(
        "From now on whoever asks with one of these is refused. It cannot be taken back; a new token can be made."
    ),
    gettext_lazy("Revoke"),
)
# The name of the class would say "Api"; here no column and no migration is concerned.
ApiToken._meta.verbose_name = gettext_lazy("API token")
ApiToken._meta.verbose_name_plural = gettext_lazy("API tokens")


class StandingFilter(admin.SimpleListFilter):
    """Those that work, and those that do not."""

    title = gettext_lazy("standing")
    parameter_name = "standing"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, str]]:
        """The choices."""
        return (("works", _("Works")), ("soon", _("Ends within 14 days")), ("over", _("Works no more")))

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> QuerySet[ApiToken]:
        """The tokens of one standing."""
        now, chosen = timezone.now(), self.value()
        works = queryset.filter(revoked_at=None, expires_at__gt=now)
        if chosen == "works":
            return works
        if chosen == "soon":
            return works.filter(expires_at__lte=now + SOON)
        return queryset.exclude(pk__in=works.values("pk")) if chosen == "over" else queryset


@admin.register(ApiToken)
class ApiTokenAdmin(InsertOnlyAdmin):
    """API tokens: shown once when they are made, replaced and revoked with a reason, kept as history."""

    is_long = False
    form = TokenForm
    fields = ("name", "role", "clusters", "days")
    shown = ("name", "role", "of_clusters", "standing", "created_by", "created_at", "expires_at", "revoked_at")
    list_display = (*shown[:-1], "last_used_at")
    list_filter = (StandingFilter, "role", "clusters")
    search_fields = ("name", "created_by")
    search_help_text = gettext_lazy(
        "Words of its name or of who made it. The token itself is not stored and cannot be sought."
    )
    sortable_by = ("name", "role", "created_by", "created_at", "expires_at", "last_used_at")
    actions = ("rotate_now", "revoke_now")
    row_acts = ("rotate_now", "revoke_now")

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        """The form, which is told who asks."""
        form: Any = super().get_form(request, obj, change=change, **options)
        form.asking = request.user
        return form

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiToken]:
        """With the clusters of each."""
        rows: QuerySet[ApiToken] = super().get_queryset(request).prefetch_related("clusters").defer("digest")
        return rows

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """The form of a new one; all that is known of one that is there."""
        return (*self.shown, "last_used_at") if obj else self.fields

    @admin.display(description=gettext_lazy("clusters"))
    def of_clusters(self, row: ApiToken) -> str:
        """For which it is good."""
        return ", ".join(sorted(cluster.name for cluster in row.clusters.all())) or _("none: it may read nothing")

    @admin.display(description=gettext_lazy("standing"))
    def standing(self, row: ApiToken) -> SafeString:
        """Whether it works."""
        look, word = _standing(row, timezone.now())
        return format_html('<span class="state-{}">{}</span>', look, word)  # stays English: markup

    def trail_of(self, obj: ApiToken) -> dict[str, str]:
        """Tokens of the same clusters."""
        names = [cluster.name for cluster in obj.clusters.all()]
        return {"type": "token", "cluster": names[0] if len(names) == 1 else "(site)"}

    def still_allows(self, row: ApiToken, act: str) -> bool:
        """A token that works no more is neither replaced nor revoked; one that was replaced only revoked."""
        works = row.revoked_at is None and row.expires_at > timezone.now()
        return works and not (act == "rotate_now" and RETIRED in row.name)

    def called(self, row: ApiToken) -> str:
        """With what it may do."""
        named = {"name": row.name, "role": _(TokenRole(row.role).label), "clusters": self.of_clusters(row)}
        if row.last_used_at is None:
            return _("%(name)s: %(role)s; %(clusters)s; never used") % named
        named["at"] = f"{row.last_used_at:%Y-%m-%d %H:%M}"
        return _("%(name)s: %(role)s; %(clusters)s; last used %(at)s UTC") % named

    def save_model(self, request: HttpRequest, obj: ApiToken, form: Form, change: bool) -> None:
        """Make the token; `response_add` shows it."""
        asked = form.cleaned_data
        role, lifetime = TokenRole(asked["role"]), timedelta(days=asked["days"])
        actor, clusters = actor_of(request), list(asked["clusters"])
        secret = issue(asked["name"], role, clusters, now=timezone.now(), actor=actor, lifetime=lifetime)
        made = ApiToken.objects.get(name=asked["name"])
        obj.pk, obj.created_at, obj.expires_at = made.pk, made.created_at, made.expires_at
        request.secret_shown_once = secret  # type: ignore[attr-defined]  # for the answer to this very request

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Stored with the token."""

    def response_add(self, request: HttpRequest, obj: ApiToken, post_url_continue: Any = None) -> HttpResponse:
        """The page that shows the secret: no message, which would lie in a cookie until it is read."""
        return self._shown_once(request, obj.name, request.secret_shown_once)  # type: ignore[attr-defined]

    @admin.action(description=gettext_lazy("Replace…"), permissions=["add"])
    def rotate_now(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> HttpResponse | None:
        """A new token under the same name, shown once."""
        rows = list(queryset[:2])
        if len(rows) != 1:
            self.message_user(
                request, _("Choose one token to replace: each new one is shown on its own page."), "ERROR"
            )
            return None
        if not may_hand_out(request.user, rows[0].role):
            self.message_user(request, NOT_YOURS, "ERROR")
            return None
        form = ReasonForm(request.POST) if "confirmed" in request.POST else None
        if form is None or not form.is_valid():
            return self.confirmed(request, queryset, REPLACE, lambda row, reason: "")
        reason, actor, now = form.cleaned_data["reason"], actor_of(request), timezone.now()
        try:
            secret = rotate(rows[0], overlap=OVERLAP, now=now, actor=actor, reason=reason)
        except Refusal as refusal:
            self.message_user(request, str(refusal), "ERROR")
            return None
        return self._shown_once(request, rows[0].name, secret)

    @admin.action(description=gettext_lazy("Revoke…"), permissions=["add"])
    def revoke_now(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> HttpResponse | None:
        """Take the tokens back."""
        actor, now = actor_of(request), timezone.now()

        def act(row: ApiToken, reason: str) -> str:
            revoke(row, now=now, actor=actor, reason=reason)
            return _("The token %(name)s was revoked.") % {"name": repr(row.name)}

        return self.confirmed(request, queryset, REVOKE, act)

    def _shown_once(self, request: HttpRequest, name: str, secret: str) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": _("The token %(name)s") % {"name": name},
            "secret": secret,
        }
        return TemplateResponse(request, "admin/advisor_api/apitoken/shown_once.html", context)


def _standing(row: ApiToken, now: datetime) -> tuple[str, str]:
    if row.revoked_at is not None:
        return "bad", _("revoked")
    if row.expires_at <= now:
        return "bad", _("expired")
    left = (row.expires_at - now).days
    if RETIRED in row.name:
        return "soon", _("replaced, works a while")
    if row.expires_at - now > SOON:
        return "good", _("works")
    return "soon", ngettext("ends in %(count)s day", "ends in %(count)s days", left) % {"count": left}
