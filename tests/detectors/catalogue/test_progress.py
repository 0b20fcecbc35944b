"""How far is an attempt, at which rhythm, in which phase, with which checkpoints?"""

import pytest

from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.entries import Signature
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.records import ProgressPoint
from tests.detectors.catalogue.building import Watching, at, records, step_line, unstamped_steps

HF_LOSS = catalogue().signature("prog.hf").example
Values = tuple[int | None, float | None, float | None, float | None, float | None]
DIALECTS: dict[str, Values] = {
    "prog.megatron": (42001, 1.2345, 2.104561, None, 401.2),
    "prog.megatron_eval": (None, None, None, None, None),
    "prog.nemo2": (41, 1.02, 8.21, None, None),
    "prog.nemo_step": (12, 1.03, None, None, None),
    "prog.tqdm": (120, 0.25, 2.31, None, None),
    "prog.hf": (None, None, None, None, None),
    "prog.swift": (120, 2.5, 2.1, None, None),
    "prog.deepspeed": (120, None, None, None, None),
    "prog.deepspeed_tput": (120, None, None, None, None),
    "prog.deepspeed_engine": (10, None, 6.921, None, None),
    "prog.titan": (10, None, 7.40123, 8012, 400.12),
    "prog.composer": (1200, None, None, None, None),
    "prog.composer_values": (None, None, None, None, None),
    "prog.maxtext": (42, 3.12, 5.123, 1313.1, 210.1),
    "prog.olmo": (1200, None, None, None, None),
    "prog.olmo_values": (None, None, None, None, None),
    "prog.nanotron": (42, 1.2, 5.2, 850_000, None),
    "prog.verl": (12, 81.2, 0.012, None, None),
    "prog.llamafactory_jsonl": (120, None, 1.2, None, None),
    "prog.iteration": (12, 0.8124, 3.1, None, None),
    "prog.step_loss": (1200, None, 3.011, None, None),
    "prog.meters": (12 * 1251 + 300, None, 5.912, None, None),
    "prog.fairseq": (997, None, 11.557, None, None),
    "prog.epoch": (3, 412.07, None, None, None),
    "prog.loss_step": (1200, None, 2.3121, None, None),
    "prog.iter_loss": (1200, None, 3.0112, None, None),
    "prog.step_done": (120, None, None, None, None),
    "prog.step_begins": (120, None, None, None, None),
    "prog.epoch_begins": (12, None, None, None, None),
    "prog.epoch_loss": (12, None, 2.3121, None, None),
    "prog.epoch_json": (12, None, 2.3121, None, None),
    "prog.updates": (1200, None, None, None, None),
    "prog.clu": (1200, None, 2.3121, None, None),
    "prog.levanter": (1200, None, 3.212, None, None),
    "prog.mllog": (2048, None, None, None, None),
    "prog.keras": (120, None, 0.6123, None, None),
    "prog.batches": (40, None, None, None, None),
}
"""Step, seconds of a step, loss, tokens and TFLOP a second that the example of each dialect tells."""


@pytest.mark.parametrize("entry", [e for e in catalogue().signatures if e.kind == "progress"], ids=lambda e: e.id)
def test_every_dialect_tells_its_values(entry: Signature) -> None:
    step, *values = DIALECTS[entry.id]
    outcome = Watching().see(records([entry.example]))
    assert outcome.progress.last_step == step
    if step is None:
        assert outcome.points == ()
        return
    (point,) = outcome.points
    assert (point.step, point.nan) == (step, False)
    assert [point.seconds, point.loss, point.tokens, point.tflop] == [
        value if value is None else pytest.approx(value) for value in values
    ]


