"""Of what does an open form speak, whose is it to send, and how does its page hear that this has changed?

A form is never changed under a person's hands. Its page subscribes to what the form speaks of; where a frame
touches that, or the socket comes (back), it asks `/forms/still` whether all stands as it was seen, and says where
it does not. Without a socket it asks every 15 s. Whatever the page says, the server compares what is sent to it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import gettext as _

from console import form_changes, gate_changes
from console.contexts.incidents import MAY_ANSWER, MAY_END_SILENCE, MAY_NOTE, MAY_REGROUP
from console.contexts.nodes import MAY_EXCLUDE
from console.contexts.site import MAY_HOLD
from console.form_changes import Changed
from console.hostile_text import visible
from console.topics import OVERVIEW, cluster_topic, gates_topic, job_topic
from workloads.models import Job

MAY_SWITCH = "workloads.switch_mode"
MAY_APPROVE = "advisor_api.approve_advice"
MAY_ACTIVATE = "advisor_api.activate_policy"
OF_AT_MOST = 400  # characters: the name of a cluster and of a node
MARK_AT_MOST = 4000  # as many keys as a form takes


@dataclass(frozen=True)
class Kind:
    """One kind of form: the permission of its page (empty: whoever has signed in), and how it is looked at.

    `seen`: whether a person may know of the thing at all; else it is as if it were not there.
    """

    permission: str
    changed: Callable[[str, str, datetime], Changed | None]
    seen: Callable[[str, User], bool] | None = None


KINDS = {
    "mode": Kind(MAY_SWITCH, form_changes.mode),
    "advice": Kind(MAY_APPROVE, form_changes.advice),
    "advices": Kind(MAY_APPROVE, form_changes.advices),
    "gates": Kind(MAY_APPROVE, gate_changes.gates),
    "step": Kind(MAY_HOLD, form_changes.advice),
    "pauses": Kind(MAY_EXCLUDE, form_changes.pauses),
    "pause": Kind(MAY_EXCLUDE, form_changes.one_pause),
    "exclusions": Kind(MAY_EXCLUDE, form_changes.exclusions),
    "answer": Kind(MAY_ANSWER, form_changes.incident),
    "note": Kind(MAY_NOTE, form_changes.remarked),
    "grouping": Kind(MAY_REGROUP, form_changes.incident),
    "choice": Kind(MAY_REGROUP, form_changes.choice),
    "silence": Kind(MAY_END_SILENCE, form_changes.silence),
    "view": Kind("", form_changes.view, form_changes.view_is_seen),
    "policy": Kind(MAY_ACTIVATE, form_changes.policy),
}
"""By the names that addresses use."""
GATED = frozenset({"mode", "pauses", "pause", "gates"})
"""Their changes touch what may be done on a cluster, which is told apart from all that happens there."""


def change_of(kind: Kind, of: str, mark: str, person: User, now: datetime) -> Changed | None:
    """What has changed of it for this person; `None`: nothing."""
    known = kind.seen is None or kind.seen(of, person)
    return kind.changed(of if known else "", mark, now)


def address_of(kind: str, of: object, mark: object) -> str:
    """Where it is asked whether a form still speaks of what there is. Raises `KeyError` for a kind there is not."""
    KINDS[kind]
    return f"{reverse('form-still')}?{urlencode({'kind': kind, 'of': of, 'mark': mark})}"


def topic_of(kind: str, cluster: str, job: Job | None) -> str:
    """The topic whose frames may speak of what a form speaks of. Of a job it needs `job.cluster`."""
    if job is not None:
        return job_topic(job.cluster.name, job.number, job.epoch)
    if not cluster:
        return OVERVIEW
    return gates_topic(cluster) if kind in GATED else cluster_topic(cluster)


def sentence_of(changed: Changed, me: str) -> str:
    """What the page says: what has happened, by whom, when, and what follows. `me`: the name of the person."""
    names = {
        "what": changed.what,
        "by": _by(changed.by, me),
        "at": _(" at %(time)s UTC") % {"time": f"{changed.at:%H:%M:%S}"} if changed.at else "",
        "after": _(", after you opened this page") if changed.since else "",
        "then": changed.then or _("What you send from here would be refused."),
    }
    return visible(_("%(what)s%(by)s%(at)s%(after)s. %(then)s") % names, 1000)


def _by(who: str, me: str) -> str:
    if not who:
        return ""
    return _(" by you, in another window") if who == me else _(" by %(name)s") % {"name": who}
