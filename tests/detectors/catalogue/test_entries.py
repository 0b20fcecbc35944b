"""Is the catalogue complete, and is a bad entry refused with a sentence?"""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from detectors.catalogue import catalogue as home
from detectors.catalogue.catalogue import CatalogueError, build, catalogue
from detectors.catalogue.entries import FAULTS, signature
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role

REFERENCE = Path(__file__).resolve().parents[4] / "shared" / "reference" / "signatures.json"
FILES = {name: home._read(name) for name in home._names()}
GOOD: dict[str, Any] = {
    "id": "site.fan",
    "kind": "crash",
    "layer": "hardware.host",
    "role": "candidate",
    "names": ["host"],
    "action": "restart_exclude",
    "confidence": 0.7,
    "says": "A fan failed",
    "pattern": r"fan (?P<n>\d+) failed",
    "example": "fan 3 failed",
    "must_not": ["fan 3 is well"],
}
CHANGED_PATTERNS = {
    "gpu.lost_nvml": "the id stands right before the words, so that prose about a GPU and something lost is "
    "no fault",
    "slurm.mem_limit": "look-ahead is split into an 'unless'",
    "data.missing": "look-ahead is split into an 'unless'",
    "kernel.oom_constraint": "a filler above 1,000 is open: lines are at most 16 KB",
    "ds.launch_exit": "a filler above 1,000 is open: lines are at most 16 KB",
    "pg.mismatch": "some programs print the ranks on the lines behind it",
}


def test_every_signature_of_the_reference_is_there_with_its_pattern() -> None:
    rows = {row["id"]: row for row in json.loads(REFERENCE.read_text())["signatures"]}
    ours = {entry.id: entry for entry in catalogue().signatures}
    assert len(rows) == 264
    assert set(rows) <= set(ours)
    changed = {name for name, row in rows.items() if ours[name].pattern != row["regex"]}
    assert changed == set(CHANGED_PATTERNS)
    assert {name for name, row in rows.items() if ours[name].kind != row["kind"]} == set()
    assert {name for name, row in rows.items() if ours[name].role.value != row["role"]} == set()


def test_every_look_alike_and_locator_of_the_reference_is_there() -> None:
    reference = json.loads(REFERENCE.read_text())
    assert [alike.id for alike in catalogue().lookalikes] == [row["id"] for row in reference["lookalikes"]]
    assert [place.id for place in catalogue().locators] == [row["id"] for row in reference["locators"]]
    changed = [
        alike.id
        for alike, row in zip(catalogue().lookalikes, reference["lookalikes"], strict=True)
        if alike.pattern != row["regex"]
    ]
    # A quoted setting is short: an error that a launcher reports as JSON is none. Samples are written small, too.
    assert changed == ["B05", "B37"]


def test_every_code_of_the_gpu_driver_has_one_meaning() -> None:
    codes = [entry.id for entry in catalogue().derived if entry.id.startswith("xid.") and entry.id[4:].isdigit()]
    assert sorted(int(name[4:]) for name in codes) == list(range(1, 173))


@pytest.mark.parametrize("entry", catalogue().signatures, ids=lambda entry: entry.id)
def test_an_entry_is_plain(entry: Any) -> None:
    assert len(entry.says) <= 100
    assert not entry.says.endswith(".")
    assert (entry.kind in FAULTS) == (entry.role is not Role.NONE) or entry.kind == "benign"
    if entry.role in (Role.ROOT, Role.CANDIDATE):
        assert entry.must_not


