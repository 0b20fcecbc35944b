"""Is bad input refused in one sentence, and does a rank know its place?"""

import json
import subprocess
import time
from pathlib import Path

import pytest

from lab.parts.running import PYTHON, ROOT, clean_environment
from lab.texts.texts import TEXTS
from lab.trainer import __main__ as trainer
from lab.trainer.orders import KINDS, BadOrder, parse
from lab.trainer.place import place_of
from tests.lab.trainer.playing import play

BAD_ORDERS = [
    ("[", "The orders are no JSON: "),
    ("{}", "The orders must be a list."),
    ("[1]", "Order 1 must be an object."),
    ('[{"rank": 1}]', "Order 1: 'kind' must be one of bad_argument, "),
    ('[{"kind": ["x"], "rank": 1}]', "Order 1: 'kind' must be one of "),
    ('[{"kind": "ecc"}]', "Order 1 (ecc) needs exactly one of 'rank', 'ranks', 'host' and 'all'."),
    ('[{"kind": "ecc", "rank": 1, "all": true}]', "Order 1 (ecc) needs exactly one of "),
    ('[{"kind": "ecc", "rank": -1}]', "Order 1 (ecc): 'rank' must be a whole number."),
    ('[{"kind": "ecc", "rank": true}]', "Order 1 (ecc): 'rank' must be a whole number."),
    ('[{"kind": "ecc", "ranks": []}]', "Order 1 (ecc): 'ranks' must be a list of whole numbers."),
    ('[{"kind": "ecc", "all": false}]', "Order 1 (ecc): 'all' must be true."),
    ('[{"kind": "ecc", "rank": 1, "attempt": "x"}]', "Order 1 (ecc): 'attempt' must be a whole number or null."),
    ('[{"kind": "ecc", "rank": 1, "step": 1.5}]', "Order 1 (ecc): 'step' must be a whole number."),
    ('[{"kind": "ecc", "rank": 1, "step": 1, "after": 1}]', "Order 1 (ecc) takes 'step' or 'after', not both."),
    ('[{"kind": "ecc", "rank": 1, "code": 1}]', "Order 1 (ecc): 'code' is not known."),
    ('[{"kind": "exit", "rank": 1, "code": "1"}]', "Order 1 (exit): 'code' must be a whole number."),
    ('[{"kind": "text", "rank": 1}]', "Order 1 (text) needs 'text'."),
    ('[{"kind": "text", "rank": 1, "text": "no such"}]', "Order 1 (text): 'text' must be one of "),
    ('[{"kind": "text", "rank": 1, "text": ["x"]}]', "Order 1 (text): 'text' must be a string."),
    ('[{"kind": "pause", "rank": 1, "phase": "lunch"}]', "Order 1 (pause): 'phase' must be one of evaluation, "),
    ('[{"kind": "exit", "rank": 1}, {"kind": "lines", "rank": 1}]', "Order 2 (lines) needs 'lines'."),
]


@pytest.mark.parametrize(("text", "sentence"), BAD_ORDERS)
def test_a_bad_order_gets_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(BadOrder) as refused:
        parse(text)
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


BAD_OPTIONS = {
    "no folder": (["--port", "1"], "The following arguments are required: --folder."),
    "no port": (["--folder", "x"], "--port is needed: of the ranks' meeting."),
    "no number": (["--folder", "x", "--port", "y"], "Argument --port: invalid int value: 'y'."),
    "no dialect": (["--folder", "x", "--port", "1", "--dialect", "z"], "Argument --dialect: invalid choice: 'z'"),
    "no steps": (["--folder", "x", "--port", "1", "--steps", "0"], "--steps must be at least 1."),
    "no time": (["--folder", "x", "--port", "1", "--step-seconds", "-1"], "--step-seconds must be at least 0."),
    "no case": (["--folder", "x", "--port", "1", "--truth", "y"], "--truth and --case go together."),
    "no truth": (
        ["--folder", "x", "--port", "1", "--truth", "/no/t", "--case", "x"],
        "--truth: there is no folder",
    ),
    "unknown": (["--folder", "x", "--port", "1", "--what"], "Unrecognized arguments: --what."),
    "orders": (["--folder", "x", "--port", "1", "--faults", "[1]"], "Order 1 must be an object."),
    "local": (
        ["local", "--ranks", "3", "--hosts", "a,b"],
        "--ranks must be at least 1, and the same number on each",
    ),
    "local rank": (
        ["local", "--folder", "x", "--faults", '[{"kind": "sigkill", "rank": 4}]'],
        "Order 1 (sigkill): there is no rank 4; the last is 3.",
    ),
    "local host": (
        ["local", "--folder", "x", "--hosts", "a,b", "--faults", '[{"kind": "sigkill", "host": "c"}]'],
        "Order 1 (sigkill): the host is none of a, b.",
    ),
    "local folder": (["local", "--folder", "/proc/x"], "--folder /proc/x cannot be made: "),
    "local attempt": (["local", "--folder", "x", "--attempt", "-1"], "--attempt must be at least 0."),
}


