"""Which addresses does the console have, each with a row of the database in it?

Read off `console/urls.py` and `PANELS`: a new page stands here by itself. Only where an argument of its address
comes from must be said, in `_ROWS`. What is no page to look at is named, with the reason, in `LEFT_OUT`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from django.db.models import Model
from django.urls import URLPattern, reverse

from advisor_api.models import Advice, Exclusion, Pause, PolicyVersion
from advisor_api.notification_models import Delivery
from advisor_api.policy.advice_state import AdviceState
from advisor_api.silence_models import Silence
from audit.models import AuditEvent
from console.asking import Scope
from console.log_reading import logs_of
from console.models import SavedView
from console.panels import PANELS
from console.urls import urlpatterns
from detectors.choice_models import IncidentChoice
from detectors.models import Excerpt, Incident, Verdict

LEFT_OUT: Mapping[str, str] = {
    "sign-in": "before anybody has signed in",
    "sign-in-once": "before anybody has signed in",
    "sign-out": "takes only POST",
    "audit-verify": "takes only POST",
    "jobs-export": "a download, as long as the list; measured by itself",
    "nodes-export": "a download, as long as the list",
    "newest-job": "only leads to the job",
    "cluster-signals-report": "asks the sources themselves, for as long as they take",
    "form-still": "an answer for a form that stands open",
    "texts": "a script: the words of the other scripts",
    "panels": "the panels of a page in one answer: each is measured by itself",
}
MADE_OF_PANELS = {
    "panel": (Scope.SITE, Scope.JOBS, Scope.LIST),
    "cluster-panel": (Scope.CLUSTER,),
    "job-panel": (Scope.JOB,),
    "node-panel": (Scope.NODE,),
}

_PARTS = ("summary", "members", "notes", "story", "places", "choices", "told")
OF_AN_INCIDENT = frozenset(f"incident_{part}" for part in _PARTS)


class NoRow(LookupError):
    """Nothing is stored that the address of a page could speak of."""


def addresses() -> Iterator[tuple[str, str]]:
    """Each page's name and address; panels as `panel NAME`. Raises `NoRow`; `KeyError` for an unknown argument."""
    failed = Verdict.objects.select_related("attempt__job__cluster").order_by("pk").first()
    if failed is None:
        raise NoRow("a verdict, from which job and cluster are taken")
    job = failed.attempt.job
    node = job.cluster.nodes.order_by("pk").first()
    if node is None:
        raise NoRow(f"a node of {job.cluster}")
    own: dict[str, Any] = {
        "cluster": job.cluster.name,
        "number": job.number,
        "epoch": job.epoch,
        "node": node.name,
        "index": failed.attempt.index,
        "key": lambda: logs_of(failed.attempt)[0].key,
        "excerpt": lambda: _first(Excerpt, attempt__job=job).pk,
        "pause": lambda: _first(Pause, cluster=job.cluster).pk,
        "exclusion": lambda: _first(Exclusion, cluster=job.cluster).pk,
    }
    for pattern in urlpatterns:
        name = str(pattern.name)
        if name not in LEFT_OUT:
            yield from _of(name, pattern, own)


def _of(name: str, pattern: URLPattern, own: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    wanted = [str(argument) for argument in pattern.pattern.converters]
    if name in MADE_OF_PANELS:
        for panel in PANELS:
            if panel.scope in MADE_OF_PANELS[name]:
                given = {argument: own[argument] for argument in wanted if argument != "name"}
                of = "?" + urlencode({"incident": _open_incident()}) if panel.name in OF_AN_INCIDENT else ""
                yield f"panel {panel.name}", reverse(name, kwargs={"name": panel.name, **given}) + of
        return
    values = {argument: _value(name, argument, own) for argument in wanted}
    query = _QUERIES[name]() if name in _QUERIES else ""
    yield name, reverse(name, kwargs=values) + query


def _value(name: str, argument: str, own: Mapping[str, Any]) -> Any:
    value = own[argument] if argument in own else _ROWS[name.partition("-")[0], argument]
    return value() if callable(value) else value


def _first(model: type[Model], **of: Any) -> Any:
    row = model._default_manager.filter(**of).order_by("pk").first()
    if row is None:
        raise NoRow(f"{model._meta.label} {of}")
    return row


def _open_incident() -> Any:
    return _first(Incident, ended_at=None).uuid


_ROWS: Mapping[tuple[str, str], Callable[[], Any]] = {
    ("view", "view"): lambda: _first(SavedView).pk,
    ("audit", "uuid"): lambda: _first(AuditEvent).uuid,
    ("incident", "uuid"): _open_incident,
    ("incident", "choice"): lambda: _first(IncidentChoice).uuid,
    ("silence", "uuid"): lambda: _first(Silence).uuid,
    ("approval", "advice"): lambda: _first(Advice, state=AdviceState.AWAITING_APPROVAL.value).pk,
    ("step", "advice"): lambda: _first(Advice, state=AdviceState.PENDING.value).pk,
    ("notification", "delivery"): lambda: _first(Delivery).pk,
}
"""By the first part of a page's name and the argument: where the argument comes from."""


def _two_versions() -> str:
    keys = list(PolicyVersion.objects.order_by("pk").values_list("pk", flat=True)[:2])
    if len(keys) < 2:
        raise NoRow("a second version of a policy")
    return f"?a={keys[0]}&b={keys[1]}"


_QUERIES: Mapping[str, Callable[[], str]] = {"policy-compare": _two_versions}
"""Pages that say nothing without a question."""