VALUES: list[tuple[str, list[str], tuple[int, float | None, float | None]]] = [
    ("Hugging Face", [" 12%|█▏  | 120/1000 [00:30<03:40,  4.00it/s]", HF_LOSS], (120, 2.104, None)),
    (
        "Composer",
        ["[batch=1200/57000]:", "\t Train loss/train/total: 2.4", "\t Train throughput/tokens_per_sec: 8100.5"],
        (1200, 2.4, 8100.5),
    ),
    (
        "OLMo",
        ["[step=1200/715000,epoch=1]", "    train/CE loss=2.41", "    throughput/device/TPS=11,003"],
        (1200, 2.41, 11_003),
    ),
    (
        "fairseq",
        ["epoch 001:   1000 / 2184 loss=11.5, wps=12000.5, num_updates=997, lr=0.1"],
        (997, 11.5, 12_000.5),
    ),
    ("verl", ["step:12 - actor/pg_loss:0.5 - perf/throughput:1250.5"], (12, 0.5, 1250.5)),
    ("ms-swift", ["{'loss': 2.1, 'global_step/max_steps': '7/10', 'train_speed(iter/s)': 0.5}"], (7, 2.1, None)),
]


@pytest.mark.parametrize(("lines", "values"), [c[1:] for c in VALUES], ids=[c[0] for c in VALUES])
def test_values_on_lines_of_their_own_are_those_of_the_step(
    lines: list[str], values: tuple[int, float | None, float | None]
) -> None:
    points = Watching().see(records(lines)).points
    assert {point.step for point in points} == {values[0]}
    losses, tokens = (
        [value for value in row if value is not None] for row in zip(*map(_values, points), strict=True)
    )
    assert losses == [values[1]]
    assert tokens == ([] if values[2] is None else [values[2]])


def _values(point: ProgressPoint) -> tuple[float | None, float | None]:
    return point.loss, point.tokens


def test_values_that_come_with_a_later_read_are_a_point_of_the_same_step() -> None:
    watching = Watching()
    watching.see(records(["[batch=1200/57000]:"]))
    (point,) = watching.see(records(["\t Train loss/train/total: nan"], seconds=3)).points
    assert (point.step, point.loss, point.nan) == (1200, None, True)


def test_values_of_an_evaluation_are_not_those_of_a_step() -> None:
    lines = ["[batch=12/57000]:", "[Eval batch=1/40] Eval on eval data", "\t Train loss/train/total: 9.9"]
    assert [point.loss for point in Watching().see(records(lines)).points] == [None]


def test_a_loss_that_stops_being_a_number_is_found_in_values_too() -> None:
    lines = [line for n in range(1, 4) for line in (f"[batch={n}/500]:", "\t Train loss/train/total: nan")]
    watching = Watching()
    outcome = watching.see(records(lines, every=5))
    assert [found.kind for found in watching.findings.values()] == [AnomalyKind.NAN]
    assert [point.step for point in outcome.points if point.nan] == [1, 2, 3]


def test_rhythm_is_learned_from_the_clock_when_lines_tell_no_seconds() -> None:
    lines = [f"[Rank 0] step={10 * n}, skipped=0, lr=[1e-05], mom=[(0.9, 0.95)]" for n in range(1, 30)]
    watching = Watching()
    watching.see(records(lines, every=25))
    progress = watching.outcome.progress
    assert (progress.first_step, progress.last_step) == (10, 290)
    assert progress.baseline_step_seconds == pytest.approx(2.5)
    assert progress.last_step_at == at(28 * 25)
    assert progress.phase == "training"


def test_rhythm_of_steps_that_come_in_one_read_is_shared_out() -> None:
    """Ten lines a read, all with the time of the read: 0.5 s each."""
    watching = Watching()
    for read in range(1, 10):
        lines = [f"step {10 * read + n} | loss 3.0 | lr 0.1" for n in range(10)]
        watching.see(records(lines, seconds=5 * read))
    assert watching.outcome.progress.baseline_step_seconds == pytest.approx(0.5)


def test_rhythm_of_a_backlog_comes_from_the_lines() -> None:
    watching = Watching()
    watching.see(records([step_line(step, 2.0) for step in range(1, 50)], seconds=9000))
    assert watching.outcome.progress.baseline_step_seconds == pytest.approx(2.0)


