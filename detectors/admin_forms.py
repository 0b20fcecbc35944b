"""Is what an administrator typed into the form of a signature usable, and was exactly this looked at before?"""

import hashlib
import json
from typing import TYPE_CHECKING, Any

from django import forms
from django.core import signing
from django.core.exceptions import ValidationError
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from detectors.catalogue import entries, site
from detectors.catalogue.entries import CatalogueError, Signature
from detectors.catalogue.kind import AnomalyKind
from detectors.models import SiteSignature
from detectors.previewing import SLOWEST, UPLOAD_LIMIT, slowest_seconds
from detectors.site_signatures import checked
from workloads.models import Cluster
from workloads.seen_by import seen_or_all

if TYPE_CHECKING:
    Form = forms.ModelForm[SiteSignature]
else:  # takes no type argument when it runs
    Form = forms.ModelForm

SALT = "detectors.site-signature"
SEAL_SECONDS = 3600  # how long a preview allows to save
ACTION_WORDS: dict[str, Promise] = {
    "none": gettext_lazy("nothing: it explains, and others act"),
    "restart": gettext_lazy("restart"),
    "restart_exclude": gettext_lazy("restart without the named hosts"),
    "restart_then_exclude": gettext_lazy("restart; without the named hosts when it comes again"),
    "restart_then_stop": gettext_lazy("restart; stop when it dies the same way"),
    "stop": gettext_lazy("stop: a retry cannot help"),
    "exclude_one_or_stop": gettext_lazy("on one host: restart without it; on all hosts: stop"),
}
_LINE = {"rows": 2, "cols": 100, "spellcheck": "false"}
_LINES = {"rows": 4, "cols": 100, "spellcheck": "false"}


class RawText(forms.CharField):
    """Text in which blanks count. Line ends around it come from pasting and do not."""

    def __init__(self, **options: Any) -> None:
        super().__init__(strip=False, widget=forms.Textarea(attrs=_LINE), **options)

    def to_python(self, value: Any) -> str:
        """Without the line ends around it."""
        return str(super().to_python(value)).strip("\r\n")


class Lines(forms.CharField):
    """A list of lines; empty ones are left out."""

    def __init__(self, **options: Any) -> None:
        super().__init__(strip=False, widget=forms.Textarea(attrs=_LINES), **options)

    def prepare_value(self, value: Any) -> Any:
        """A stored list, one on each line."""
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        """The lines."""
        return [line for line in str(super().to_python(value)).replace("\r\n", "\n").split("\n") if line.strip()]

    def run_validators(self, value: Any) -> None:
        """Each line is text for itself."""
        for line in value:
            super().run_validators(line)


