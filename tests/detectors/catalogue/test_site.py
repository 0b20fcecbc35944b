"""Is a site's own signature held to the catalogue's rules, and does it stay in its place?"""

from typing import Any

import pytest

from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.entries import CatalogueError, Signature
from detectors.catalogue.hits import Match
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.linear import encoded
from detectors.catalogue.matching import forget_except, matcher
from detectors.catalogue.site import PREFIX, extended, hostile_lines, site_signature
from tests.detectors.catalogue.building import Watching, context, records, step_line

FAN = {
    "id": "site.fan_stuck",
    "kind": "crash",
    "layer": "hardware.host",
    "role": "root",
    "action": "restart_exclude",
    "confidence": 0.9,
    "says": "A fan of the node stands still",
    "pattern": r"fanctl\[\d+\]: (?P<host>\S+) fan \d+ stuck",
    "unless": "self-test",
    "names": ["host"],
    "example": "fanctl[12]: gpu-02 fan 3 stuck",
    "must_not": ["fanctl[12]: gpu-02 fan 3 spins at 4200 rpm"],
    "outranks": False,
}
ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered"


def made(**changes: Any) -> Signature:
    return site_signature({**FAN, **changes}, catalogue())


def look(line: str, *added: Signature) -> Match:
    engine = matcher(extended(catalogue(), added))
    raw = encoded(line)
    return engine.match(raw, engine.candidates(raw))


REFUSALS = {
    "an id without the prefix": ({"id": "fan_stuck"}, "does not begin with 'site.'"),
    "an id that is shipped": ({"id": "cuda.ecc"}, "does not begin with 'site.'"),
    "an id with capitals": ({"id": "site.Fan"}, "is no name in small letters"),
    "an id of 65 characters": ({"id": "site." + "f" * 60}, "is no name in small letters"),
    "look-ahead": ({"pattern": "fanctl(?= stuck)"}, "cannot be run in linear time"),
    "look-behind": ({"pattern": "(?<!x)fanctl"}, "cannot be run in linear time"),
    "a back-reference": ({"pattern": r"(fanctl).*\1"}, "cannot be run in linear time"),
    "repetition above 1,000": ({"pattern": "fanctl.{0,1001}stuck$|[a-z]{1001}"}, "cannot be run in linear time"),
    "repetitions that multiply": ({"pattern": "fanctl((a{100}){100}){100}"}, "cannot be run in linear time"),
    "an open bracket": ({"pattern": "fanctl ("}, "cannot be run in linear time"),
    "no pattern": ({"pattern": ""}, "has 0 characters; 1 to 2000 are allowed"),
    "a huge pattern": ({"pattern": "fanctl" + "x" * 2000}, "has 2006 characters; 1 to 2000 are allowed"),
    "a pattern for every line": ({"pattern": "(?:fanctl)?"}, "is found in an empty line"),
    "no literal": ({"pattern": r"\w+ \w+$"}, "no literal of three characters"),
    "look-around in unless": ({"unless": "a(?!b)"}, "cannot be run in linear time"),
    "an example that does not match": ({"example": "fanctl[12]: all well"}, "does not match its own example"),
    "an example that unless takes out": ({"unless": "gpu-02"}, "does not match its own example"),
    "an example of two lines": ({"example": "fanctl[1]: a fan 1 stuck\nb"}, "not one line"),
    "a counter-example that matches": (
        {"must_not": ["fanctl[9]: gpu-01 fan 1 stuck"]},
        "matches its counter-example 'fanctl[9]: gpu-01 fan 1 stuck'",
    ),
    "a cause without a counter-example": ({"must_not": []}, "is a cause and lacks a line that it must not match"),
    "a candidate without one": ({"role": "candidate", "must_not": []}, "is a cause and lacks a line"),
    "21 counter-examples": ({"must_not": ["x"] * 21}, "more than 20 counter-examples"),
    "a NUL": ({"unless": "a\0b"}, "holds a NUL"),
    "a line of healthy jobs": (
        {"pattern": "consumed samples", "example": "consumed samples"},
        "matches a line of healthy jobs ('prog.megatron')",
    ),
    "a pattern that is shipped": (
        {"pattern": next(s.pattern for s in catalogue().signatures if s.id == "cuda.ecc")},
        "does not match its own example",
    ),
    "the same with its example": (
        {
            "pattern": next(s.pattern for s in catalogue().signatures if s.id == "cuda.ecc"),
            "example": next(s.example for s in catalogue().signatures if s.id == "cuda.ecc"),
        },
        "has the pattern of 'cuda.ecc'",
    ),
    "a kind that only ours have": ({"kind": "progress"}, "has the kind 'progress', which a site's cannot have"),
    "an action that needs a code": ({"action": "by_code"}, "has the action 'by_code', which a site's cannot have"),
    "no role": ({"role": "-"}, "has the role '-', which a site's cannot have"),
    "an unknown layer": ({"layer": "cellar"}, "is incomplete or wrong"),
    "an unknown name": ({"names": ["rack"]}, "has the unknown name 'rack'"),
    "no words": ({"says": ""}, "words for the operator"),
    "too many words": ({"says": "x" * 301}, "more than 300 characters for the operator"),
    "a confidence of two": ({"confidence": 2.0}, "confidence above 0 up to 1"),
}


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case)
def test_what_is_refused_says_why(case: str) -> None:
    changes, sentence = REFUSALS[case]
    with pytest.raises(CatalogueError) as refused:
        made(**changes)
    assert sentence in str(refused.value)
    assert len(str(refused.value)) < 400