def test_a_bar_that_is_wiped_away_for_its_metrics_tells_the_step() -> None:
    bar = " 24%|██▍       | 120/500 [00:30<01:35,  4.00it/s]"
    wiped = "{'loss': 2.31, 'grad_norm': 0.4, 'learning_rate': 4.9e-05, 'epoch': 0.24}"
    outcome = Watching().see(records([f"{bar}\r{' ' * 50}\r{wiped}"]))
    (point,) = outcome.points
    assert (point.step, point.loss, outcome.progress.last_step) == (120, 2.31, 120)


@pytest.mark.parametrize("loss", ["loss nan", "loss: nan", "loss=nan", "loss | nan"])
def test_a_loss_that_is_no_number_however_it_is_written(loss: str) -> None:
    watching = Watching()
    watching.see(records([f"step {number} | {loss} | lr 1.0e-04" for number in range(7, 10)], every=10))
    assert [found.kind for found in watching.findings.values()] == [AnomalyKind.NAN]


def test_a_step_is_dated_by_its_own_stamp() -> None:
    line = f" [2026-05-01 12:00:03.5]{step_line(7)}"
    watching = Watching()
    watching.see(records([line], seconds=5))
    assert watching.outcome.progress.last_step_at == at(3.5)


def test_a_step_back_after_a_restart_is_not_progress_beyond() -> None:
    watching = Watching()
    watching.see(unstamped_steps(4200, 10, 0, 1))
    watching.see(unstamped_steps(4001, 5, 60, 1))
    assert watching.outcome.progress.last_step == 4209
    assert watching.outcome.progress.first_step == 4200
    watching.see(unstamped_steps(4006, 210, 65, 1))
    assert watching.outcome.progress.last_step == 4215


def test_step_lines_are_believed_before_bars_and_bars_of_downloads_never() -> None:
    lines = []
    for n in range(1, 8):
        lines += [f"Downloading shards: {n}%|█ | {n}/100 [00:30<03:40,  4.00it/s]", step_line(1000 + n)]
    watching = Watching()
    watching.see(records(lines, every=1))
    assert (watching.outcome.progress.first_step, watching.outcome.progress.last_step) == (1001, 1007)


def test_a_bar_of_epochs_counts_on() -> None:
    bars = [f"Epoch {e}:  12%|█▏ | {i}/1000 [00:30<03:40,  4.00it/s]" for e in (0, 1) for i in (120, 560, 1000)]
    watching = Watching()
    watching.see(records(bars, every=10))
    assert watching.outcome.progress.last_step == 2000


def test_points_are_at_most_one_a_second() -> None:
    watching = Watching()
    points = []
    for turn in range(10):
        points += watching.see(unstamped_steps(1 + 100 * turn, 100, 10 * turn, 0.1)).points
    assert len(points) == 100
    assert [point.step for point in points] == sorted(point.step for point in points)


def test_numbers_beyond_reason_are_no_steps() -> None:
    watching = Watching()
    watching.see(records(["step: 999999999999999999999 loss: 1.0 grad_norm: 1 memory: 1 tps: 1"]))
    assert watching.outcome.progress.last_step is None


def test_dialects_are_bounded() -> None:
    bars = [f"  1%|  | 1/{total} [00:30<03:40,  4.00it/s]" for total in range(100, 200)]
    watching = Watching()
    watching.see(records(bars))
    assert len(watching.states["progress"]["counters"]) == 8


