"""What may a person type to act on an incident, or to silence something, and is it usable?"""

import re
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from console.forms import ReasonForm
from console.until import UntilForm
from detectors.choice_models import NOTE_LIMIT
from workloads.stored_text import storable

CHOSEN = re.compile(r"(?:[0-9]{1,18}(?:,[0-9]{1,18}){0,999})?")
TARGET = re.compile(r"([0-9]{1,18}):([0-9]{1,9})")
NOT_SEEN = gettext_lazy("The form does not say what was shown; open the page again.")
_TEXT = {"class": "form-control", "autocomplete": "off"}


class PlainReasonForm(ReasonForm):
    """A reason that the trail can keep as it is."""

    def clean_reason(self) -> str:
        """Plain text."""
        reason: str = self.cleaned_data["reason"]
        if storable(reason, len(reason) + 1) != reason:
            raise forms.ValidationError(_("The reason must be plain text."))
        return reason


class SeenIncidentForm(PlainReasonForm):
    """A reason, and which version of the incident the person saw."""

    version = forms.IntegerField(
        min_value=1, max_value=2**31 - 1, error_messages={"required": NOT_SEEN, "invalid": NOT_SEEN}
    )


class NoteForm(forms.Form):
    """A remark."""

    text = forms.CharField(
        max_length=NOTE_LIMIT,
        error_messages={"required": gettext_lazy("Write something: an empty remark tells nobody anything.")},
        widget=forms.Textarea(attrs={"class": "form-control", "rows": 4, "required": True}),
    )

    def clean_text(self) -> str:
        """Plain text."""
        text: str = self.cleaned_data["text"]
        if storable(text, len(text) + 1) != text:
            raise forms.ValidationError(_("A remark must be plain text."))
        return text


class MergeForm(SeenIncidentForm):
    """Into which incident, as it was seen."""

    target = forms.CharField(
        max_length=40, error_messages={"required": gettext_lazy("Choose the incident that it belongs to.")}
    )

    def clean_target(self) -> tuple[int, int]:
        """Key and version."""
        found = TARGET.fullmatch(self.cleaned_data["target"])
        if found is None:
            raise forms.ValidationError(NOT_SEEN)
        return int(found[1]), int(found[2])


class SplitForm(SeenIncidentForm):
    """Which verdicts go, by key. `fingerprints` are read beside it: all failures with them go, too."""

    chosen = forms.CharField(required=False, max_length=20_000)

    def clean_chosen(self) -> frozenset[int]:
        """The keys, of the boxes and of the hidden field of the confirmation."""
        text = self.cleaned_data["chosen"]
        boxes = self.data.getlist("verdict")[:1000] if hasattr(self.data, "getlist") else []
        together = ",".join(filter(None, [text, *boxes]))
        if not CHOSEN.fullmatch(together):
            raise forms.ValidationError(NOT_SEEN)
        return frozenset(int(part) for part in together.split(",") if part)

    def fingerprints(self) -> list[str]:
        """The fingerprints of which all goes."""
        found = self.data.getlist("fingerprint") if hasattr(self.data, "getlist") else []
        return sorted({one[:64].replace("\0", "") for one in found[:100]} - {""})


NAMED = ("fingerprint", "signature", "node", "partition")


class SilenceForm(UntilForm, PlainReasonForm):
    """What is silenced on which cluster, whose silence it is, why, how long."""

    cluster = forms.CharField(max_length=64, error_messages={"required": gettext_lazy("Choose a cluster.")})
    fingerprint = forms.CharField(
        label=gettext_lazy("Fingerprint"), required=False, max_length=64, widget=forms.TextInput(attrs=_TEXT)
    )
    signature = forms.CharField(
        label=gettext_lazy("Signature"), required=False, max_length=128, widget=forms.TextInput(attrs=_TEXT)
    )
    node = forms.CharField(
        label=gettext_lazy("Node"), required=False, max_length=255, widget=forms.TextInput(attrs=_TEXT)
    )
    partition = forms.CharField(
        label=gettext_lazy("Partition"), required=False, max_length=128, widget=forms.TextInput(attrs=_TEXT)
    )
    owner = forms.CharField(
        max_length=150,
        error_messages={"required": gettext_lazy("Say whose silence it is: somebody may ask.")},
        widget=forms.TextInput(attrs={**_TEXT, "required": True}),
    )

    field_order = ("cluster", *NAMED, "lasts", "until", "owner", "reason")

    def named(self) -> dict[str, str]:
        """What it names."""
        said: dict[str, Any] = self.cleaned_data
        return {name: said[name] for name in NAMED}

    def names(self) -> list[forms.BoundField]:
        """The fields for what it names."""
        return [self[name] for name in NAMED]
