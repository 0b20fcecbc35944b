"""How is a stored verdict computed again? From the facts that it holds itself, and from nothing else.

Whatever else is stored may have gone by then: anomalies, log text and other attempts are not looked at.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from detectors.attribution.answers import read_answer
from detectors.attribution.attributing import attribute
from detectors.attribution.facts import AttemptFacts, EarlierAttempt, Facts, NodeFacts, Quote, Symptom, Versions
from detectors.attribution.judgement import Judgement
from detectors.attribution.surroundings import Death, Exposure, Neighbour, Surroundings, Usual
from detectors.attribution.witnesses import Analysed, Edge, Members, Polled, Port, Recorded, Wait, Witnesses
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from schedulers.states import JobState

Stored = Mapping[str, Any]


def judged_again(body: Stored, judged_at: datetime) -> Judgement:
    """The judgement of the inputs in the body of a stored verdict; raises what `read_facts` raises.

    By the same engine and catalogue it is the same to the byte: `body` of the answer is the body given.
    """
    return attribute(read_facts(body["inputs"]), judged_at)


def read_facts(stored: Stored) -> Facts:
    """The facts that `Facts.canonical` wrote; `KeyError`, `TypeError` or `ValueError` when it did not."""
    return Facts(
        attempt=_attempt(stored["attempt"]),
        versions=Versions(**stored["versions"]),
        symptoms=tuple(_symptom(one) for one in stored["symptoms"]),
        ranks=tuple((int(rank), str(host)) for rank, host in stored["ranks"]),
        nodes=tuple(_node(one) for one in stored["nodes"]),
        earlier=tuple(_earlier(one) for one in stored["earlier"]),
        witnesses=_witnesses(stored["witnesses"]),
        health=tuple(_symptom(one) for one in stored["health"]),
        around=_around(stored["around"]),
        answers=tuple(read_answer(one) for one in stored.get("answers", ())),
    )


def _attempt(stored: Stored) -> AttemptFacts:
    stored = {"command_at": None, **stored}
    times = _times(stored, "started_at", "ended_at", "last_step_at", "command_at")
    return AttemptFacts(**{**stored, **times, "state": JobState(stored["state"]), "nodes": tuple(stored["nodes"])})


def _symptom(stored: Stored) -> Symptom:
    happened_at = datetime.fromisoformat(stored["happened_at"])
    read = {
        "kind": AnomalyKind(stored["kind"]),
        "layer": Layer(stored["layer"]),
        "role": Role(stored["role"]),
        "nodes": tuple(stored["nodes"]),
        "ranks": tuple(stored["ranks"]),
        "evidence": tuple(Quote(**{**quote, **_times(quote, "at")}) for quote in stored["evidence"]),
    }
    return Symptom(**{**stored, **read, "happened_at": happened_at})


def _node(stored: Stored) -> NodeFacts:
    return NodeFacts(**{**stored, **_times(stored, "reason_at", "booted_at"), "states": tuple(stored["states"])})


def _earlier(stored: Stored) -> EarlierAttempt:
    read = {
        "state": JobState(stored["state"]),
        "layer": Layer(stored["layer"]),
        "culprits": tuple(stored["culprits"]),
        "nodes": tuple(stored["nodes"]),
    }
    return EarlierAttempt(**{**stored, **_times(stored, "ended_at"), **read})


def _witnesses(stored: Stored) -> Witnesses:
    return Witnesses(
        waits=tuple(Wait(**one) for one in stored["waits"]),
        edges=tuple(Edge(**one) for one in stored["edges"]),
        ports=tuple(Port(**one) for one in stored["ports"]),
        lost_store=tuple((int(rank), str(host)) for rank, host in stored["lost_store"]),
        vetoed=tuple((str(name), int(count)) for name, count in stored["vetoed"]),
        dialects=tuple(map(str, stored["dialects"])),
        recorded=tuple(Recorded(**one) for one in stored.get("recorded", ())),
        members=tuple(Members(one["group"], tuple(one["ranks"])) for one in stored.get("members", ())),
        polled=tuple(Polled(**one) for one in stored.get("polled", ())),
        analysed=tuple(Analysed(**{**one, "ranks": tuple(one["ranks"])}) for one in stored.get("analysed", ())),
        broken_off=int(stored.get("broken_off", 0)),
        unread_dumps=tuple(map(str, stored.get("unread_dumps", ()))),
    )


def _around(stored: Stored) -> Surroundings:
    return Surroundings(
        work=stored["work"],
        neighbours=tuple(_neighbour(one) for one in stored["neighbours"]),
        deaths=tuple(
            Death(**{**one, **_times(one, "ended_at"), "nodes": tuple(one["nodes"])}) for one in stored["deaths"]
        ),
        exposures=tuple(Exposure(**one) for one in stored["exposures"]),
        usual=Usual(**stored["usual"]),
    )


def _neighbour(stored: Stored) -> Neighbour:
    read = {
        "layer": Layer(stored["layer"]),
        "hosts": tuple(stored["hosts"]),
        "common": tuple(stored["common"]),
    }
    return Neighbour(**{**stored, **_times(stored, "happened_at"), **read})


def _times(stored: Stored, *names: str) -> dict[str, datetime | None]:
    return {name: datetime.fromisoformat(stored[name]) if stored[name] else None for name in names}
