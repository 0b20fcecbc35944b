"""How does a training script without a framework write its log? In its author's words; no two are alike."""

from lab.dialects.dialect import Stage, checkpoints, loss_of


class Plain:
    """A loop of somebody's own: no times, no rank map, a line for each step."""

    def opening(self, stage: Stage, checkpoint: int, at: float) -> list[str]:
        """How many there are, and what is resumed."""
        lines = [f"training on {stage.ranks} GPUs, {len(stage.nodes)} nodes"]
        return (
            [*lines, f"resuming from {_file(stage, checkpoint)}"]
            if checkpoint
            else [*lines, "training from scratch"]
        )

    def loaded(self, stage: Stage, checkpoint: int, at: float) -> list[str]:
        """Where the loop begins."""
        return [f"model ready, continuing at step {checkpoint}"] if checkpoint else ["model ready"]

    def step(self, stage: Stage, step: int, seconds: float, at: float, nan: bool = False) -> list[str]:
        """Step, loss, speed."""
        return [f"step {step} | loss {loss_of(stage, step, nan):.3f} | {seconds:.2f} s/it"]

    def saved(self, stage: Stage, step: int, at: float) -> list[str]:
        """One line, when it is done."""
        return [f"saved checkpoint to {_file(stage, step)}"]

    def phase(self, stage: Stage, phase: str, step: int, seconds: float, at: float) -> tuple[list[str], list[str]]:
        """An evaluation is announced; the rest is told afterwards or not at all."""
        if phase == "evaluation":
            return ["evaluating on validation set ..."], [f"val loss {loss_of(stage, step):.3f}"]
        if phase == "checkpoint":
            return [], self.saved(stage, step, at + seconds)
        if phase == "data_index":
            return ["building index ..."], [f"index built in {seconds:.1f} s"]
        return [], []

    def ending(self, stage: Stage, at: float) -> list[str]:
        """The last line."""
        return ["training finished"]


def _file(stage: Stage, step: int) -> str:
    return f"{checkpoints(stage)}/model_{step:06d}.pt"
