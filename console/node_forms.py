"""What may a person type to leave nodes out, give them back, or pause something, and is it usable?"""

import re
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from console.forms import ReasonForm
from console.until import UntilForm
from workloads.stored_text import storable

SEEN = re.compile(r"(?:[0-9]{1,18}(?:,[0-9]{1,18}){0,199})?")
NOT_SEEN = gettext_lazy("The form does not say what was shown; open the page again.")


class SeenForm(ReasonForm):
    """A reason, and the keys of what held when the page was shown."""

    seen = forms.CharField(required=False, max_length=4000, widget=forms.HiddenInput)

    def clean_seen(self) -> frozenset[int]:
        """The keys. A form without them, or with anything else, is refused."""
        text = self.cleaned_data["seen"]
        if "seen" not in self.data or not SEEN.fullmatch(text):
            raise forms.ValidationError(NOT_SEEN)
        return frozenset(int(part) for part in text.split(",") if part)

    def clean_reason(self) -> str:
        """Plain text: what the trail could not keep as it is would be another reason."""
        reason: str = self.cleaned_data["reason"]
        if storable(reason, len(reason) + 1) != reason:
            raise forms.ValidationError(_("The reason must be plain text."))
        return reason


class ExcludeForm(UntilForm, SeenForm):
    """Leave a node out: why, how long, and with the tick that warnings ask for."""

    understood = forms.BooleanField(required=False)

    field_order = ("reason", "lasts", "until", "understood")


class PauseForm(UntilForm, SeenForm):
    """Pause something: what, why, how long."""

    scope = forms.ChoiceField(
        choices=[
            ("cluster", gettext_lazy("the whole cluster")),
            ("partition", gettext_lazy("a partition")),
            ("user", gettext_lazy("a user")),
            ("job", gettext_lazy("a job")),
        ],
        error_messages={
            "required": gettext_lazy("Choose what is paused."),
            "invalid_choice": gettext_lazy("A pause is of one of these."),
        },
        widget=forms.Select(attrs={"class": "form-select"}),
    )
    value = forms.CharField(
        required=False,
        max_length=128,
        widget=forms.TextInput(attrs={"class": "form-control", "autocomplete": "off"}),
    )

    field_order = ("scope", "value", "lasts", "until", "reason")

    def clean_value(self) -> str:
        """Of the whole cluster there is no value, whatever was typed."""
        value: str = self.cleaned_data["value"]
        return "" if self.cleaned_data.get("scope") == "cluster" else value


def shown(keys: Any) -> str:
    """Keys as the hidden field holds them."""
    return ",".join(str(key) for key in sorted(keys))