def test_no_shipped_id_begins_like_a_sites() -> None:
    assert not [one.id for one in (*catalogue().signatures, *catalogue().derived) if one.id.startswith(PREFIX)]


RUINOUS = {"fanctl(x+x+)+y": "fanctlxxxy", "fanctl(a|a)*b": "fanctlaab", "fanctl(.*)*(.*)*(.*)*z": "fanctl z"}


@pytest.mark.parametrize("pattern", RUINOUS)
def test_what_ruins_a_backtracking_engine_is_linear_here(pattern: str) -> None:
    """It returns at all: a backtracking engine would not within a lifetime."""
    one = made(pattern=pattern, example=RUINOUS[pattern], must_not=["fan"])
    for line in hostile_lines(one):
        look(line, one)
    assert look("fanctl" + "xa" * 8000, one).fault is None


def test_nothing_added_is_the_shipped_catalogue() -> None:
    assert extended(catalogue(), []) is catalogue()
    assert matcher(extended(catalogue(), [])) is matcher()


def test_each_content_has_its_own_version() -> None:
    versions = {
        catalogue().version,
        extended(catalogue(), [made()]).version,
        extended(catalogue(), [made(says="Another text")]).version,
        extended(catalogue(), [made(outranks=True)]).version,
        extended(catalogue(), [made(), made(id="site.other", pattern="otherctl|fanctl.*stuck")]).version,
    }
    assert len(versions) == 5
    one, two = made(), made(id="site.other", pattern="otherctl|fanctl.*stuck")
    assert extended(catalogue(), [one, two]).version == extended(catalogue(), [two, one]).version
    assert extended(catalogue(), [made()], [two]).version == extended(catalogue(), [made()]).version


def test_a_matcher_is_compiled_once_and_dropped_when_nobody_needs_it() -> None:
    known = extended(catalogue(), [made(says="Dropped")])
    first = matcher(known)
    assert matcher(extended(catalogue(), [made(says="Dropped")])) is first
    forget_except({known.version})
    assert matcher(known) is first
    forget_except(set())
    assert matcher(known) is not first
    assert matcher() is matcher()


def test_the_line_is_found_and_its_look_alikes_are_not() -> None:
    fault = look(FAN["example"], made()).fault
    assert fault is not None and fault.signature.id == "site.fan_stuck" and fault.words == {"host": "gpu-02"}
    assert look("fanctl[12]: gpu-02 fan 3 stuck (self-test)", made()).fault is None
    assert look(FAN["example"]).fault is None


BOTH = f"fanctl[12]: gpu-02 fan 3 stuck; {ECC}"
STRENGTH = {
    "a root of ours stays the stronger one": ({"confidence": 1.0}, "cuda.ecc"),
    "unless the site's says so": ({"outranks": True}, "site.fan_stuck"),
    "a victim's message that says so hides ours": ({"outranks": True, "role": "secondary"}, "site.fan_stuck"),
    "a candidate is below": ({"role": "candidate"}, "cuda.ecc"),
}


@pytest.mark.parametrize("case", STRENGTH, ids=lambda case: case)
def test_who_is_the_stronger_on_one_line(case: str) -> None:
    changes, winner = STRENGTH[case]
    fault = look(BOTH, made(**changes)).fault
    assert fault is not None and fault.signature.id == winner


def test_a_root_of_the_site_comes_before_a_candidate_of_ours() -> None:
    line = "ValueError: fanctl[12]: gpu-02 fan 3 stuck"
    fault = look(line, made()).fault
    assert fault is not None and fault.signature.id == "site.fan_stuck"


def test_an_early_warning_is_one() -> None:
    assert made(kind="early_warning").anomaly_kind is AnomalyKind.EARLY_WARNING


def test_a_whole_turn_finds_it_on_its_host() -> None:
    watching = Watching(context(known=extended(catalogue(), [made()])))
    watching.see(records([step_line(1), FAN["example"]]))
    found = watching.found("site.fan_stuck")
    assert found.nodes == ("gpu-02",) and found.sentence == "A fan of the node stands still on gpu-02."


def test_what_it_found_survives_its_retirement() -> None:
    """A hang of a signature that is no longer matched is still refuted by later steps."""
    hang = made(kind="hang", role="candidate")
    watching = Watching(context(known=extended(catalogue(), [hang])))
    watching.see(records([step_line(n) for n in range(5)] + [FAN["example"]]))
    (key,) = [key for key, found in watching.findings.items() if found.signature == hang.id]
    watching.context = context(known=extended(catalogue(), [], [hang]))
    watching.see(records([FAN["example"], *(step_line(n) for n in range(5, 12))], seconds=9))
    assert watching.ended == [key] and watching.findings[key].count == 1
