"""Is what an administrator typed into a form of the advisor usable?"""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from advisor_api.ending import check_end
from advisor_api.excluding import check_node
from advisor_api.models import ApiToken, Exclusion, Pause
from advisor_api.pausing import check_scope
from advisor_api.refusals import Bad
from advisor_api.token_role import TokenRole
from advisor_api.tokens import LIFETIME, LONGEST

if TYPE_CHECKING:
    Form = forms.ModelForm[Any]
else:  # takes no type argument when it runs
    Form = forms.ModelForm


NOT_YOURS = _("You may not do yourself what this role may do; ask somebody who may.")
NEEDED = {
    TokenRole.VIEWER: "advisor_api.add_apitoken",
    TokenRole.OPERATOR: "advisor_api.approve_advice",
    TokenRole.ADMIN: "workloads.switch_mode",
    # No person may do what these do; who decides whether anything is done at all, decides about them, too.
    TokenRole.CONTROLLER: "workloads.switch_mode",
    TokenRole.INGEST: "workloads.switch_mode",
}
"""What a person must be allowed himself to hand out a role; one that is not named is for superusers."""


class _EndingForm(Form):
    """Something that ends; the admin says what time it is."""

    now: datetime

    def clean_until(self) -> datetime:
        """In the future, and not too far."""
        until: datetime = self.cleaned_data["until"]
        _refused(lambda: check_end(until, self.now))
        return until


class ExclusionForm(_EndingForm):
    """An exclusion of a node that the cluster has."""

    class Meta:
        model = Exclusion
        fields = ("cluster", "node", "reason", "until")
        help_texts: ClassVar[dict[str, Promise]] = {
            "node": _(
                "Its name as the scheduler writes it. New attempts are not put on it; what runs there goes on."
            ),
            "reason": _("Goes into the trail with your name, and to whoever repairs."),
            "until": _("In UTC, at most seven days away. It ends by itself then; lift it before if it is mended."),
        }

    def clean(self) -> dict[str, Any]:
        """Both are there before they are compared."""
        found: dict[str, Any] = super().clean() or self.cleaned_data
        if found.get("cluster") and found.get("node"):
            _refused(lambda: check_node(found["cluster"], found["node"]))
        return found


class PauseForm(_EndingForm):
    """A pause of something that has the value it needs."""

    class Meta:
        model = Pause
        fields = ("cluster", "scope", "value", "reason", "until")
        help_texts: ClassVar[dict[str, Promise]] = {
            "value": _(
                "The name of one partition or user, or the number of a job (of an array: its number, or"
                " ARRAY_TASK for one task); empty for the whole cluster."
            ),
            "until": _("In UTC, at most seven days away."),
        }

    def clean(self) -> dict[str, Any]:
        """Scope and value go together."""
        found: dict[str, Any] = super().clean() or self.cleaned_data
        if found.get("scope") and found.get("cluster"):
            _refused(lambda: check_scope(found["cluster"], found["scope"], found.get("value", "")))
        return found


class TokenForm(Form):
    """A token; its secret is made, never typed."""

    asking: Any  # the person at the admin
    days = forms.IntegerField(
        label=_("Days"),
        min_value=1,
        max_value=LONGEST.days,
        initial=LIFETIME.days,
        help_text=format_lazy(
            _("Days until it ends by itself, {most} at most. Somebody is told before."), most=LONGEST.days
        ),
    )

    class Meta:
        model = ApiToken
        fields = ("name", "role", "clusters")
        help_texts: ClassVar[dict[str, Promise]] = {
            "name": _("Who or what uses it, e.g. ctl-alpha: the trail names it."),
            "role": _("The least that is enough."),
            "clusters": _("Where it is good. None chosen: it may read nothing."),
        }
        widgets: ClassVar[dict[str, Any]] = {"clusters": forms.CheckboxSelectMultiple}

    def clean_name(self) -> str:
        """Also a token that is out of sight has its name for itself."""
        name: str = self.cleaned_data["name"]
        if ApiToken._base_manager.filter(name=name).exists():
            raise ValidationError(_("There is a token of this name already."))
        return name

    def clean_role(self) -> str:
        """Nobody hands out more than he may do himself."""
        role = str(self.cleaned_data["role"])
        if not may_hand_out(self.asking, role):
            raise ValidationError(NOT_YOURS)
        return role


def may_hand_out(person: Any, role: str) -> bool:
    """Whether a person may do what tokens of a role may do."""
    needed = NEEDED.get(TokenRole(role))
    return bool(person.is_superuser or (needed and person.has_perm(needed)))


def _refused(check: Callable[[], None]) -> None:
    try:
        check()
    except Bad as error:
        raise ValidationError(str(error)) from error