@pytest.mark.parametrize("name", BAD_OPTIONS)
def test_bad_options_get_one_sentence(name: str, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MASTER_PORT", raising=False)
    words, sentence = BAD_OPTIONS[name]
    assert trainer.main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"lab.trainer: {sentence}")
    assert err.count("\n") == 1


def test_the_help_of_the_launcher_names_every_kind_text_and_option(capsys) -> None:
    with pytest.raises(SystemExit):
        trainer.main(["local", "--help"])
    told = capsys.readouterr().out
    assert [kind for kind in KINDS if f"\n  {kind}" not in told] == []
    assert [text for text in TEXTS if text not in told] == []
    assert all(option in told for option in ("--ranks", "--attempt", "--folder", "--faults", "--truth"))


def test_the_launcher_says_it_once_for_all_ranks(tmp_path: Path) -> None:
    played = play(tmp_path, [{"kind": "lunch", "rank": 0}])
    assert played.code == 2
    assert played.err.count("\n") == 1


def test_without_torch_the_engine_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('not here')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    played = play(tmp_path, [], "--engine", "torch", "--ranks", "1", "--hosts", "")
    assert played.code == 2
    assert "lab.trainer: The engine 'torch' needs PyTorch, which is not installed here; " in played.err
    assert "Traceback" not in played.err


def test_orders_that_tests_and_benchmarks_use_are_kept() -> None:
    orders = parse(json.dumps([{"attempt": 0, "step": 20, "rank": 1, "kind": "stop"}]))
    assert [(order.kind, order.attempt, order.step, order.ranks) for order in orders] == [("sigstop", 0, 20, (1,))]


SLURM = {
    "SLURM_PROCID": "2",
    "SLURM_NTASKS": "4",
    "SLURM_JOB_ID": "71",
    "SLURM_JOB_NAME": "train",
    "SLURM_STEP_NODELIST": "gpu[01-02]",
    "SLURMD_NODENAME": "gpu02",
    "SLURM_RESTART_COUNT": "3",
}
TORCHRUN = {"RANK": "1", "WORLD_SIZE": "2", "TORCHELASTIC_RESTART_COUNT": "1"}


def test_a_rank_knows_its_place() -> None:
    place = place_of(SLURM)
    assert (place.rank, place.world, place.host, place.hosts) == (2, 4, "gpu02", ("gpu01", "gpu02"))
    assert (place.job, place.attempt, place.per_host) == (71, 3, 2)
    assert place_of({**SLURM, "SLURM_NTASKS": "3"}).per_host == 2
    place = place_of(TORCHRUN)
    assert (place.rank, place.world, place.job, place.attempt) == (1, 2, 0, 1)
    place = place_of({**SLURM, **TORCHRUN})  # torchrun below srun: its ranks, Slurm's attempts
    assert (place.rank, place.world, place.job, place.attempt) == (1, 2, 71, 3)
    place = place_of({**TORCHRUN, "LAB_HOSTS": "a,b"})
    assert (place.host, place.hosts) == ("b", ("a", "b"))


def test_under_slurm_a_rank_lingers_behind_its_last_word(tmp_path: Path) -> None:
    order = json.dumps([{"kind": "import_error", "rank": 0, "step": 0}])
    words = [PYTHON, "-m", "lab.trainer", "--folder", str(tmp_path), "--port", "1", "--faults", order]
    environment = {**clean_environment(), "SLURM_JOB_ID": "71", "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any("ModuleNotFoundError" in line for line in process.stderr)
        said_at = time.monotonic()
        assert process.wait(60) == 1
    assert time.monotonic() - said_at > trainer.LINGER_SECONDS / 2
