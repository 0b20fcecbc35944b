"""How does NeMo 2 (on Lightning) write its log? It counts from 0: the n-th step has global_step n - 1."""

from lab.dialects.dialect import SEQUENCES_PER_GPU, Stage, checkpoints, clock, launched, loss_of


class Nemo:
    """NeMo 2: its own progress printer, Lightning's words at the end, Megatron Core below."""

    def opening(self, stage: Stage, checkpoint: int, at: float) -> list[str]:
        """Ranks and their hosts, then what is resumed from."""
        lines = [f"Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/{stage.ranks}", *launched(stage)]
        if checkpoint:
            return [
                *lines,
                _said(at, "auto_resume:154", f"Resuming training from checkpoint: {_file(stage, checkpoint)}"),
            ]
        return [
            *lines,
            _said(at, "auto_resume:160", "There was no checkpoint to resume from. Training from scratch."),
        ]

    def loaded(self, stage: Stage, checkpoint: int, at: float) -> list[str]:
        """Lightning says that the states are there."""
        if not checkpoint:
            return ["Sanity Checking: |          | 0/? [00:00<?, ?it/s]"]
        return [f"Restored all states from the checkpoint at {_file(stage, checkpoint)}"]

    def step(self, stage: Stage, step: int, seconds: float, at: float, nan: bool = False) -> list[str]:
        """One line of the progress printer."""
        batch = stage.ranks * SEQUENCES_PER_GPU
        loss = loss_of(stage, step, nan)
        return [
            f"Training epoch 0, iteration {step - 1}/{stage.steps - 1} | lr: 1.5e-04 | "
            f"global_batch_size: {batch} | global_step: {step - 1} | reduced_train_loss: {loss:.4g} | "
            f"train_step_timing in s: {seconds:.4g} | consumed_samples: {step * batch}"
        ]

    def saved(self, stage: Stage, step: int, at: float) -> list[str]:
        """An asynchronous save: planned, then finalised."""
        before, after = self.phase(stage, "checkpoint", step, 0.0, at)
        return [*before, *after]

    def phase(self, stage: Stage, phase: str, step: int, seconds: float, at: float) -> tuple[list[str], list[str]]:
        """A validation counts its own iterations; helpers are compiled by make."""
        if phase == "evaluation":
            return ["Validation: iteration 1/32"], ["Validation: iteration 32/32"]
        if phase == "checkpoint":
            file = _file(stage, step)
            done = f"Async checkpoint save for step {step} ({file}) finalized successfully."
            planned = _said(at, "model_checkpoint:497", f"Scheduled async checkpoint save for {file}")
            return [planned], [_said(at + seconds, "model_checkpoint:522", done)]
        if phase == "compile":
            return ["> compiling dataset index builder ..."], [
                f">>> done with dataset index builder. Compilation time: {seconds:.3f} seconds"
            ]
        return [_said(at, "gpt_dataset:397", "Build and save the GPTDataset train indices")], [
            _said(at + seconds, "gpt_dataset:512", "> total number of samples: 4882812")
        ]

    def ending(self, stage: Stage, at: float) -> list[str]:
        """Lightning's last word."""
        return [f"`Trainer.fit` stopped: `max_steps={stage.steps}` reached."]


def _said(at: float, place: str, words: str) -> str:
    return f"[NeMo I {clock(at)} {place}] {words}"


def _file(stage: Stage, step: int) -> str:
    return f"{checkpoints(stage)}/step={step - 1}-consumed_samples={step * stage.ranks * SEQUENCES_PER_GPU}.0.ckpt"
