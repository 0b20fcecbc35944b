"""What does it mean to acknowledge, silence, split or join? The sentences before somebody does it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from advisor_api.policies import policy_at
from detectors.choice_models import Deed, IncidentChoice
from detectors.models import Incident, Verdict


@dataclass(frozen=True)
class Meaning:
    """One thing that a person wants to know before the click: under a heading of few words, sentences."""

    heading: str
    sentences: Sequence[str]


def of_answer() -> tuple[str, ...]:
    """What saying that one is at it would do."""
    return (
        _("Everybody sees that you are at it, and since when."),
        _("Nothing else changes: it is watched, told and decided as before."),
    )


def of_unanswer() -> tuple[str, ...]:
    """What taking that back would do."""
    return (_("It stands as open again, as if nobody were at it. The trail keeps that somebody was."),)


def of_note() -> tuple[str, ...]:
    """What a remark would do."""
    return (
        _("The remark stands on this page under your name, and in the trail. It cannot be changed or taken away."),
    )


def of_silence() -> tuple[str, ...]:
    """What a silence would do."""
    return (
        _(
            "Nobody is told of what the silence names until it ends, not of questions that wait for an answer "
            "either."
        ),
        _(
            "Nothing is hidden from these pages, and no decision changes. What was kept back stands with the "
            "messages."
        ),
        _("When it is over, people are told of what goes on."),
    )


def of_merge(source: Incident, target: Incident, now: datetime) -> list[Meaning]:
    """What joining `source` into `target` would do. A few queries."""
    left, into = _standing(source), _standing(target)
    names = {
        "this": _named(source),
        "other": _named(target),
        "attempts": _attempts(len(left) + len(into)),
        "own": len(into),
        "from_here": len(left),
    }
    here, there, joined = _("in this one"), _("in the other one"), _("in the joined one")
    afterwards = (
        _("%(other)s goes on, with %(attempts)s: its own %(own)s, and %(from_here)s from here.") % names,
        _("This one, %(this)s, is over. Its page stays, and leads there.") % names,
    )
    from_now = _(
        "New failures of either cause come to %(other)s. Once that is over, the next such failure opens one "
        "incident for both causes."
    )
    back = _(
        "Open %(other)s, and under “Joined and split” choose “Take it back…”. What came from here then "
        "returns, with what has come by this cause since, and this incident is open again."
    )
    guard = _guard(target, now, ((joined, [*left, *into]),), ((here, left), (there, into)))
    return [
        Meaning(_("Afterwards"), afterwards),
        Meaning(_("From now on"), (from_now % names, _sticks())),
        Meaning(_("Restarts"), guard),
        Meaning(_("To take it back"), (back % names, _too_late())),
    ]


def of_split(incident: Incident, moved: Collection[Verdict], now: datetime) -> list[Meaning]:
    """What making `moved` an incident of their own would do. A few queries."""
    standing, keys = _standing(incident), {one.pk for one in moved}
    going = [one for one in standing if one.pk in keys]
    stay = [one for one in standing if one.pk not in keys]
    here, new = _("in this one"), _("in the new one")
    afterwards = (
        _("A new incident has %(attempts)s: %(labels)s.")
        % {"attempts": _attempts(len(going)), "labels": _labels(going)},
        _("This one, %(this)s, goes on with %(attempts)s: %(labels)s.")
        % {"this": _named(incident), "attempts": _attempts(len(stay)), "labels": _labels(stay)},
    )
    back = _(
        "Open the new incident, and under “Joined and split” choose “Take it back…”. All that it has then "
        "returns here, and it is over."
    )
    others = _("All other failures come here, as before.")
    return [
        Meaning(_("Afterwards"), afterwards),
        Meaning(_("From now on"), (*_follows(going, stay), others, _sticks())),
        Meaning(_("Restarts"), _guard(incident, now, ((new, going), (here, stay)), ((here, standing),))),
        Meaning(_("To take it back"), (back, _too_late())),
    ]


def of_undo(choice: IncidentChoice) -> list[Meaning]:
    """What taking a choice back would do. Reads `choice.source` and `choice.target`."""
    names = {"source": _named(choice.source), "target": _named(choice.target)}
    after: tuple[str, ...]
    if choice.target.ended_at is not None:
        after = (_("Nothing moves: %(target)s is over, and what it has stays in it.") % names,)
    elif choice.deed == Deed.MERGE.value:
        after = (
            _("%(source)s is open again, with what it had, and with what has come by its cause since.") % names,
            _("%(target)s goes on with the rest.") % names,
        )
    else:
        after = (_("All of %(target)s returns to %(source)s, and %(target)s is over.") % names,)
    return [
        Meaning(_("Afterwards"), after),
        Meaning(_("From now on"), (_("New failures are grouped by their cause, as if nobody had chosen."),)),
        Meaning(_("Restarts"), (_stands(),)),
        Meaning(_("To take that back"), (_("Join or split them anew."),)),
    ]


def _follows(going: Collection[Verdict], stay: Collection[Verdict]) -> list[str]:
    """Which later failures come to a new incident: of a cause that left altogether, else of the jobs that left."""
    left, kept = {one.fingerprint for one in going}, {one.fingerprint for one in stay}
    apart = left - kept
    said = []
    if apart and len(left) == 1:
        said.append(_("Every new failure of its cause comes to the new one."))
    elif apart:
        every = ngettext(
            "Every new failure of the cause that has left here comes to the new one.",
            "Every new failure of the %(number)s causes that have left here comes to the new one.",
            len(apart),
        )
        said.append(every % {"number": len(apart)})
    if left & kept:
        said.append(
            _("Where one cause is on both sides, the jobs tell: those that go take their next failures along.")
        )
    return said


def _named(incident: Incident) -> str:
    """`“GPU 2 of n03 fails”`, cut where it is long."""
    said = incident.sentence.rstrip(".")
    return f"“{said if len(said) <= NAMED_LIMIT else said[:NAMED_LIMIT].rstrip() + '…'}”"


def _labels(verdicts: Sequence[Verdict]) -> str:
    """`4711-0, 4712-1 and 3 more`."""
    labels = ", ".join(one.attempt.label for one in verdicts[:LABELS])
    rest = len(verdicts) - LABELS
    return _("%(labels)s and %(rest)s more") % {"labels": labels, "rest": rest} if rest > 0 else labels


def struck_most(standing: Iterable[tuple[datetime, int, bool]], reach: timedelta) -> int:
    """How many jobs at most failed within `reach` of one by a shared cause: moments, jobs, whether it is such."""
    rows = sorted(standing)
    most = begin = end = 0
    counted: dict[int, int] = {}
    for at, _job, shared in rows:
        while end < len(rows) and rows[end][0] <= at + reach:
            counted[rows[end][1]] = counted.get(rows[end][1], 0) + 1
            end += 1
        while rows[begin][0] < at - reach:
            counted[rows[begin][1]] -= 1
            if not counted[rows[begin][1]]:
                del counted[rows[begin][1]]
            begin += 1
        most = max(most, len(counted)) if shared else most
    return most


NAMED_LIMIT = 90  # characters of the sentence of an incident within another one
LABELS = 6  # attempts named in one sentence


def _stands() -> str:
    return _("Advice that was given stays as it is: only the next decisions count anew.")


def _sticks() -> str:
    return _("It stays so until somebody takes it back: no later verdict on these attempts moves them.")


def _too_late() -> str:
    return _("Once that incident is over, what is in it stays there, and only new failures are grouped as before.")


def _guard(
    incident: Incident,
    now: datetime,
    after: Iterable[tuple[str, Collection[Verdict]]],
    before: Iterable[tuple[str, Collection[Verdict]]],
) -> tuple[str, ...]:
    """What the guard against one cause that stops many jobs sees, before and after."""
    policy = policy_at(incident.cluster, "", "", now).policy
    reach, limit = timedelta(seconds=policy.storm_window_seconds), policy.storm_restarts

    def said(sides: Iterable[tuple[str, Collection[Verdict]]]) -> str:
        seen = [
            (place, struck_most([(one.happened_at, one.attempt.job_id, one.shared) for one in rows], reach))
            for place, rows in sides
            if any(one.shared for one in rows)
        ]
        held, free = _("%(number)s %(place)s (held)"), _("%(number)s %(place)s (not held)")
        sides_said = [(held if most >= limit else free) % {"number": most, "place": place} for place, most in seen]
        return _(" and ").join(sides_said)

    was, will = said(before), said(after)
    if not was and not will:
        return (
            _("None is held or let go by this: none of these failures counts as one cause that stops many jobs."),
        )
    counted = _(
        "Restarts are held, and a person is asked, when one shared cause has stopped %(limit)s jobs or more. "
        "Jobs are counted by incident. Now: %(was)s. Afterwards: %(will)s."
    )
    return (counted % {"limit": limit, "was": was or _("none"), "will": will or _("none")}, _stands())


def _standing(incident: Incident) -> list[Verdict]:
    rows = Verdict.objects.filter(incident=incident, newer=None).select_related("attempt__job").order_by("pk")
    shown = ("attempt__index", "attempt__job__number", "attempt__job__epoch")
    return list(rows.only("fingerprint", "shared", "happened_at", "incident_id", *shown)[:10_000])


def _attempts(number: int) -> str:
    return ngettext("one attempt", "%(number)s attempts", number) % {"number": number}