WITHOUT_PLACE = "successfully saved checkpoint from iteration   42000"
LONG = f"Successfully saved checkpoint from iteration    5 to /{'x' * 9000}"
TITAN = "/out/checkpoint/step-500"
CHECKPOINTS: list[tuple[str, str, list[int], list[int], str]] = [
    ("Megatron begins", "ckpt.megatron_start", [], [], "saving"),
    ("Megatron begins in the background", "ckpt.megatron_async", [], [], "training"),
    ("Megatron is done", "ckpt.megatron_saved", [42000], [], "training"),
    ("Megatron begins to load", "ckpt.megatron_loading", [], [], "loading"),
    ("Megatron has loaded", "ckpt.megatron_loaded", [], [42000], "training"),
    ("Megatron finds none", "ckpt.megatron_none", [], [], "training"),
    ("NeMo is done", "ckpt.nemo_saved", [1000], [], "training"),
    ("NeMo cleans up", "ckpt.nemo_unfinished", [], [], "training"),
    ("NeMo resumes", "ckpt.nemo_resume", [], [], "loading"),
    ("DeepSpeed begins", "ckpt.ds_save", [], [], "saving"),
    ("Hugging Face begins: its start line proves nothing", "ckpt.hf_save", [], [], "saving"),
    ("Hugging Face resumes", "ckpt.hf_resume", [], [500], "training"),
    ("torchtitan is done, the step is the last one", "ckpt.titan_saved", [70], [], "training"),
    ("torchtitan begins to load", "ckpt.titan_load", [], [], "loading"),
    ("OLMo is done", "ckpt.olmo_saved", [1000], [], "training"),
    ("OLMo has loaded", "ckpt.olmo_load", [], [1000], "training"),
    ("Composer has loaded", "ckpt.composer", [], [1000], "training"),
    ("MaxText is done", "ckpt.maxtext", [1000], [], "training"),
    ("nanotron begins", "ckpt.nanotron", [], [], "saving"),
    ("verl begins", "ckpt.verl", [], [], "saving"),
    ("a tracker file is named", "ckpt.tracker_file", [], [], "training"),
    ("Orbax is done", "ckpt.orbax", [1000], [], "training"),
    ("Lightning begins", "ckpt.lightning", [], [], "saving"),
    ("TensorFlow is done", "ckpt.tensorflow", [5000], [], "training"),
    ("fairseq is done", "ckpt.fairseq", [1200], [], "training"),
    ("Accelerate is done", "ckpt.state", [500], [], "training"),
    ("a program is done", "ckpt.plain", [1200], [], "training"),
    ("a program begins", "ckpt.saving_to", [], [], "saving"),
]


@pytest.mark.parametrize(
    ("name", "saved", "loaded", "phase"), [c[1:] for c in CHECKPOINTS], ids=[c[0] for c in CHECKPOINTS]
)
def test_checkpoint_lines(name: str, saved: list[int], loaded: list[int], phase: str) -> None:
    watching = Watching()
    watching.see(unstamped_steps(61, 10, 0, 1))
    watching.see(records([catalogue().signature(name).example], seconds=20))
    progress = watching.outcome.progress
    assert (watching.saved, watching.loaded, progress.phase) == (saved, loaded, phase)
    assert progress.last_checkpoint_step == (saved[-1] if saved else None)
    assert progress.loaded_checkpoint_step == (loaded[-1] if loaded else None)


PLACES: list[tuple[str, list[str], tuple[int, str, str]]] = [
    ("Megatron", ["ckpt.megatron_saved"], (42000, "saved", "/ckpt")),
    ("Megatron, of the line before", ["ckpt.megatron_start", WITHOUT_PLACE], (42000, "saved", "/ckpt")),
    ("Megatron loads", ["ckpt.megatron_loaded"], (42000, "loaded", "/ckpt")),
    ("NeMo", ["ckpt.nemo_saved"], (1000, "saved", "/ckpt/step=999.ckpt")),
    ("Composer", ["ckpt.composer"], (1000, "loaded", "/ckpt/ep0-ba1000-rank0.pt")),
    ("OLMo", ["Saving checkpoint for step 9 to '/ckpt/step9'", "Checkpoint saved"], (70, "saved", "/ckpt/step9")),
    ("torchtitan", ["ckpt.titan_load", "Finished loading the checkpoint in 1.2 seconds."], (70, "loaded", TITAN)),
    ("MaxText tells none", ["ckpt.maxtext"], (1000, "saved", "")),
    ("seconds are no place", ["ckpt.titan_saved"], (70, "saved", "")),
    ("as much as a column takes", [f"ckpt to /{'x' * 9000}", LONG], (5, "saved", f"/{'x' * 511}")),
]


