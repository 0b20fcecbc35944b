"""Is a traceback one event, with its last line as class and the program's own frame as place?"""

import pytest

from tests.detectors.catalogue.building import Watching, context, records

HEAD = "Traceback (most recent call last):"
OWN = ['  File "/home/user/train.py", line 12, in step', "    loss.backward()"]
TORCH = ['  File "/opt/lib/python3.11/site-packages/torch/_tensor.py", line 522, in backward', "    return run("]
END = "ValueError: num_heads 30 does not fit 8 ranks"


def see(*turns: list[str]) -> Watching:
    watching = Watching()
    for number, lines in enumerate(turns):
        watching.see(records(lines, seconds=number))
    return watching


def test_the_last_line_is_the_class_and_the_own_frame_the_place() -> None:
    found = see([HEAD, *OWN, *TORCH, END]).found("py.valueerror")
    assert found.count == 1
    assert "in train.py:step" in found.sentence
    assert found.evidence[0].line == END


def test_a_traceback_goes_on_in_the_next_turn() -> None:
    lines = [HEAD, *OWN, *TORCH, END]
    whole = see(lines).findings
    for cut in range(1, len(lines)):
        assert see(lines[:cut], lines[cut:]).findings.keys() == whole.keys()


def test_ranks_that_print_at_the_same_time_are_kept_apart() -> None:
    mixed = []
    other = ['  File "/home/user/input.py", line 7, in load', "    raise KeyError(name)"]
    for first, second in zip([HEAD, *OWN, END], [HEAD, *other, "KeyError: 'tokens'"], strict=True):
        mixed += [f"0: {first}", f"1: {second}"]
    watching = see(mixed)
    assert "in train.py:step" in watching.found("py.valueerror").sentence
    assert "in input.py:load" in watching.found("py.syntax").sentence


def test_a_traceback_under_a_label() -> None:
    for label in ("gpu-02: ", "gpu-02: [rank5]: ", "5: ", "gpu-02.cluster.local: 5: "):
        watching = Watching(context(nodes=("gpu-01", "gpu-02.cluster.local", "gpu-02")))
        watching.see(records([f"{label}{line}" for line in [HEAD, *OWN, *TORCH, END]]))
        assert "in train.py:step" in watching.found("py.valueerror").sentence, label


def test_somebody_else_who_prints_between_does_not_end_it() -> None:
    between = [
        "[2026-05-01 10:00:00,123] [INFO] prefetched 3 batches",
        " 12%|█▏ | 120/1000 [00:30<03:40,  4.00it/s]",
    ]
    watching = see([HEAD, *OWN, *between, END])
    assert "in train.py:step" in watching.found("py.valueerror").sentence


@pytest.mark.parametrize(
    "line",
    [
        "srun: error: gpu-02: task 1: Exited with exit code 1",
        "slurmstepd: error: *** STEP 20.0 ON gpu-01 CANCELLED AT 2026-11-30T01:39:37 ***",
        "WARNING: could not find the metadata file",
        "done",
    ],
)
def test_a_launcher_or_a_logger_that_overtakes_the_last_lines_takes_no_cause_away(line: str) -> None:
    for end, signature in (
        (END, "py.valueerror"),
        ("ModuleNotFoundError: No module named 'flash_attn'", "py.import"),
        ("RuntimeError: optimizer state is inconsistent with the parameters", "py.exception"),
        ("socket.gaierror: [Errno -9] nobody", "py.exception"),
    ):
        for between in range(1, 4):
            lines = [HEAD, *OWN, end]
            watching = see([*lines[:between], line, *lines[between:]])
            found = watching.found(signature)
            assert "in train.py:step" in found.sentence, (end, between)
            assert all("train.py" not in one.sentence for one in watching.findings.values() if one != found)


def test_an_error_that_no_signature_knows_is_still_an_error() -> None:
    found = see([HEAD, *OWN, "queue.Empty"]).found("py.exception")
    assert "in train.py:step" in found.sentence


def test_noise_of_an_interpreter_that_ends_is_none() -> None:
    noise = [
        "Exception ignored in: <function _Iter.__del__ at 0x7f00>",
        HEAD,
        *TORCH,
        "AttributeError: 'x' is gone",
    ]
    assert see(noise).findings == {}
    after = see([*noise, "", HEAD, *OWN, END])
    assert set(found.signature for found in after.findings.values()) == {"py.valueerror"}


def test_a_warning_word_does_not_hide_the_end_of_a_traceback() -> None:
    line = "ImportError: flash_attn is not installed"
    assert see([line]).findings == {}
    assert see([HEAD, *OWN, line]).found("py.import").count == 1


def test_a_traceback_inside_an_indented_block() -> None:
    lines = ["      " + line for line in [HEAD, *OWN, *TORCH, END]]
    assert "in train.py:step" in see(lines).found("py.valueerror").sentence


def test_chained_errors_are_events_of_their_own() -> None:
    between = ["", "During handling of the above exception, another exception occurred:", ""]
    other = ['  File "/home/user/input.py", line 7, in load', "    raise"]
    watching = see([HEAD, *OWN, END, *between, HEAD, *other, "OSError: [Errno 28] No space left on device"])
    assert "in train.py:step" in watching.found("py.valueerror").sentence
    assert "in input.py:load" in watching.found("fs.enospc").sentence


def test_open_tracebacks_are_bounded() -> None:
    watching = see([f"{rank}: {HEAD}" for rank in range(1000)])
    assert len(watching.states["reader"]["tracebacks"]["open"]) == 64
    endless = see([HEAD, *["    deeper()"] * 5000])
    assert "reader" not in endless.states  # nothing is open, nothing to remember


def test_a_traceback_without_its_last_line_is_noticed_until_it_comes() -> None:
    def left_open(watching: Watching) -> list[dict[str, object]]:
        rows = watching.outcome.witnesses.get("noticed")
        return [row for row in rows or () if row["sort"] == "open"]

    watching = see([HEAD, *OWN, "srun: error: gpu-02: task 1: Exited with exit code 1"])
    assert left_open(watching) == [{"sort": "open", "id": "traceback", "count": 1}]
    watching.see(records([END], seconds=1))
    assert watching.outcome.witnesses["noticed"] == []
