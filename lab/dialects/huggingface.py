"""How does the Hugging Face Trainer write its log? A bar that is drawn over and over, and a dict with the loss."""

from lab.dialects.dialect import SEQUENCES_PER_GPU, Stage, bar, checkpoints, clock, launched, loss_of, norm_of, pace

STEPS_PER_EPOCH = 1000
LOGGING_STEPS = 5


class HuggingFace:
    """The Trainer with `logging_steps=5` and `logging_nan_inf_filter=False`; both its outputs in one file."""

    def opening(self, stage: Stage, checkpoint: int, at: float) -> list[str]:
        """Ranks and hosts; the device line of each script that uses the Trainer."""
        where = "Process rank: 0, device: cuda:0, n_gpu: 1, distributed training: True, 16-bits training: False"
        return [f"{clock(at)} - WARNING - __main__ - {where}", *launched(stage)]

    def loaded(self, stage: Stage, checkpoint: int, at: float) -> list[str]:
        """The block before the first step, and where a resumed run goes on."""
        lines = [
            "***** Running training *****",
            f"  Num examples = {stage.ranks * SEQUENCES_PER_GPU * STEPS_PER_EPOCH:,}",
            f"  Instantaneous batch size per device = {SEQUENCES_PER_GPU}",
            f"  Total optimization steps = {stage.steps:,}",
            "  Number of trainable parameters = 8,030,261,248",
        ]
        if checkpoint:
            lines += [
                "  Continuing training from checkpoint, will skip to saved global_step",
                f"  Continuing training from epoch {checkpoint // STEPS_PER_EPOCH}",
                f"  Continuing training from global step {checkpoint}",
            ]
        return [_said(at, "trainer.py:2414", line) for line in lines]

    def step(self, stage: Stage, step: int, seconds: float, at: float, nan: bool = False) -> list[str]:
        """The bar; every few steps it is wiped out and the dict written in its place, in one line of the file.

        In a real file the bars between are parts of that line, too. Here each is a line: what a reader that follows
        the file sees of it.
        """
        drawn = bar(step, stage.steps, step * stage.step_seconds, pace(seconds))
        if step % LOGGING_STEPS:
            return [drawn]
        loss, norm = (
            f"{value:.4f}".rstrip("0") for value in (loss_of(stage, step, nan), norm_of(stage, step, nan))
        )
        epoch = round(step / STEPS_PER_EPOCH, 2)
        told = f"{{'loss': {loss}, 'grad_norm': {norm}, 'learning_rate': 2e-05, 'epoch': {epoch}}}"
        return [f"{drawn}\r{' ' * len(drawn)}\r{told}"]

    def saved(self, stage: Stage, step: int, at: float) -> list[str]:
        """Where the checkpoint goes, and its parts."""
        before, after = self.phase(stage, "checkpoint", step, 0.0, at)
        return [*before, *after]

    def phase(self, stage: Stage, phase: str, step: int, seconds: float, at: float) -> tuple[list[str], list[str]]:
        """An evaluation has a bar of its own; compilation is silent."""
        if phase == "evaluation":
            speed = f"'eval_runtime': {seconds:.4f}, 'eval_samples_per_second': {800 / max(seconds, 1e-3):.3f}"
            told = (
                f"{{'eval_loss': {loss_of(stage, step):.4f}, {speed}, 'epoch': {round(step / STEPS_PER_EPOCH, 2)}}}"
            )
            begun = (
                "",
                "***** Running Evaluation *****",
                "  Num examples = 800",
                f"  Batch size = {SEQUENCES_PER_GPU}",
            )
            return [_said(at, "trainer.py:4307", line) for line in begun], [told]
        if phase == "checkpoint":
            folder = f"{checkpoints(stage)}/checkpoint-{step}"
            return [_said(at, "trainer.py:3910", f"Saving model checkpoint to {folder}")], [
                _said(at + seconds, "configuration_utils.py:420", f"Configuration saved in {folder}/config.json"),
                _said(at + seconds, "modeling_utils.py:2988", f"Model weights saved in {folder}/model.safetensors"),
            ]
        if phase == "data_index":
            rate = f"{52002 / max(seconds, 1e-3):.2f} examples/s"
            title = "Running tokenizer on dataset (num_proc=8)"
            return [f"{title}:   0%|          | 0/52002 [00:00<?, ? examples/s]"], [
                f"{title}: {bar(52002, 52002, seconds, rate)}"
            ]
        return [], []

    def ending(self, stage: Stage, at: float) -> list[str]:
        """Thanks, and how long it took."""
        epoch = stage.steps / STEPS_PER_EPOCH
        took = stage.steps * stage.step_seconds
        told = f"{{'train_runtime': {took:.4f}, 'train_steps_per_second': {1 / max(stage.step_seconds, 1e-3):.3f}, "
        thanks = "Training completed. Do not forget to share your model on huggingface.co/models =)"
        return [
            *(_said(at, "trainer.py:2676", line) for line in ("", "", thanks, "", "")),
            f"{told}'train_loss': {loss_of(stage, stage.steps):.4f}, 'epoch': {epoch:.2f}}}",
        ]


def _said(at: float, place: str, words: str) -> str:
    return f"[INFO|{place}] {clock(at)},{int(at % 1 * 1000):03d} >> {words}"
