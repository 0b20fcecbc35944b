"""How do the attempts of a fleet become results that the score card can grade? One for each job and class.

An attempt belongs to the first thing that broke in it, else to what only looked so, else to `fleet.plain`; all
attempts of a job that belong to one class are one result, so that a fault that strikes again is graded as such.
Plain attempts are put together by the day on which they began. No attempt is in two results, so that healthy hours
add up.

A restart leaves out every node that is excluded at the time, by whatever recovery. What no verdict on the attempt
blames was excluded for something else: it is left out of the advice here, and judged where it was blamed.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lab.cases.case import Did
from lab.fleet.ledger import BY_NAME, Attempted, Ledger
from lab.fleet.options import Options
from lab.fleet.published import DAY
from lab.score.said import Advised, Judged, Result, Said, Symptom
from lab.truth import Injected

Place = tuple[int, int]
"""Job number and attempt."""
Bundle = tuple[str, int]
"""A class, and a job number, or the day of plain attempts."""
PLAIN = "fleet.plain"


def results_of(ledger: Ledger, options: Options, said: Said, truth: Iterable[Injected]) -> list[Result]:
    """The results in the order of the classes, then of the jobs. `truth` is what the truth file holds."""
    bundles: dict[Bundle, list[Attempted]] = defaultdict(list)
    for attempt in ledger.attempts:
        bundles[_bundle(attempt, options)].append(attempt)
    order = {name: place for place, name in enumerate(BY_NAME)}
    heard, deeds = _Heard(said), _deeds(truth)
    return [
        _result(name, bundles[name, key], heard, deeds, options)
        for name, key in sorted(bundles, key=lambda bundle: (order[bundle[0]], bundle[1]))
    ]


def _bundle(attempt: Attempted, options: Options) -> Bundle:
    if attempt.kind == PLAIN:
        return PLAIN, math.floor((attempt.started_at - options.start) / DAY)
    return attempt.kind, attempt.job


def _deeds(truth: Iterable[Injected]) -> Mapping[Place, list[Injected]]:
    found: dict[Place, list[Injected]] = defaultdict(list)
    for deed in truth:
        found[deed.job, deed.attempt].append(deed)
    return found


class _Heard:
    """What was said, by attempt; commands by job."""

    def __init__(self, said: Said) -> None:
        self.symptoms: dict[Place, list[Symptom]] = defaultdict(list)
        self.verdicts: dict[Place, list[Judged]] = defaultdict(list)
        self.advice: dict[Place, list[Advised]] = defaultdict(list)
        for symptom in said.symptoms:
            self.symptoms[symptom.job, symptom.attempt].append(symptom)
        for verdict in said.verdicts:
            self.verdicts[verdict.job, verdict.attempt].append(verdict)
        for advised in said.advice:
            self.advice[advised.job, advised.attempt].append(advised)
        self.states = said.states

    def of(self, places: Sequence[Place]) -> Said:
        """Everything about some attempts, but for commands: those of a month follow advice on other attempts."""
        return Said(
            symptoms=tuple(one for place in places for one in self.symptoms.get(place, ())),
            verdicts=tuple(one for place in places for one in self.verdicts.get(place, ())),
            advice=tuple(self._own(one) for place in places for one in self.advice.get(place, ())),
            states={job: self.states[job] for job, _ in places if job in self.states},
        )

    def _own(self, advised: Advised) -> Advised:
        """Without the nodes that were excluded for something else."""
        verdicts = self.verdicts.get((advised.job, advised.attempt), ())
        blamed = {node for verdict in verdicts for node in verdict.excludable}
        nodes = tuple(node for node in advised.nodes if node in blamed)
        plain = advised.did is Did.RESTART_EXCLUDE and not nodes
        return replace(advised, nodes=nodes, did=Did.RESTART if plain else advised.did)


def _result(
    name: str, attempts: Sequence[Attempted], heard: _Heard, deeds: Mapping[Place, list[Injected]], options: Options
) -> Result:
    places = [(attempt.job, attempt.index) for attempt in attempts]
    return Result(
        case=BY_NAME[name].case,
        injected=tuple(deed for place in places for deed in deeds.get(place, ()) if deed.case == name),
        said=heard.of(places),
        healthy_seconds=sum(attempt.healthy_seconds(options.end) for attempt in attempts),
    )


def commands_without_advice(said: Said) -> list[str]:
    """Changing commands that speak of no job that anything was advised on."""
    advised = {str(one.job) for one in said.advice}
    return [command for command in said.commands if not advised & set(command.replace("=", " ").split())]
