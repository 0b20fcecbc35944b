"""Is what an administrator says of a person or a group possible, and does it leave somebody who can undo it?"""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.forms import UserChangeForm
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from recovery_site.people import MAY_CHANGE_PEOPLE, groups_to_give, others_remain

if TYPE_CHECKING:
    Change = UserChangeForm[User]
else:  # takes no type argument when it runs
    Change = UserChangeForm

OWN = gettext_lazy("Nobody takes this from himself: have somebody else do it.")
LAST = gettext_lazy(
    "Nobody else could open the admin and change people's rights. Make somebody else an administrator first."
)


class PersonForm(Change):
    """A person. `asking` is who fills it in."""

    asking: User
    groups = forms.ModelMultipleChoiceField(
        Group.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("Groups"),
        help_text=gettext_lazy(
            "In none: reads the console. Operators: also approve, pause, exclude and answer incidents. "
            "Administrators: also switch modes and change clusters, policies, signatures, tokens and people."
        ),
    )

    def __init__(self, *args: Any, **names: Any) -> None:
        super().__init__(*args, **names)
        if "groups" in self.fields:
            self.fields["groups"].queryset = Group.objects.order_by("name")  # type: ignore[attr-defined]

    def clean_groups(self) -> Any:
        """None is given or taken that may more than who asks."""
        wanted, mine = set(self.cleaned_data["groups"]), set(groups_to_give(self.asking))
        held = set(self.instance.groups.all()) if self.instance.pk else set()
        beyond = sorted(group.name for group in wanted ^ held if group.pk not in mine)
        if beyond:
            raise ValidationError(
                _("%(groups)s may do or see more than you may; a superuser can give and take that.")
                % {"groups": ", ".join(beyond)}
            )
        return self.cleaned_data["groups"]

    def clean(self) -> dict[str, Any]:
        """Nobody shuts himself out, and somebody stays who can let others in."""
        found: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors or not self.instance.pk:
            return found
        before = User.objects.get(pk=self.instance.pk)
        for name in ("is_active", "is_staff", "is_superuser"):
            if before.pk == self.asking.pk and getattr(before, name) and not found.get(name, True):
                self.add_error(name, OWN)
        if (
            before.pk == self.asking.pk
            and before.has_perm(MAY_CHANGE_PEOPLE)
            and not self._can_after(found, before)
        ):
            self.add_error("groups", OWN)
        could = before.is_active and before.is_staff and before.has_perm(MAY_CHANGE_PEOPLE)
        if could and not self.errors and not self._can_after(found, before) and not others_remain(before):
            raise ValidationError(LAST)
        return found

    def _can_after(self, found: dict[str, Any], before: User) -> bool:
        if not (found.get("is_active", before.is_active) and found.get("is_staff", before.is_staff)):
            return False
        if found.get("is_superuser", before.is_superuser):
            return True
        app, _dot, codename = MAY_CHANGE_PEOPLE.partition(".")
        one = {"permissions__content_type__app_label": app, "permissions__codename": codename}
        groups = Group.objects.filter(
            pk__in=[group.pk for group in found.get("groups", before.groups.all())], **one
        )
        own = found.get("user_permissions", before.user_permissions.all())
        return groups.exists() or any(p.codename == codename and p.content_type.app_label == app for p in own)
