"""Does labelled text go through the whole product, with the label looked at only afterwards?"""

import json
from pathlib import Path
from typing import Any

import pytest

from detectors.diagnosing.speakers import hosts_of
from lab.score.card import Card
from lab.score.corpus import score_file
from lab.score.docs import key
from lab.score.hearing import BEGIN, hear
from lab.score.labelled import BadCorpus
from lab.score.scores import scores
from workloads.models import Cluster

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus"
"""Beside the checkout; other people's text, read where it lies."""

pytestmark = pytest.mark.django_db

FLOORS: dict[str, dict[str, int]] = {
    "dev.jsonl": {
        "recall": 32,
        "layer": 26,
        "culprit": 3,
        "action": 17,
        "left_alone": 19,
        "no cause seen in healthy text": 19,
        "step read": 6,
        "checkpoint read": 1,
        "labelled line is the first evidence": 25,
        "labelled line is evidence at all": 32,
        "layer of the strongest line as labelled": 28,
    },
    "dev-modelled.jsonl": {
        "recall": 30,
        "layer": 28,
        "culprit": 5,
        "action": 16,
        "left_alone": 3,
        "no cause seen in healthy text": 3,
        "checkpoint read": 1,
        "labelled line is the first evidence": 26,
        "labelled line is evidence at all": 31,
        "layer of the strongest line as labelled": 31,
    },
}
"""At least so many; at most one below what was measured."""


@pytest.mark.parametrize("file", FLOORS)
def test_the_scores_stay(file: str) -> None:
    (part,) = score_file(CORPUS / file).parts
    some = scores(part.grades)
    measured = {name: one.hits for name, one in (*some.shares.items(), *some.answers.items())}
    assert {name: measured[name] for name, floor in FLOORS[file].items() if measured[name] < floor} == {}
    assert all(guilty for one in part.grades for _, guilty in one.excluded)
    assert not any(one.false_actions for one in part.grades)


ECC = "node003: [rank18]: RuntimeError: CUDA error: uncorrectable ECC error encountered"
STEPS = [
    f" iteration {step:8d}/    2000 | consumed samples: {step * 32:12d} | elapsed time per iteration (ms): 500.0 |"
    f" learning rate: 1.5E-04 | global batch size: 32 | lm loss: 2.1E+00 | loss scale: 1.0 |"
    for step in range(1, 30)
]


def a_row(name: str, text: str, **expected: Any) -> dict[str, Any]:
    return {"id": name, "snippet": text, "text_origin": "modelled", "expected": expected or None}


def card_of(folder: Path, *rows: dict[str, Any]) -> Card:
    path = folder / "Own words.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return score_file(path)


def test_a_text_is_read_judged_and_decided_on(tmp_path: Path) -> None:
    row = a_row(
        "ecc",
        "\n".join([*STEPS, "node001: fine", ECC]),
        kind="crash",
        layer="hardware.gpu",
        root_line=ECC,
        nodes=["node003"],
        action="restart_exclude",
    )
    (told,) = card_of(tmp_path, row).parts[0].grades
    assert told.wrong == ()
    assert (told.did, told.excluded, told.latency_seconds) == ("restart_exclude", (("node003", True),), None)


def test_no_part_of_a_label_reaches_the_product(tmp_path: Path) -> None:
    text = "\n".join([*STEPS, ECC])
    labels: list[dict[str, Any]] = [
        {"kind": "crash", "layer": "hardware.gpu", "action": "restart_exclude", "nodes": ["node003"]},
        {"kind": "none", "layer": "none", "action": "none"},
        {"kind": "hang", "layer": "framework.comm", "action": "stop", "nodes": ["node099"], "root_line": "x"},
        {},
    ]
    rows = [a_row(str(number), text, **label) for number, label in enumerate(labels)]
    said = {one.said for one in card_of(tmp_path, *rows).parts[0].grades}
    assert len(said) == 1 and "hardware.gpu" in said.pop()


def test_healthy_text_is_left_alone_and_its_steps_are_read(tmp_path: Path) -> None:
    row = a_row("steps", "\n".join(STEPS), kind="progress", layer="none", action="none")
    (told,) = card_of(tmp_path, row).parts[0].grades
    assert told.left_alone and dict(told.answers) == {"no cause seen in healthy text": True, "step read": True}


def test_a_healthy_label_on_a_fault_is_a_false_action(tmp_path: Path) -> None:
    (told,) = card_of(tmp_path, a_row("wrong", ECC, kind="none", layer="none", action="none")).parts[0].grades
    assert told.left_alone is False and len(told.false_actions) == 1


def test_a_hang_that_only_silence_shows_is_not_put_on(tmp_path: Path) -> None:
    row = a_row("silence", "entering barrier", kind="hang", layer="framework.comm", action="restart")
    (told,) = card_of(tmp_path, row).parts[0].grades
    assert (told.standing.value, told.found) == ("not put on", None)


def test_text_without_a_label_is_shown_and_part_of_no_number(tmp_path: Path) -> None:
    card = card_of(tmp_path, {"snippet": ECC}, a_row("x", "hello", kind="none"))
    assert [part.title for part in card.parts] == ["modelled text", "text of unknown origin"]
    assert scores(card.parts[1].grades).counted == 0
    assert "(without a label): it has no label. Said: crash hardware.gpu" in card.table()


def test_a_bad_line_stops_the_file_before_anything_is_done(tmp_path: Path) -> None:
    with pytest.raises(BadCorpus, match="Line 2"):
        card_of(tmp_path, a_row("x", ECC, kind="crash"), {"id": "no text"})
    assert not Cluster.objects.exists()


def test_a_text_of_ten_megabytes_is_read_to_its_end(tmp_path: Path) -> None:
    noise = "nothing to see here, move along " * 3
    heard = hear("\n".join([noise] * (10_000_000 // len(noise)) + [ECC]), tmp_path)
    assert heard.first_line == ECC.partition(": ")[2] or heard.first_line == ECC
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text", ["", "\n\n\n", "\x00\ud800\r\r", "%s %n {0} ../../etc/passwd", "a" * 100_000], ids=range(5)
)
def test_odd_text_is_heard_and_nothing_is_said(tmp_path: Path, text: str) -> None:
    heard = hear(text, tmp_path)
    assert (heard.said.verdicts, heard.said.advice, heard.lines) == ((), (), ())


@pytest.mark.parametrize(
    ("lines", "hosts"),
    [
        ([ECC], ("node003",)),
        (["gpu-22:1:2 [0] NCCL INFO Bootstrap : Using eth0:10.4.1.22<0>"], ("gpu-22",)),
        (["srun: error: node007: task 3: Exited with exit code 1"], ("node007",)),
        (["rank12: RuntimeError: boom", "[E906 12:00:01] c10::Error"], ()),
        (["all is well on node001"], ()),
    ],
    ids=["a label", "NCCL", "srun", "ranks and stamps are no hosts", "a name in a sentence"],
)
def test_the_hosts_that_a_text_speaks_of(lines: list[str], hosts: tuple[str, ...]) -> None:
    assert hosts_of(lines, BEGIN) == hosts


def test_the_kept_file_is_named_after_the_text(tmp_path: Path) -> None:
    assert key(card_of(tmp_path, a_row("x", "hello", kind="none"))) == "corpus-own-words"
