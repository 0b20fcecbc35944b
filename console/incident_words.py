"""What does it mean to acknowledge, silence, split or join? The sentences before somebody does it."""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from advisor_api.policies import policy_at
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


def of_merge(source: Incident, target: Incident, now: datetime) -> list[str]:
    """What joining `source` into `target` would do. A few queries."""
    left, into = _standing(source), _standing(target)
    return [
        f"Its {_attempts(len(left))} will stand in: {target.sentence}",
        "This incident ends, and what would come to it from now on goes there. It stays so when either is over and "
        "fails again, until somebody takes it back.",
        "No later verdict moves any of these attempts out again.",
        *_guard(target, now, (("there", [*left, *into]),), (("here", left), ("there", into))),
    ]


def of_split(incident: Incident, moved: Collection[Verdict], now: datetime) -> list[str]:
    """What making `moved` an incident of their own would do. A few queries."""
    going = {one.pk for one in moved}
    standing = _standing(incident)
    stay = [one for one in standing if one.pk not in going]
    kept = {one.fingerprint for one in stay}
    apart = {one.fingerprint for one in moved} - kept
    follows = "later failures of the same jobs with the same cause"
    if apart:
        follows = f"every later failure with {'this cause' if len(apart) == 1 else 'these causes'}, and {follows}"
    return [
        f"{_attempts(len(moved)).capitalize()} will be an incident apart; "
        f"{_attempts(len(stay))} {'stays' if len(stay) == 1 else 'stay'} here.",
        f"There go, from now on, {follows}.",
        "No later verdict moves any of these attempts to the other side, until somebody takes it back.",
        *_guard(
            incident,
            now,
            (("there", [one for one in standing if one.pk in going]), ("here", stay)),
            (("here", standing),),
        ),
    ]


def of_undo(open_still: bool, deed: str) -> list[str]:
    """What taking a choice back would do."""
    back = "What was joined is two incidents again" if deed == "merge" else "What was split is one incident again"
    first = f"{back}, with what has come since." if open_still else "What is over stays where it stands."
    return [first, "Later failures are grouped as if nobody had chosen.", _STANDS]


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


_STANDS = "Advice that was given and what was decided stays as it is: only the next decisions see the new grouping."


def _guard(
    incident: Incident,
    now: datetime,
    after: Iterable[tuple[str, Collection[Verdict]]],
    before: Iterable[tuple[str, Collection[Verdict]]],
) -> list[str]:
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
        return ["No decision changes: the guard against one cause that stops many jobs sees none of them.", _STANDS]
    return [
        f"The guard holds restarts and asks a person where one shared cause stopped {limit} jobs or more. "
        f"It counts by incident: now {was or 'nothing'}; afterwards {will or 'nothing'}.",
        _STANDS,
    ]


def _standing(incident: Incident) -> list[Verdict]:
    rows = Verdict.objects.filter(incident=incident, newer=None).select_related("attempt")
    return list(rows.only("fingerprint", "shared", "happened_at", "attempt__job_id", "incident_id")[:10_000])


def _attempts(number: int) -> str:
    return "one attempt" if number == 1 else f"{number} attempts"
