"""Which views of the list of jobs are kept, whose are they, and who may see them?

A view is a name for the filters of an address. Its owner sees it; a shared one is seen by everybody. What is shared
is written into the trail, because it changes what others see.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.http import QueryDict
from django.utils.translation import gettext as _

from advisor_api.refusals import Bad, Stale
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.in_sight import hidden_now
from audit.trail import Actor, Entry, Subject, record
from console.hostile_text import visible
from console.job_wanted import read_wanted
from console.models import SavedView
from workloads.seen_by import hidden_from_each

OWN_AT_MOST = 50
SHARED_SHOWN = 100


@dataclass(frozen=True)
class Wish:
    """What a view should be."""

    name: str
    query: str
    shared: bool
    default: bool


def views_for(user: User) -> QuerySet[SavedView]:
    """What a person sees of views, by name, bounded."""
    return views_seen_by(user).order_by("name", "pk")[: OWN_AT_MOST + SHARED_SHOWN]


def views_seen_by(user: User) -> QuerySet[SavedView]:
    """The person's own views, and what others share who see no more than he does: words of a view tell."""
    seen = SavedView.objects.select_related("owner").filter(Q(owner=user) | Q(shared=True))
    if hidden := hidden_now().names:
        owners = hidden_from_each(User.objects.filter(views__shared=True).distinct())
        see_more = [pk for pk, theirs in owners.items() if pk != user.pk and hidden - theirs.names]
        seen = seen.exclude(owner__in=see_more)
    return seen


def default_of(user: User, views: Iterable[SavedView]) -> str:
    """The query of the view that the person's list of jobs opens with; empty: none was chosen."""
    return next((view.query for view in views if view.is_default and view.owner_id == user.pk), "")


def canonical(query: str) -> str:
    """The query as our own pages write it, from its top. Raises `Bad` when a part is not understood."""
    wanted = read_wanted(QueryDict(query.removeprefix("?")))
    if wanted.mistake:
        raise Bad(wanted.mistake)
    return wanted.address()


def keep(owner: User, wish: Wish, now: datetime) -> SavedView:
    """A new view. Raises `Bad` when there are too many, or one of that name."""
    query = canonical(wish.query)
    with _no_second_name(wish.name), transaction.atomic():
        User.objects.select_for_update().only("pk").get(pk=owner.pk)  # two windows of one person
        if SavedView.objects.filter(owner=owner).count() >= OWN_AT_MOST:
            raise Bad(
                _("You have %(count)s views, the most there may be: delete one first.") % {"count": OWN_AT_MOST}
            )
        if wish.default:
            _no_other_default(owner)
        view = SavedView.objects.create(
            owner=owner, name=wish.name, query=query, shared=wish.shared, is_default=wish.default, created_at=now
        )
        _tell(view, owner, "shares", now, told=view.shared)
    return view


def change(view: SavedView, by: User, wish: Wish, revision_seen: int, now: datetime) -> None:
    """Another name, another filter, shared or not. Raises `Bad`, or `Stale` when somebody was first."""
    query = canonical(wish.query)
    with _no_second_name(wish.name), transaction.atomic():
        User.objects.select_for_update().only("pk").get(pk=view.owner_id)
        if wish.default and view.owner_id == by.pk:
            _no_other_default(by)
        default = wish.default if view.owner_id == by.pk else view.is_default
        moved = SavedView.objects.filter(pk=view.pk, revision=revision_seen).update(
            name=wish.name, query=query, shared=wish.shared, is_default=default, revision=revision_seen + 1
        )
        if not moved:
            raise Stale(
                _("Somebody has changed or deleted this view since you opened it; nothing was changed by you.")
            )
        was = view.shared
        view.name, view.query, view.shared = wish.name, query, wish.shared
        # stays English: stored
        what = "shares" if wish.shared and not was else "changed the shared" if wish.shared else "no longer shares"
        _tell(view, by, what, now, told=was or wish.shared)


def forget(view: SavedView, by: User, revision_seen: int, now: datetime) -> None:
    """Delete it. Raises `Stale` when it is not as it was seen."""
    with transaction.atomic():
        if not SavedView.objects.filter(pk=view.pk, revision=revision_seen).delete()[0]:
            raise Stale(
                _("Somebody has changed or deleted this view since you opened it; nothing was changed by you.")
            )
        _tell(view, by, "deleted the shared", now, told=view.shared)  # stays English: stored


def named(views: Iterable[SavedView], query: str) -> SavedView | None:
    """The view that says what the query says."""
    return next((view for view in views if view.query == query), None)


class _no_second_name:  # read as a statement
    """Two views of one person never bear the same name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, IntegrityError):
            raise Bad(_("There is a view named %(name)s already.") % {"name": visible(self._name, 80)}) from None


def _no_other_default(owner: User) -> None:
    SavedView.objects.filter(owner=owner, is_default=True).update(is_default=False)


def _tell(view: SavedView, by: User, what: str, now: datetime, *, told: bool) -> None:
    if not told:
        return
    # stays English: stored
    sentence = f"{by.get_username()} {what} view {view.name} of the list of jobs: {view.query}"
    actor = Actor(ActorKind.PERSON, by.get_username())
    payload = {"view": view.pk, "name": view.name, "query": view.query, "shared": view.shared}
    entry = Entry(EventType.CONFIGURATION, Subject(cluster=""), actor, sentence, action="view", payload=payload)
    record([entry], now)
