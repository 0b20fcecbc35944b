"""Why did an attempt fail, where, and what could be done? One pure function from facts to a judgement."""

import re
from dataclasses import replace
from datetime import datetime

from detectors.attribution.blaming import blame
from detectors.attribution.body import write_body
from detectors.attribution.calibration import NAME
from detectors.attribution.candidates import open_case
from detectors.attribution.causes import name_cause
from detectors.attribution.ending import NEVER
from detectors.attribution.enriching import enriched
from detectors.attribution.facts import Facts
from detectors.attribution.following import failed, unexplained
from detectors.attribution.judgement import Implicated, Judgement
from detectors.attribution.naming import Cause, Search, fingerprint_of
from detectors.attribution.ordering import in_causal_order
from detectors.attribution.quoting import Quotes
from detectors.attribution.remedies import suggest
from detectors.attribution.weighing import Weighed, weigh
from detectors.catalogue.layer import Layer

SEARCH = "7"
"""Version of the search; raised when equal facts give another verdict."""
ENGINE = f"{SEARCH}+{NAME}"
"""With the table that verdicts tell their calibration from."""


_COUNT = re.compile(r", \d+ times\Z")  # how often matters to the anomaly, not to the verdict
_WHERE = re.compile(
    r" on (?P<rank>rank )?(?P<names>[^ ,]+(?:, [^ ,]+)*)(?: and \d+ more)?(?= \(a fault injected on purpose\)\Z|\Z)"
)
"""The end of a symptom's sentence that says where it was seen (`catalogue.crash`)."""


def attribute(facts: Facts, now: datetime) -> Judgement:
    """The judgement of one attempt.

    The same facts give the same bytes of the body, in whatever order they come and whenever they are judged:
    `now` bounds `happened_at` alone, as no failure lies in the future.
    """
    ordered = facts.in_order()
    case, demoted = open_case(ordered)
    search = Search(case, in_causal_order(case))
    cause, named = name_cause(search)
    weighed = blame(weigh(case, cause))
    remedy, suggested = suggest(weighed)
    quotes = Quotes(search.order, ordered)
    judgement = Judgement(
        kind=cause.kind,
        layer=weighed.cause.layer,
        signature=cause.signature,
        sentence=sentence_of(weighed),
        fingerprint=fingerprint_of(cause),
        evidence_status=weighed.status,
        confidence=weighed.confidence,
        action=remedy.then,
        implicated=tuple(_with_evidence(one, weighed, quotes) for one in weighed.implicated),
        rules=(*demoted, *named, *weighed.rules, *suggested),
        happened_at=now if cause.happened_at == NEVER else min(cause.happened_at, now),
        input_hash=ordered.input_hash(),
        body={},
        headline=headline_of(cause, ordered),
        died_on=died_on(weighed, cause),
        blamed=weighed.excludable,
        shared=weighed.shared,
    )
    whole = replace(judgement, body=write_body(judgement, weighed, search, remedy, quotes))
    return enriched(whole, ordered.answers, ordered)


def headline_of(cause: Cause, facts: Facts) -> str:
    """The cause without the hosts and ranks on which this attempt saw it: the next one of its kind has others."""
    sentence = _COUNT.sub("", cause.sentence)
    own = {*facts.attempt.nodes, *(node for symptom in facts.symptoms for node in symptom.nodes)}
    where = _WHERE.search(sentence)
    if where is None or not (where["rank"] or own.issuperset(where["names"].split(", "))):
        return sentence
    return sentence[: where.start()] + sentence[where.end() :]


def sentence_of(weighed: Weighed) -> str:
    """One line for an operator, with the culprits' names: `Uncorrectable ECC error on n03`."""
    sentence = _COUNT.sub("", weighed.cause.sentence)
    culprits = [one.host for one in weighed.implicated if one.role == "culprit"]
    suspects = [one.host for one in weighed.implicated if one.role == "suspect"]
    if weighed.shared is not None:
        return f"{sentence} ({weighed.shared.because})"
    unnamed = [host for host in culprits or suspects[:3] if host not in sentence]
    if not unnamed:
        return sentence
    return f"{sentence} {'on' if culprits else '(suspected:'} {', '.join(unnamed)}{'' if culprits else ')'}"


def died_on(weighed: Weighed, cause: Cause) -> tuple[str, ...]:
    """The nodes that a death without a word may be laid to; `cause` as it was before history was asked."""
    by_something_else = weighed.shared is not None or weighed.cause.layer is Layer.APPLICATION
    if by_something_else or not unexplained(cause) or not failed(weighed.facts):
        return ()
    return cause.named.hosts or weighed.facts.attempt.nodes


def _with_evidence(one: Implicated, weighed: Weighed, quotes: Quotes) -> Implicated:
    proof = next((c for c in weighed.also if one.host in c.named.hosts), weighed.cause.candidate)
    if proof is None or one.role == "victim":
        return one
    return replace(one, evidence=quotes.of(proof.symptom))
