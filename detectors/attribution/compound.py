"""What else is there beside the first cause: further causes, what lines speak against, runs within the attempt?

A further cause is one that the first cannot have brought about, and evidence against an explanation is that the
failure was there before it: an order of events is believed beyond the doubt of clocks only.
"""

import re
from datetime import datetime

from detectors.attribution.candidates import CLOCK_DOUBT, Candidate
from detectors.attribution.facts import Facts
from detectors.attribution.naming import Cause
from detectors.attribution.ordering import certainly_earlier
from detectors.attribution.weighing import TO_STOP, Weighed
from detectors.catalogue.role import Role

_CYCLE = re.compile(r"\b[Cc]ycle:?\s?#?(\d{1,6})\b", re.ASCII)
_LEFT = re.compile(r"\b(\d{1,4})/(\d{1,4}) attempts left; will restart", re.ASCII)
_OF_NVRX = "nvrx."
_OF_ELASTIC = "elastic.restart"


def compound(weighed: Weighed) -> list[str]:
    """The layers of further causes, each once, the surest first; empty where one cause explains everything.

    Further is what proves another host broken, and a root that is as sure as what a stop is based on, names other
    hosts than the cause, and was no later than it by any clock.
    """
    if weighed.shared is not None:
        return []
    others = [*weighed.also, *(one for one in weighed.case.candidates if _stands_alone(one, weighed))]
    surest = sorted(others, key=lambda one: (-one.symptom.confidence, one.symptom.layer.value))
    return list(dict.fromkeys(one.symptom.layer.value for one in surest))


def _stands_alone(one: Candidate, weighed: Weighed) -> bool:
    cause, symptom = weighed.cause, one.symptom
    if cause.candidate is None or one is cause.candidate or symptom is weighed.case.ending or not one.counts:
        return False
    sure = symptom.role is Role.ROOT and symptom.confidence >= TO_STOP
    hosts = set(one.named.hosts)
    elsewhere = bool(hosts) and bool(cause.named.hosts) and not hosts & set(cause.named.hosts)
    earlier = symptom.happened_at <= cause.candidate.symptom.happened_at + CLOCK_DOUBT
    return sure and elsewhere and earlier and symptom.signature != cause.signature


def refuted_by(at: datetime | None, own: str, cause: Cause, rivals: list[Candidate]) -> list[str]:
    """The explanations that a line of the signature `own` speaks against: what comes later is no first cause.

    Only lines of the cause do, and only against a rival that is no stronger and certainly came after them.
    """
    if at is None or cause.candidate is None or own != cause.signature or not own:
        return []
    return [
        f"h{number}"
        for number, rival in enumerate(rivals, 2)
        if rival.tier.number >= cause.tier
        and certainly_earlier(cause.candidate, rival)
        and rival.symptom.happened_at > at + CLOCK_DOUBT
    ]


def cycle_of(facts: Facts) -> int:
    """How often the program was started again within the attempt, at least, as its own launcher tells; 0: never."""
    told = [0]
    for symptom in facts.symptoms:
        lines = [quote.line for quote in symptom.evidence]
        if symptom.signature.startswith(_OF_NVRX):
            told += [int(number) for line in lines for number in _CYCLE.findall(line)]
        elif symptom.signature == _OF_ELASTIC:
            # It is told before the restart: `3/3 attempts left` announces the first one.
            pairs = [found for line in lines if (found := _LEFT.search(line))]
            told += [max(0, int(found[2]) - int(found[1])) + 1 for found in pairs]
    return max(told)