def test_layers_of_memory_and_communication_are_used() -> None:
    layers = {entry.layer for entry in catalogue().signatures}
    assert {Layer.SYSTEM_MEMORY, Layer.FRAMEWORK_COMM} <= layers
    assert Layer.UNKNOWN not in layers


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("a name with spaces", {"id": "site fan"}, "no name in small letters"),
    ("an unknown kind", {"kind": "explosion"}, "unknown kind 'explosion'"),
    ("an unknown layer", {"layer": "hardware.moon"}, "hardware.moon"),
    ("an unknown role", {"role": "hero"}, "hero"),
    ("an unknown action", {"action": "reboot"}, "unknown action 'reboot'"),
    ("an unknown name", {"names": ["rack"]}, "unknown name 'rack'"),
    ("an unknown field", {"colour": "red"}, "colour"),
    ("no words", {"says": ""}, "words for the operator"),
    ("a confidence above one", {"confidence": 7}, "confidence"),
    ("an empty pattern", {"pattern": ""}, "0 characters"),
    ("a pattern that is too long", {"pattern": "a" * 3000}, "3000 characters"),
    ("look-ahead", {"pattern": r"fan (?!3)"}, "linear time"),
    ("a look-behind", {"pattern": r"(?<=fan )3"}, "linear time"),
    ("a back reference", {"pattern": r"(fan) \1"}, "linear time"),
    ("a repetition above 1,000", {"pattern": r"fan.{0,5000}failed"}, "linear time"),
    ("no regular expression", {"pattern": r"fan ("}, "linear time"),
    ("a pattern for every line", {"pattern": r"(fan)?"}, "in every line"),
    ("no literal to look for", {"pattern": r"\d+ \w+ 3", "example": "1 a 3"}, "no literal of three characters"),
    ("an example that does not match", {"example": "all is well"}, "its own example"),
    ("an example that the 'unless' hides", {"unless": "fan"}, "its own example"),
    ("a cause without a counter-example", {"must_not": []}, "must not match"),
    ("an unknown moment", {"moments": [["flying", ""]]}, "unknown moment 'flying'"),
]


@pytest.mark.parametrize(("change", "words"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_a_bad_entry_is_refused_with_a_sentence(change: dict[str, Any], words: str) -> None:
    with pytest.raises(CatalogueError) as refused:
        signature({**GOOD, **change}, where="site.json")
    assert words in str(refused.value)
    assert "site.json" in str(refused.value)
    assert str(refused.value).endswith(".")


def test_a_good_entry_is_taken() -> None:
    made = signature(GOOD, where="site.json", group="site")
    assert (made.id, made.layer, made.role) == ("site.fan", Layer.HARDWARE_HOST, Role.CANDIDATE)


def _with(name: str, change: Callable[[Any], None]) -> dict[str, str]:
    content = copy.deepcopy(json.loads(FILES[name]))
    change(content)
    return {**FILES, name: json.dumps(content)}


BROKEN: list[tuple[str, str, Callable[[Any], None], str]] = [
    (
        "two entries of one name",
        "signatures/cuda.json",
        lambda content: content["signatures"].append({**GOOD, "id": "cuda.ecc"}),
        "Two signatures are called 'cuda.ecc'.",
    ),
    (
        "two entries with one pattern",
        "signatures/cuda.json",
        lambda content: content["signatures"].extend([GOOD, {**GOOD, "id": "site.fan2"}]),
        "'site.fan' and 'site.fan2' have the same pattern",
    ),
    (
        "precedence of a stranger",
        "tables/precedence.json",
        lambda content: content.append(["nobody.there", "cuda.ecc"]),
        "'nobody.there', which is no signature",
    ),
    (
        "a look-alike with an unknown mode",
        "tables/lookalikes.json",
        lambda content: content[0].update(mode="ignore"),
        "unknown mode 'ignore'",
    ),
    (
        "a look-alike that no linear engine takes",
        "tables/lookalikes.json",
        lambda content: content[0].update(pattern="a(?=b)"),
        "linear time",
    ),
]


@pytest.mark.parametrize(("name", "change", "words"), [c[1:] for c in BROKEN], ids=[c[0] for c in BROKEN])
def test_a_broken_catalogue_is_refused_with_a_sentence(
    name: str, change: Callable[[Any], None], words: str
) -> None:
    with pytest.raises(CatalogueError) as refused:
        build(_with(name, change))
    assert words in str(refused.value)


def test_a_file_that_is_no_json_is_named() -> None:
    with pytest.raises(CatalogueError, match=r"signatures/cuda\.json is no JSON"):
        build({**FILES, "signatures/cuda.json": "{"})


def test_the_shipped_catalogue_stands_every_check_that_its_reader_leaves_out() -> None:
    assert build(FILES) == catalogue()


def test_the_version_follows_the_content() -> None:
    assert build(FILES).version == build(dict(reversed(FILES.items()))).version == catalogue().version
    other = _with("signatures/cuda.json", lambda content: content["signatures"].append(GOOD))
    assert build(other).version != catalogue().version
    assert len(catalogue().version) == 64


def test_an_unknown_signature_is_a_sentence() -> None:
    assert catalogue().signature("xid.79").layer is Layer.HARDWARE_GPU
    assert not catalogue().knows("nobody.there")
    with pytest.raises(CatalogueError, match=r"No signature is called 'nobody\.there'"):
        catalogue().signature("nobody.there")
