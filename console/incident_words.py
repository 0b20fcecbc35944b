"""What does it mean to acknowledge, silence, split or join? The sentences before somebody does it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from advisor_api.policies import policy_at
from detectors.choice_models import Deed, IncidentChoice
from detectors.models import Incident, Verdict

ACKNOWLEDGE = (
    "Everybody sees that you are at it, and since when.",
    "Nothing else changes: it is watched, told and decided as before.",
)
UNACKNOWLEDGE = ("It stands as open again, as if nobody were at it. The trail keeps that somebody was.",)
NOTE = ("The remark stands on this page under your name, and in the trail. It cannot be changed or taken away.",)
SILENCE = (
    "Nobody is told of what the silence names until it ends, not of questions that wait for an answer either.",
    "Nothing is hidden from these pages, and no decision changes. What was kept back stands with the messages.",
    "When it is over, people are told of what goes on.",
)


@dataclass(frozen=True)
class Meaning:
    """One thing that a person wants to know before the click: under a heading of few words, sentences."""

    heading: str
    sentences: Sequence[str]


def of_merge(source: Incident, target: Incident, now: datetime) -> list[Meaning]:
    """What joining `source` into `target` would do. A few queries."""
    left, into = _standing(source), _standing(target)
    this, other = _named(source), _named(target)
    here, there, joined = "in this one", "in the other one", "in the joined one"
    return [
        Meaning(
            "Afterwards",
            (
                f"{other} goes on, with {_attempts(len(left) + len(into))}: its own {len(into)}, and {len(left)} "
                "from here.",
                f"This one, {this}, is over. Its page stays, and leads there.",
            ),
        ),
        Meaning(
            "From now on",
            (
                f"New failures of either cause come to {other}. Once that is over, the next such failure opens one "
                "incident for both causes.",
                _STICKS,
            ),
        ),
        Meaning("Restarts", _guard(target, now, ((joined, [*left, *into]),), ((here, left), (there, into)))),
        Meaning(
            "To take it back",
            (
                f"Open {other}, and under “Joined and split” choose “Take it back…”. What came from here then "
                "returns, with what has come by this cause since, and this incident is open again.",
                _TOO_LATE,
            ),
        ),
    ]


def of_split(incident: Incident, moved: Collection[Verdict], now: datetime) -> list[Meaning]:
    """What making `moved` an incident of their own would do. A few queries."""
    standing, keys = _standing(incident), {one.pk for one in moved}
    going = [one for one in standing if one.pk in keys]
    stay = [one for one in standing if one.pk not in keys]
    here, new = "in this one", "in the new one"
    return [
        Meaning(
            "Afterwards",
            (
                f"A new incident has {_attempts(len(going))}: {_labels(going)}.",
                f"This one, {_named(incident)}, goes on with {_attempts(len(stay))}: {_labels(stay)}.",
            ),
        ),
        Meaning("From now on", (*_follows(going, stay), "All other failures come here, as before.", _STICKS)),
        Meaning("Restarts", _guard(incident, now, ((new, going), (here, stay)), ((here, standing),))),
        Meaning(
            "To take it back",
            (
                "Open the new incident, and under “Joined and split” choose “Take it back…”. All that it has then "
                "returns here, and it is over.",
                _TOO_LATE,
            ),
        ),
    ]


def of_undo(choice: IncidentChoice) -> list[Meaning]:
    """What taking a choice back would do. Reads `choice.source` and `choice.target`."""
    source, target = _named(choice.source), _named(choice.target)
    after: tuple[str, ...]
    if choice.target.ended_at is not None:
        after = (f"Nothing moves: {target} is over, and what it has stays in it.",)
    elif choice.deed == Deed.MERGE.value:
        after = (
            f"{source} is open again, with what it had, and with what has come by its cause since.",
            f"{target} goes on with the rest.",
        )
    else:
        after = (f"All of {target} returns to {source}, and {target} is over.",)
    return [
        Meaning("Afterwards", after),
        Meaning("From now on", ("New failures are grouped by their cause, as if nobody had chosen.",)),
        Meaning("Restarts", (_STANDS,)),
        Meaning("To take that back", ("Join or split them anew.",)),
    ]


def _follows(going: Collection[Verdict], stay: Collection[Verdict]) -> list[str]:
    """Which later failures come to a new incident: of a cause that left altogether, else of the jobs that left."""
    left, kept = {one.fingerprint for one in going}, {one.fingerprint for one in stay}
    apart = left - kept
    said = []
    if apart:
        said.append(
            f"Every new failure of {'its cause' if len(left) == 1 else _causes(apart)} comes to the new one."
        )
    if left & kept:
        said.append(
            "Where one cause is on both sides, the jobs tell: those that go take their next failures along."
        )
    return said


def _causes(apart: Collection[str]) -> str:
    return "the cause that has left here" if len(apart) == 1 else f"the {len(apart)} causes that have left here"


def _named(incident: Incident) -> str:
    """`“GPU 2 of n03 fails”`, cut where it is long."""
    said = incident.sentence.rstrip(".")
    return f"“{said if len(said) <= NAMED_LIMIT else said[:NAMED_LIMIT].rstrip() + '…'}”"


def _labels(verdicts: Sequence[Verdict]) -> str:
    """`4711-0, 4712-1 and 3 more`."""
    labels = [one.attempt.label for one in verdicts[:LABELS]]
    rest = len(verdicts) - len(labels)
    return ", ".join(labels) + (f" and {rest} more" if rest else "")


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
_STANDS = "Advice that was given stays as it is: only the next decisions count anew."
_STICKS = "It stays so until somebody takes it back: no later verdict on these attempts moves them."
_TOO_LATE = "Once that incident is over, what is in it stays there, and only new failures are grouped as before."


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
        return " and ".join(f"{most} {place} ({'held' if most >= limit else 'not held'})" for place, most in seen)

    was, will = said(before), said(after)
    if not was and not will:
        return ("None is held or let go by this: none of these failures counts as one cause that stops many jobs.",)
    return (
        f"Restarts are held, and a person is asked, when one shared cause has stopped {limit} jobs or more. "
        f"Jobs are counted by incident. Now: {was or 'none'}. Afterwards: {will or 'none'}.",
        _STANDS,
    )


def _standing(incident: Incident) -> list[Verdict]:
    rows = Verdict.objects.filter(incident=incident, newer=None).select_related("attempt__job").order_by("pk")
    shown = ("attempt__index", "attempt__job__number", "attempt__job__epoch")
    return list(rows.only("fingerprint", "shared", "happened_at", "incident_id", *shown)[:10_000])


def _attempts(number: int) -> str:
    return "one attempt" if number == 1 else f"{number} attempts"