@pytest.mark.parametrize(("lines", "checkpoint"), [c[1:] for c in PLACES], ids=[c[0] for c in PLACES])
def test_where_a_checkpoint_is(lines: list[str], checkpoint: tuple[int, str, str]) -> None:
    texts = [catalogue().signature(one).example if catalogue().knows(one) else one for one in lines]
    watching = Watching()
    watching.see(unstamped_steps(61, 10, 0, 1))
    found = [watching.see(records([text], seconds=20 + n)) for n, text in enumerate(texts)][-1].checkpoints
    assert [(one.step, one.deed, one.place) for one in found] == [checkpoint]
    assert watching.outcome.checkpoints == found


def test_a_place_belongs_to_one_checkpoint() -> None:
    watching = Watching()
    watching.see(unstamped_steps(61, 10, 0, 1))
    lines = ["Saving checkpoint for step 9 to '/ckpt/step9'", "Checkpoint saved", "Checkpoint saved"]
    assert [one.place for one in watching.see(records(lines, seconds=20)).checkpoints] == ["/ckpt/step9", ""]


def test_every_checkpoint_signature_has_its_case() -> None:
    names = {entry.id for entry in catalogue().signatures if entry.id.startswith("ckpt.") and entry.kind != "crash"}
    assert names == {case[1] for case in CHECKPOINTS}


OTHER_WORDS: list[tuple[str, list[int], list[int]]] = [
    ("[Torch] Checkpoint global_step120 is ready now!", [120], []),
    ("Checkpoint saved", [70], []),
    ("Saving checkpoint for step 1000 to '/ckpt/step1000'", [], []),
    ("Finished loading the checkpoint in 12.31 seconds.", [], [70]),
    ("Started an asynchronous checkpoint save for step 1000", [], []),
    ("Checkpoint uploading finished!", [70], []),
    ("Saved extra_state to /ckpt/global_step_20/actor/extra_state_rank_0.pt", [20], []),
    ("Saved model to /ckpt/global_step_20/actor/model_rank_0.pt", [], []),
    ("Resuming from /ckpt/global_step_20", [], []),
    ("successfully saved local checkpoint from iteration   42000", [42000], []),
    ("Successfully saved checkpoint from iteration    500 to /ckpt", [500], []),
    ("Finished asynchronous save (blocking + background) in 3.12 seconds to /ckpt/1000", [1000], []),
    ("Finished restoring checkpoint in 3.12 seconds from /ckpt/1000.", [], [1000]),
    ("Restored all states from the checkpoint at /ckpt/epoch=4-step=500.ckpt", [], [500]),
    ("Restoring states from the checkpoint path at /ckpt/epoch=4-step=500.ckpt", [], []),
    ("INFO:tensorflow:Saving checkpoints for 5000 into /out/model.ckpt.", [], []),
    ("INFO:tensorflow:Calling checkpoint listeners before saving checkpoint 5000...", [], []),
    ("Loaded checkpoint /out/checkpoint_last.pt (epoch 3 @ 1200 updates)", [], [1200]),
    ("Saving current state to /out/checkpoint-500", [], []),
    ("All states loaded successfully", [], [70]),
    ("Model checkpoint of size 4.98 GiB saved to /out/step_1200/model-00001-of-00002.pt", [1200], []),
    ("Checkpoint saved successfully at step 1200", [1200], []),
    ("Saved checkpoint for iteration 1200", [1200], []),
    ("=> loaded checkpoint '/out/checkpoint_1200.pt'", [], [1200]),
    ("the checkpoint will be saved to /out/checkpoint_1200.pt", [], []),
    ("Failed: no checkpoint saved to /out/checkpoint_1200.pt", [], []),
    ("Saving checkpoint for step 310...", [], []),
]


