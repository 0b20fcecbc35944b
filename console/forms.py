"""What may a person type into the console, and is it usable?"""

from datetime import datetime
from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from advisor_api.client_address import client_address
from console import signing_in
from workloads.mode import Mode

REASON_LIMIT = 500


class SignInForm(AuthenticationForm):
    """User name and password, with the throttle before the password is looked at."""

    error_messages = {
        "invalid_login": gettext_lazy("User name and password do not fit together."),
        "inactive": gettext_lazy("This account may not sign in."),
    }

    def __init__(self, request: HttpRequest, *args: Any, now: datetime, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        self._now = now
        self._address = client_address(request)
        for field in self.fields.values():
            field.widget.attrs["class"] = "form-control"

    def clean(self) -> dict[str, Any]:
        """Count the try, then look at the password; both ends are written into the trail."""
        name = self.cleaned_data.get("username") or ""
        try:
            row = signing_in.begin_try(name, self._address, self._now)
        except signing_in.TooManyTries:
            minutes = int(signing_in.WINDOW.total_seconds() // 60)
            raise forms.ValidationError(
                _("Too many tries. Wait %(minutes)s minutes and try again.") % {"minutes": minutes}
            ) from None
        try:
            cleaned = super().clean()
        except forms.ValidationError:
            user = get_user_model().objects.filter(username=name).first()
            signing_in.password_was_wrong(user, self._address, self._now)
            raise
        user = self.get_user()
        if user is not None:
            signing_in.password_was_right(user, row, self._address, self._now)
        return cleaned


class ReasonForm(forms.Form):
    """Why somebody does something; it goes into the trail."""

    reason = forms.CharField(
        max_length=REASON_LIMIT,
        error_messages={"required": gettext_lazy("Say why: the reason goes into the audit trail.")},
        widget=forms.TextInput(attrs={"class": "form-control", "autocomplete": "off", "required": True}),
    )


class ModeForm(ReasonForm):
    """Which mode a cluster should get, and which version of it the person saw."""

    mode = forms.ChoiceField(
        choices=Mode.choices(),
        error_messages={
            "required": gettext_lazy("Choose a mode."),
            "invalid_choice": gettext_lazy("%(value)s is no mode; known are monitor, approve and action."),
        },
    )
    version_seen = forms.IntegerField(
        min_value=1,
        error_messages={
            "required": gettext_lazy(
                "The form does not say which version of the mode was shown; open the page again."
            ),
            "invalid": gettext_lazy("The version in the form is not a number; open the page again."),
        },
    )


class AnswerForm(ReasonForm):
    """Yes or no, with the reason."""

    decision = forms.ChoiceField(
        choices=[("approve", gettext_lazy("Approve")), ("reject", gettext_lazy("Reject"))],
        error_messages={
            "required": gettext_lazy("Choose approve or reject."),
            "invalid_choice": gettext_lazy("The decision is either approve or reject."),
        },
    )


class DecisionForm(AnswerForm):
    """Yes or no to one advice."""

    generation = forms.IntegerField(
        min_value=1,
        error_messages={
            "required": gettext_lazy(
                "The form does not say which generation of the advice was shown; open the page again."
            ),
            "invalid": gettext_lazy("The generation in the form is not a number; open the page again."),
        },
    )