class SiteSignatureForm(Form):
    """A signature as a person writes it. Everything that the catalogue asks for is checked at each step."""

    kind = forms.ChoiceField(
        label=gettext_lazy("Kind"),
        choices=lambda: [(kind, _(AnomalyKind(kind).label)) for kind in site.KINDS],
        help_text=gettext_lazy(
            "What the line is a symptom of. An early warning only announces trouble and restarts nothing."
        ),
    )
    action = forms.ChoiceField(
        label=gettext_lazy("Action"),
        choices=[(action, ACTION_WORDS[action]) for action in site.ACTIONS],
        help_text=gettext_lazy("A suggestion: the policy decides, within its limits."),
    )
    confidence = forms.FloatField(
        label=gettext_lazy("Confidence"),
        min_value=0.01,
        max_value=1.0,
        initial=0.7,
        help_text=gettext_lazy(
            "0 to 1: how sure one line makes us. A host is excluded from 0.8 on, a job stopped from 0.85."
        ),
    )
    pattern = RawText(
        label=gettext_lazy("Pattern"),
        help_text=gettext_lazy(
            "A regular expression of RE2: no look-around, no back-references, repetition up to 1,000. It must hold "
            "a literal of three characters. Named groups catch what the line names: (?P<host>…), (?P<rank>…)."
        ),
    )
    unless = RawText(
        label=gettext_lazy("Unless"),
        required=False,
        help_text=gettext_lazy("A line in which this is found does not have the signature."),
    )
    names = forms.MultipleChoiceField(
        label=gettext_lazy("Names"),
        choices=[(name, name) for name in sorted(entries.NAMES)],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("What the line is about. With host or rank, its speaker is where it happened."),
    )
    example = RawText(
        label=gettext_lazy("Example"), help_text=gettext_lazy("One line that must match, as it stands in a log.")
    )
    must_not = Lines(
        label=gettext_lazy("Counter-examples"),
        required=False,
        help_text=gettext_lazy(
            "Lines that look alike and must not match, one on each line; a cause or candidate needs one."
        ),
    )
    outranks = forms.BooleanField(
        label=gettext_lazy("Stronger than all others on its line"),
        required=False,
        help_text=gettext_lazy(
            "Otherwise a cause that Rekindle knows by itself stays the stronger one on the same line."
        ),
    )
    note = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=500,
        widget=forms.TextInput(attrs={"size": 80}),
        help_text=gettext_lazy("Goes into the trail with your name."),
    )
    upload = forms.FileField(
        label=gettext_lazy("Text to try it on"),
        required=False,
        help_text=format_lazy(
            gettext_lazy("A log of up to {size} MiB for the preview. It is not stored."),
            size=UPLOAD_LIMIT // 1024 // 1024,
        ),
    )

    class Meta:
        model = SiteSignature
        fields = (
            "name",
            "cluster",
            "says",
            "kind",
            "layer",
            "role",
            "action",
            "confidence",
            "names",
            "pattern",
            "unless",
            "example",
            "must_not",
            "outranks",
            "note",
        )
        labels = {"name": gettext_lazy("Id"), "says": gettext_lazy("What it says")}
        help_texts = {
            "name": gettext_lazy("site. and a name in small letters, e.g. site.fan_stuck."),
            "cluster": gettext_lazy("It stays as it is later."),
            "says": gettext_lazy(
                "What an operator reads, without a full stop, e.g. 'A fan of the node stands still'."
            ),
            "role": gettext_lazy("A cause may lead to an action; a victim's message never does."),
        }
        widgets = {"says": forms.TextInput(attrs={"size": 80}), "name": forms.TextInput(attrs={"size": 40})}

    def __init__(self, posted: Any = None, files: Any = None, before: SiteSignature | None = None) -> None:
        """`before`: the version that this one follows; its id and cluster stay."""
        super().__init__(posted, files, instance=before and _copy(before))
        self.before = before
        cluster = self.fields["cluster"]
        if isinstance(cluster, forms.ModelChoiceField):
            cluster.queryset = Cluster.objects.all()  # of this request: that of the class hides nothing
            cluster.empty_label = _("all clusters")
        self.made: Signature | None = None
        self.slowest_seconds = 0.0
        if before is not None:
            self.fields["name"].disabled = self.fields["cluster"].disabled = True
            self.initial["note"] = ""

    def clean_name(self) -> str:
        """Not one that is there."""
        name = str(self.cleaned_data["name"])
        if self.before is None and SiteSignature._base_manager.filter(name=name).exists():
            raise ValidationError(_("There is a signature '%(name)s'; change that one.") % {"name": name})
        return name

    def clean_cluster(self) -> Cluster | None:
        """One that is seen, or all where all are seen."""
        return seen_or_all(self.cleaned_data["cluster"])

    def clean_pattern(self) -> str:
        """Safe to run on every line."""
        # stays English: begins a sentence of the catalogue
        return _safe(self.cleaned_data["pattern"], "The pattern")

    def clean_unless(self) -> str:
        """Safe as well."""
        return _safe(self.cleaned_data["unless"], "This") if self.cleaned_data["unless"] else ""

    def clean_upload(self) -> Any:
        """Not too long."""
        upload = self.cleaned_data["upload"]
        if upload is not None and upload.size > UPLOAD_LIMIT:
            raise ValidationError(
                _("The file has %(size)s bytes; %(limit)s are read.") % {"size": upload.size, "limit": UPLOAD_LIMIT}
            )
        return upload

    def clean(self) -> dict[str, Any]:
        """All of it together is a signature, and no line makes it slow."""
        found: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return found
        content = {name: found[name] for name in self._meta.fields or () if name != "note"}
        try:
            self.made = checked(SiteSignature(**content))
        except CatalogueError as error:
            raise ValidationError(_("Refused. %(why)s") % {"why": error}) from error
        self.slowest_seconds = slowest_seconds(self.made)
        if self.slowest_seconds > SLOWEST:
            raise ValidationError(
                _(
                    "Refused. The pattern needs %(needed)s ms on a hostile line of 16 KB; %(allowed)s ms are "
                    "allowed. Shorten its repetitions."
                )
                % {"needed": f"{self.slowest_seconds * 1000:.0f}", "allowed": f"{SLOWEST * 1000:.0f}"}
            )
        return found

    def seal(self, user: str) -> str:
        """What lets exactly this be saved by this person, once its preview was shown."""
        return signing.dumps([self._digest(), user], salt=SALT)

    def is_sealed(self, seal: str, user: str) -> bool:
        """Whether `seal` is of this content, of this person, and not old."""
        try:
            return bool(signing.loads(seal, salt=SALT, max_age=SEAL_SECONDS) == [self._digest(), user])
        except signing.BadSignature:
            return False

    def _digest(self) -> str:
        content = {name: str(self.cleaned_data[name]) for name in self._meta.fields or () if name != "note"}
        content["cluster"] = str(getattr(self.cleaned_data["cluster"], "pk", ""))
        content["before"] = str(self.before.version if self.before else 0)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode("utf-8", "replace")).hexdigest()


def _safe(pattern: str, beginning: str) -> str:
    try:
        entries.check_pattern(pattern, beginning)
    except CatalogueError as error:
        raise ValidationError(_("Refused. %(why)s") % {"why": error}) from error
    return pattern


def _copy(before: SiteSignature) -> SiteSignature:
    """A row that is not stored yet, with the same content."""
    values = {field.attname: getattr(before, field.attname) for field in SiteSignature._meta.concrete_fields}
    return SiteSignature(**{**values, "id": None, "enabled": True})