@pytest.mark.parametrize(("line", "saved", "loaded"), OTHER_WORDS, ids=[c[0][:40] for c in OTHER_WORDS])
def test_only_words_of_completion_prove_a_checkpoint(line: str, saved: list[int], loaded: list[int]) -> None:
    watching = Watching()
    watching.see(unstamped_steps(61, 10, 0, 1))
    watching.see(records([line], seconds=20))
    assert (watching.saved, watching.loaded) == (saved, loaded)


PHASES: list[tuple[str, list[str], str]] = [
    ("nothing yet", ["hello"], "starting"),
    ("loading before the first step", [" loading checkpoint from /ckpt at iteration 12"], "loading"),
    (
        "loaded before the first step",
        [" loading checkpoint from /ckpt", "Checkpoint successfully loaded"],
        "starting",
    ),
    ("the first step", [step_line(1)], "training"),
    ("step 0 of a bar", ["  0%|          | 0/1000 [00:00<?, ?it/s]"], "starting"),
    ("an evaluation", [step_line(1), "***** Running Evaluation *****"], "evaluating"),
    (
        "an evaluation and its bar",
        [step_line(1), "** Starting validation **", " 3%|  | 3/98 [00:01<00:40, 2.00it/s]"],
        "training",
    ),
    (
        "a titled bar does not end it",
        [step_line(1), "> evaluating on valid", "Validation: 3%|  | 3/98 [00:01<00:40, 2it/s]"],
        "evaluating",
    ),
    ("an evaluation of Megatron-LM", [step_line(1), "Evaluating on 5120 samples"], "evaluating"),
    ("its iterations", [step_line(1), "Evaluating on 5120 samples", "Evaluating iter 1/10"], "evaluating"),
    (
        "an evaluation of NeMo",
        [step_line(1), "Validation: iteration 1/32", "Validation: iteration 2/32"],
        "evaluating",
    ),
    ("an evaluation of Composer", [step_line(1), "[Eval batch=1/40] Eval on eval data"], "evaluating"),
    (
        "an evaluation of Lightning",
        [step_line(1), "Validation DataLoader 0:   3%|▎  | 3/98 [00:01<00:40]"],
        "evaluating",
    ),
    (
        "an evaluation is over",
        [step_line(1), "> evaluating on test", " validation loss at iteration 1 | lm loss value: 2"],
        "training",
    ),
    ("a step ends a pause", [step_line(1), "saving checkpoint at iteration 1 to /ckpt", step_line(2)], "training"),
    (
        "the same step again does not",
        [step_line(1), "saving checkpoint at iteration 1 to /ckpt", step_line(1)],
        "saving",
    ),
    (
        "a restart inside the job",
        [step_line(1), "[default] Worker group FAILED. 2/3 attempts left; will restart worker group"],
        "starting",
    ),
    ("the end", [step_line(1), "[after training is done] datetime: 2026-05-01 10:00:00"], "ended"),
]


@pytest.mark.parametrize(("lines", "phase"), [c[1:] for c in PHASES], ids=[c[0] for c in PHASES])
def test_phases(lines: list[str], phase: str) -> None:
    watching = Watching()
    watching.see(records(lines, every=1))
    assert watching.outcome.progress.phase == phase


def test_nothing_is_known_of_an_attempt_without_lines() -> None:
    outcome = Watching().see([], seconds=1)
    assert outcome.progress.last_step is None
    assert outcome.progress.phase == "starting"
    assert outcome.findings == ()


def test_a_state_of_another_version_is_dropped() -> None:
    watching = Watching()
    watching.see(unstamped_steps(1, 5, 0, 1))
    watching.states = {name: {**state, "v": 0} for name, state in watching.states.items()}
    watching.see(unstamped_steps(90, 2, 60, 1))
    assert watching.outcome.progress.first_step == 90


