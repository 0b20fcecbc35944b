"""How does MosaicML's Composer write its log? A head line for each batch, and its metrics below, indented."""

from lab.dialects.dialect import Stage, checkpoints, clock, launched, loss_of, norm_of


class Composer:
    """Composer with its console logger, as llm-foundry sets it up; checkpoints go to an object store as well."""

    def opening(self, stage: Stage, checkpoint: int, at: float) -> list[str]:
        """The launcher of llm-foundry, ranks and hosts."""
        return [_said(stage, at, "llmfoundry.command_utils.train", "Building trainer..."), *launched(stage)]

    def loaded(self, stage: Stage, checkpoint: int, at: float) -> list[str]:
        """The checkpoint is read; training begins."""
        lines = [_said(stage, at, "llmfoundry.command_utils.train", "Starting training...")]
        if not checkpoint:
            return lines
        file = _file(stage, checkpoint)
        return [_said(stage, at, "composer.utils.checkpoint", f"Trainer checkpoint loaded from {file}"), *lines]

    def step(self, stage: Stage, step: int, seconds: float, at: float, nan: bool = False) -> list[str]:
        """A batch: its number behind the bracket, one lower below (it is logged before the count goes up)."""
        return [
            f"[batch={step}/{stage.steps}]:",
            "\t Train time/epoch: 0",
            f"\t Train time/batch: {step - 1}",
            f"\t Train loss/train/total: {loss_of(stage, step, nan):.4f}",
            f"\t Train l2_norm/grad/global: {norm_of(stage, step, nan):.4f}",
            f"\t Train throughput/batches_per_sec: {1 / max(seconds, 1e-3):.4f}",
        ]

    def saved(self, stage: Stage, step: int, at: float) -> list[str]:
        """The upload; the save itself is told at level DEBUG only."""
        before, after = self.phase(stage, "checkpoint", step, 0.0, at)
        return [*before, *after]

    def phase(self, stage: Stage, phase: str, step: int, seconds: float, at: float) -> tuple[list[str], list[str]]:
        """An evaluation counts batches of its own."""
        if phase == "evaluation":
            loss = loss_of(stage, step)
            return ["[Eval batch=1/40] Eval on eval data"], [
                "[Eval batch=40/40] Eval on eval data:",
                f"\t Eval metrics/eval/LanguageCrossEntropy: {loss:.4f}",
            ]
        if phase == "checkpoint":
            return [], [
                _said(
                    stage,
                    at + seconds,
                    "composer.callbacks.checkpoint_saver",
                    f"Uploading checkpoint to {_file(stage, step)}",
                ),
                _said(stage, at + seconds, "composer.callbacks.checkpoint_saver", "Checkpoint uploading finished!"),
            ]
        if phase == "data_index":
            return [_said(stage, at, "llmfoundry.command_utils.train", "Building train loader...")], [
                _said(stage, at + seconds, "llmfoundry.command_utils.train", "Building eval loader...")
            ]
        return [], []

    def ending(self, stage: Stage, at: float) -> list[str]:
        """llm-foundry's last word."""
        return [_said(stage, at, "llmfoundry.command_utils.train", "Done.")]


def _said(stage: Stage, at: float, place: str, words: str) -> str:
    when = f"{clock(at)},{int(at % 1 * 1000):03d}"
    return f"{when}: rank0[{stage.process(0)}][MainThread]: INFO: {place}: {words}"


def _file(stage: Stage, step: int) -> str:
    return f"{checkpoints(stage)}/ep0-ba{step}-rank0.pt"
