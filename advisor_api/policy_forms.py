"""Is what an administrator typed of a policy usable?"""

from collections.abc import Sequence
from json import JSONDecodeError, JSONDecoder, JSONEncoder
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.admin.widgets import AdminTextareaWidget
from django.core.exceptions import ValidationError
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from advisor_api.activating import REASON_LIMIT
from advisor_api.models import PolicyVersion
from advisor_api.policy.text import MOST_BYTES, PolicyText, check, read
from advisor_api.policy.values import BadPolicy
from advisor_api.validators import policy_values
from audit.in_sight import FOR_WHO_SEES_ALL, hidden_now

if TYPE_CHECKING:
    Form = forms.ModelForm[Any]
else:  # takes no type argument when it runs
    Form = forms.ModelForm


class OneLineEach(JSONEncoder):
    """JSON that a person can edit: one value on each line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "indent": 2})


class OnceEach(JSONDecoder):
    """JSON in which no name stands twice."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "object_pairs_hook": _once})


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        # stays English: the field says it in its own words
        raise JSONDecodeError("a name stands there twice", "", 0)
    return found


class PolicyForm(Form):
    """A version: for whom, what differs, and why it was made."""

    values = forms.JSONField(
        label=gettext_lazy("Values"),
        encoder=OneLineEach,
        decoder=OnceEach,
        required=False,
        initial=dict,
        validators=[policy_values],
        widget=AdminTextareaWidget(attrs={"rows": 20}),
        help_text=gettext_lazy(
            "Only what differs from the levels below, as {name: number}; each name once. What each limit "
            "means: docs/policy.md."
        ),
    )

    class Meta:
        model = PolicyVersion
        fields = ("cluster", "partition", "user", "values", "note")

    def clean(self) -> dict[str, Any]:
        """Place and values go together."""
        found: dict[str, Any] = super().clean() or self.cleaned_data
        found["values"] = {} if found.get("values") is None and "values" not in self.errors else found.get("values")
        if not self.errors and not found.get("cluster") and hidden_now().keys:
            self.add_error("cluster", FOR_WHO_SEES_ALL)
        if not self.errors:
            cluster = found["cluster"].name if found.get("cluster") else ""
            try:
                check(PolicyText(found["values"], cluster, found["partition"], found["user"], found["note"]))
            except BadPolicy as error:
                raise ValidationError(str(error)) from error
        return found


class ActivationForm(forms.Form):
    """Why a version is to hold, and what held when the person looked."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=REASON_LIMIT,
        error_messages={"required": gettext_lazy("Say why: the reason stands in the trail.")},
        widget=forms.TextInput(attrs={"size": 80, "autocomplete": "off"}),
    )
    number_seen = forms.IntegerField(
        min_value=0,
        widget=forms.HiddenInput,
        error_messages={
            "required": gettext_lazy("The form does not say which policy was active; open the page again."),
            "invalid": gettext_lazy("The number in the form is none; open the page again."),
        },
    )


class ImportForm(forms.Form):
    """A policy as YAML: a file, or the text itself."""

    file = forms.FileField(
        label=gettext_lazy("File"),
        required=False,
        help_text=format_lazy(gettext_lazy("At most {most} bytes."), most=MOST_BYTES),
    )
    text = forms.CharField(
        label=gettext_lazy("Text"),
        required=False,
        max_length=MOST_BYTES,
        strip=False,
        widget=AdminTextareaWidget(attrs={"rows": 20}),
    )

    def clean(self) -> dict[str, Any]:
        """`policy` is what the text says."""
        found: dict[str, Any] = super().clean() or self.cleaned_data
        file = found.get("file")
        if self.errors:
            return found
        if bool(file) is bool(found.get("text")):
            raise ValidationError(_("Choose a file or type the text: one of the two."))
        try:
            found["policy"] = read(file.read(MOST_BYTES + 1) if file else found["text"])
        except BadPolicy as error:
            raise ValidationError(str(error)) from error
        return found
