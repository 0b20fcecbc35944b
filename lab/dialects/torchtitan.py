"""How does torchtitan write its log? As its first rank prints it below torchrun, which labels each line."""

from lab.dialects.dialect import Stage, checkpoints, clock, launched, loss_of, norm_of

TOKENS_PER_GPU = 8192


class Torchtitan:
    """torchtitan without colours."""

    def opening(self, stage: Stage, checkpoint: int, at: float) -> list[str]:
        """The job, its mesh, ranks and hosts, and where the weights come from."""
        lines = [
            _said(at, f"Starting job: {' '.join(stage.name.split())}"),
            *launched(stage),
            _said(at, f"Building 1-D device mesh with ['dp_shard'], [{stage.ranks}]"),
        ]
        if not checkpoint:
            return lines
        return [*lines, _said(at, f"Loading the checkpoint from {_folder(stage, checkpoint)}.")]

    def loaded(self, stage: Stage, checkpoint: int, at: float) -> list[str]:
        """The load is over; the first step is named."""
        lines = [_said(at, f"Training starts at step {checkpoint + 1}")]
        return [_said(at, "Finished loading the checkpoint in 9.41 seconds."), *lines] if checkpoint else lines

    def step(self, stage: Stage, step: int, seconds: float, at: float, nan: bool = False) -> list[str]:
        """One line of metrics."""
        rate = round(TOKENS_PER_GPU / max(seconds, 1e-3))
        loss, norm = loss_of(stage, step, nan), norm_of(stage, step, nan)
        return [
            _said(
                at,
                f"step: {step:2}  loss: {loss:8.5f}  grad_norm: {norm:7.4f}  memory: 40.12GiB(50.71%)  "
                f"tps: {rate:,}  tflops: {rate / 20:,.2f}  mfu: 41.20%",
            )
        ]

    def saved(self, stage: Stage, step: int, at: float) -> list[str]:
        """Start and end of a save; neither names the step."""
        return [_said(at, "Saving the checkpoint."), _said(at, "Finished saving the checkpoint in 3.18 seconds.")]

    def phase(self, stage: Stage, phase: str, step: int, seconds: float, at: float) -> tuple[list[str], list[str]]:
        """What it says about its pauses."""
        end = at + seconds
        if phase == "evaluation":
            loss = (
                f"validate step: {step:2}  loss: {loss_of(stage, step):7.4f}  memory: 40.12GiB(50.71%)  tps: 8,012"
            )
            return [], [_said(end, loss)]
        if phase == "checkpoint":
            return [_said(at, "Saving the checkpoint.")], [
                _said(end, f"Finished saving the checkpoint in {seconds:.2f} seconds.")
            ]
        if phase == "compile":
            return [_said(at, "Compiling each TransformerBlock with torch.compile")], []
        return [_said(at, "Preparing c4 dataset from allenai/c4")], []

    def ending(self, stage: Stage, at: float) -> list[str]:
        """The last three lines of the first rank."""
        words = ("Sleeping 2 seconds for other ranks to complete", "Training completed", "Process group destroyed")
        return [_said(at, word) for word in words]


def _said(at: float, words: str) -> str:
    return f"[rank0]:[titan] {clock(at)},{int(at % 1 * 1000):03d} - root - INFO - {words}"


def _folder(stage: Stage, step: int) -> str:
    return f"{checkpoints(stage)}/checkpoint/step-{step}"
