"""What may a person say of a saved view or of a hold, and is it usable?"""

from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from console.node_forms import SeenForm
from console.saved_views import Wish
from console.until import CHOICES, LASTS_MISTAKES, OTHER, SPANS, UntilForm
from workloads.stored_text import storable

NAME_LIMIT = 80
WITH_ADVICE = "advice"
OPEN_AGAIN = dict.fromkeys(("required", "invalid"), gettext_lazy("Open the page again."))


class ViewForm(forms.Form):
    """Name, filters, for whom, and whether the list of jobs opens with it."""

    name = forms.CharField(
        max_length=NAME_LIMIT,
        error_messages={"required": gettext_lazy("Give the view a name.")},
        widget=forms.TextInput(attrs={"class": "form-control", "autocomplete": "off", "required": True}),
    )
    query = forms.CharField(max_length=1500, required=False, widget=forms.HiddenInput)
    shared = forms.BooleanField(required=False, widget=forms.CheckboxInput(attrs={"class": "form-check-input"}))
    default = forms.BooleanField(required=False, widget=forms.CheckboxInput(attrs={"class": "form-check-input"}))

    def __init__(self, *args: Any, may_share: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not may_share:
            del self.fields["shared"]

    def clean_name(self) -> str:
        """Plain text in one line."""
        name: str = " ".join(self.cleaned_data["name"].split())
        if storable(name, NAME_LIMIT) != name or not name.isprintable():
            raise forms.ValidationError(_("The name must be plain text in one line."))
        return name

    def wish(self) -> Wish:
        """What the person wants. Only for a form that is valid."""
        said = self.cleaned_data
        return Wish(said["name"], said["query"], bool(said.get("shared")), said["default"])


class ChangeForm(ViewForm):
    """The same of a view that there is, as the person saw it."""

    revision = forms.IntegerField(
        min_value=1,
        widget=forms.HiddenInput,
        error_messages=OPEN_AGAIN,
    )
    deed = forms.ChoiceField(
        choices=[("save", gettext_lazy("Save")), ("delete", gettext_lazy("Delete"))],
        error_messages=dict.fromkeys(("required", "invalid_choice"), gettext_lazy("Choose save or delete.")),
    )


class HoldForm(UntilForm, SeenForm):
    """Hold the next step on a job: which advice was seen, why, how long: to the advice's own end at most."""

    generation = forms.IntegerField(
        min_value=1,
        widget=forms.HiddenInput,
        error_messages=OPEN_AGAIN,
    )

    field_order = ("lasts", "until", "reason")

    def __init__(self, *args: Any, advice_ends_at: datetime, now: datetime, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.advice_ends_at = advice_ends_at
        shorter = [name for name, (_, span) in SPANS.items() if now + span < advice_ends_at]
        to_the_end = (
            WITH_ADVICE,
            _("until the advice itself ends, %(clock)s UTC") % {"clock": f"{advice_ends_at:%H:%M:%S}"},
        )
        others = [one for one in CHOICES if one[0] in {*shorter, OTHER}]
        self.fields["lasts"] = forms.ChoiceField(
            choices=[to_the_end, *others],
            initial=WITH_ADVICE,
            error_messages=LASTS_MISTAKES,
            widget=forms.Select(attrs={"class": "form-select"}),
        )

    def ends_at(self, now: datetime) -> datetime:
        """The chosen end. Only for a form that is valid."""
        return self.advice_ends_at if self.cleaned_data["lasts"] == WITH_ADVICE else super().ends_at(now)