WRITTEN: list[tuple[str, list[str], int | None]] = [
    (
        "a step before its loss in JSON",
        ['{"step": 100, "loss": 2.3, "lr": 1e-05}', '{"step": 200, "loss": 2.2}'],
        200,
    ),
    (
        "a step behind its loss",
        ["INFO: loss = 2.3, step = 100 (12.3 sec)", "INFO: loss = 2.2, step = 200 (12.3 sec)"],
        200,
    ),
    ("a step in brackets", ["Step [100/5000], Loss: 2.3121", "Step [200/5000], Loss: 2.2121"], 200),
    ("a step padded with spaces", ["step      100: loss=2.3 aux={}", "step      200: loss=2.2 aux={}"], 200),
    ("an iteration without its number of all", ["eta: 8:05:12  iter: 1259  total_loss: 1.01  lr: 0.01"], 1259),
    ("an iteration of a runner of iterations", ["Iter(train) [   10/1000]  lr: 2e-05  loss: 1.2"], 10),
    (
        "a micro step beside its step",
        ["Epoch 1 | iter 8 step 2 | loss train: 1.76, val: n/a | iter time: 121 ms"],
        2,
    ),
    (
        "a loss beside a word about an evaluation",
        ["iter 9 | step 3: loss train: 1.66, val (prev val iter): None"],
        3,
    ),
    ("a meter that knows no epoch", ["Training  [  20/125000]  eta: 1 day, 0:00:00  loss: 11.1 (11.1)"], 20),
    ("a meter with the epochs of all", ["Train: [1/300][10/1251]\teta 0:10:00 lr 0.000001\tloss 6.9 (6.9)"], 1261),
    ("fairseq without a colon", ["| epoch 010  6000 / 8223 loss=1.56 (1.46), wps=961, lr=0.001"], 88230),
    ("epochs alone", ["Epoch: 1, Loss: 2.3121", "Epoch: 2, Loss: 2.2121"], 2),
    ("headings of epochs tell what is done", ["Epoch 1/10", "Epoch 2/10", "Epoch 3/10"], 2),
    ("the heading of the first epoch tells nothing", ["Epoch 1/10"], None),
    ("the best epoch is none that begins", ["the best epoch is kept, Epoch 12"], None),
    (
        "a save tells no epoch that is done",
        ["Saved last.pt (epoch 3 @ 200 updates) (writing took 3.12 seconds)"],
        None,
    ),
    (
        "steps of an evaluation",
        ["eval step 12/50 | loss 2.3", "eval_step: 13, loss: 2.3", "Iter(val) [10/50] loss: 2"],
        None,
    ),
    ("warm-up steps of a plan", ["loss weights = 0.1, warm-up steps = 2000"], None),
]
"""Lines, and the step that is told."""


@pytest.mark.parametrize(("lines", "step"), [c[1:] for c in WRITTEN], ids=[c[0] for c in WRITTEN])
def test_a_step_is_read_however_it_is_written(lines: list[str], step: int | None) -> None:
    watching = Watching()
    assert watching.see(records(lines, every=5)).progress.last_step == step
    assert watching.findings == {}


def _relative(number: int, loss: str, skipped: int = 0) -> str:
    return (
        f" iteration {number:8}/  250000 | consumed samples: 43408 | consumed tokens: 88899584 | elapsed time per "
        f"iteration (ms): 4247.9 | learning rate: 2.999E-04 | global batch size: 8 |{loss} loss scale: 1.0 | "
        f"grad norm: nan | number of skipped iterations: {skipped:3} | number of nan iterations:   0 |"
    )


@pytest.mark.parametrize(
    ("loss", "skipped", "found"), [("", 0, [AnomalyKind.NAN]), (" lm loss: 2.1E+00 |", 0, []), ("", 1, [])]
)
def test_relatives_of_megatron_leave_out_a_loss_that_is_no_number(
    loss: str, skipped: int, found: list[AnomalyKind]
) -> None:
    watching = Watching()
    watching.see(records([_relative(number, loss, skipped) for number in range(5426, 5430)], every=5))
    assert [one.kind for one in watching.findings.values()] == found
    assert watching.outcome.progress.last_step == 5429
