"""Until when, as a person chooses it: one of a few spans, or a moment in UTC."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from advisor_api.ending import LONGEST

OTHER = "until"
SPANS = {
    "30m": (_("30 minutes"), timedelta(minutes=30)),
    "2h": (_("2 hours"), timedelta(hours=2)),
    "8h": (_("8 hours"), timedelta(hours=8)),
    "1d": (_("1 day"), timedelta(days=1)),
    "3d": (_("3 days"), timedelta(days=3)),
    "7d": (_("7 days"), LONGEST),
}
LASTS_MISTAKES = {"required": _("Choose how long."), "invalid_choice": _("Choose one of the spans, or a moment.")}
CHOICES = [*((name, label) for name, (label, _span) in SPANS.items()), (OTHER, _("until the moment below"))]


class UntilForm(forms.Form):
    """How long something holds. Whether the moment is usable is the domain's to say."""

    lasts = forms.ChoiceField(
        choices=CHOICES,
        error_messages=LASTS_MISTAKES,
        widget=forms.Select(attrs={"class": "form-select"}),
    )
    until = forms.DateTimeField(
        required=False,
        input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"],
        error_messages={"invalid": _("Write the moment as 2026-11-30 16:00, in UTC.")},
        widget=forms.TextInput(
            attrs={
                "class": "form-control",
                "placeholder": "2026-11-30 16:00",
                "autocomplete": "off",
                "maxlength": 19,
            }
        ),
    )

    def clean(self) -> dict[str, Any]:
        """A moment where one was announced."""
        cleaned = super().clean() or {}
        if cleaned.get("lasts") == OTHER and not cleaned.get("until") and "until" not in self.errors:
            self.add_error("until", _("Say until when, in UTC."))
        return cleaned

    def ends_at(self, now: datetime) -> datetime:
        """The chosen end. Only for a form that is valid."""
        if self.cleaned_data["lasts"] == OTHER:
            moment: datetime = self.cleaned_data["until"]
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return now + SPANS[self.cleaned_data["lasts"]][1]
