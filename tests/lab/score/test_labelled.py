"""Is a labelled file read whole or not at all, and does a bad line say where it stands?"""

import json
from pathlib import Path
from typing import Any

import pytest

from lab.score.labelled import BadCorpus, Label, read_corpus

GOOD: dict[str, Any] = {
    "id": "t-1",
    "failure": "oom",
    "snippet": "CUDA out of memory",
    "text_origin": "repo-file",
    "expected": {"kind": "crash", "layer": "application", "root_line": "CUDA out of memory", "action": "stop"},
}


def a_file(folder: Path, *rows: Any) -> Path:
    path = folder / "some.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_a_line_with_its_label(tmp_path: Path) -> None:
    (told,) = read_corpus(a_file(tmp_path, GOOD, ""))
    assert (told.name, told.text, told.origin) == ("t-1 oom", "CUDA out of memory", "real")
    assert told.label == Label("crash", "application", "CUDA out of memory", (), "stop", False)


@pytest.mark.parametrize(
    ("row", "name", "origin", "label"),
    [
        ({"snippet": "x"}, "line 1", "", None),
        ({"snippet": "x", "text_origin": "modelled"}, "line 1", "modelled", None),
        ({"snippet": "x", "id": 7, "expected": {"kind": "none", "layer": "none"}}, "7", "", Label("none")),
        ({"snippet": "x", "expected": {"kind": "hang"}}, "line 1", "", Label("hang")),
        ({"snippet": "", "expected": None}, "line 1", "", None),
        (
            {"snippet": "x", "expected": {"kind": "crash"}, "note": "cause not shown in the cut"},
            "line 1",
            "",
            Label("crash", unproven=True),
        ),
    ],
    ids=["no label", "modelled", "a number as id", "only a kind", "empty text", "a note that takes it back"],
)
def test_what_may_be_missing(tmp_path: Path, row: Any, name: str, origin: str, label: Label | None) -> None:
    (told,) = read_corpus(a_file(tmp_path, row))
    assert (told.name, told.origin, told.label) == (name, origin, label)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("{", "Line 2 is no JSON"),
        ("[" * 100_000, "Line 2 is no JSON"),
        ("[1]", "Line 2 is no JSON object"),
        ({"id": "x"}, "Line 2 has no text"),
        ({"snippet": 7}, "Line 2 has no text"),
        ({"snippet": "x", "expected": "crash"}, "Line 2: 'expected' is no JSON object"),
        ({"snippet": "x", "expected": {}}, "Line 2: the label has no 'kind'"),
        ({"snippet": "x", "expected": {"kind": "boom"}}, "Line 2: kind 'boom' is unknown"),
        ({"snippet": "x", "expected": {"kind": "crash", "layer": "shoe"}}, "Line 2: layer 'shoe' is unknown"),
        ({"snippet": "x", "expected": {"kind": "crash", "action": ["stop"]}}, "Line 2: action"),
        ({"snippet": "x", "expected": {"kind": "crash", "nodes": "n1"}}, "Line 2: 'nodes' is no list"),
        ({"snippet": "x", "expected": {"kind": "crash", "root_line": 3}}, "Line 2: 'root_line'"),
        (GOOD, "Line 2 has the same id and failure as line 1"),
    ],
)
def test_a_bad_line_says_where_and_nothing_is_read(tmp_path: Path, row: Any, words: str) -> None:
    with pytest.raises(BadCorpus, match=words):
        read_corpus(a_file(tmp_path, GOOD, row))


def test_half_a_character_is_replaced_wherever_it_stands(tmp_path: Path) -> None:
    label = {"kind": "crash", "nodes": ["n\ud800"], "root_line": "a \udfff"}
    file = tmp_path / "odd.jsonl"
    file.write_text(json.dumps({"id": "\ud800", "snippet": "a \udfff", "expected": label}))
    (one,) = read_corpus(file)
    assert one.label is not None
    assert (one.name, one.text, one.label.root_line, one.label.nodes) == ("?", "a ?", "a ?", ("n?",))


def test_a_file_that_is_not_there_or_empty_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadCorpus, match="cannot be read"):
        read_corpus(tmp_path / "none.jsonl")
    with pytest.raises(BadCorpus, match="holds no text"):
        read_corpus(a_file(tmp_path, ""))
