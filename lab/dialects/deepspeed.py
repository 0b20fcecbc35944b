"""How does DeepSpeed write its log? Its engine, its timer, its pipeline engine and its checkpoint engine speak."""

from lab.dialects.dialect import SEQUENCES_PER_GPU, Stage, checkpoints, clock, launched, loss_of


class DeepSpeed:
    """DeepSpeed; the loss stands in the line of the pipeline engine, apart from the step line."""

    def opening(self, stage: Stage, checkpoint: int, at: float) -> list[str]:
        """Backend, ranks and hosts, and where the weights come from."""
        backend = "Initializing TorchBackend in DeepSpeed with backend nccl"
        lines = [_said(at, "comm.py:652:init_distributed", "", backend), *launched(stage)]
        if not checkpoint:
            missing = f"{checkpoints(stage)}/latest"
            words = (
                f"Unable to find latest file at {missing}, if trying to load latest checkpoint please ensure this"
            )
            return [*lines, _said(at, "engine.py:2748:load_checkpoint", "", f"{words} file exists", "WARNING")]
        file = _file(stage, checkpoint)
        return [
            *lines,
            _said(at, "torch_checkpoint_engine.py:27:load", "", f"[Torch] Loading checkpoint from {file}..."),
        ]

    def loaded(self, stage: Stage, checkpoint: int, at: float) -> list[str]:
        """The checkpoint is read, and the engine is ready."""
        lines = [_said(at, "logging.py:96:log_dist", "[Rank 0] ", "DeepSpeed Final Optimizer = FusedAdam")]
        if not checkpoint:
            return lines
        file = _file(stage, checkpoint)
        return [
            _said(at, "torch_checkpoint_engine.py:29:load", "", f"[Torch] Loaded checkpoint from {file}."),
            *lines,
        ]

    def step(self, stage: Stage, step: int, seconds: float, at: float, nan: bool = False) -> list[str]:
        """The engine's line, the timer's, and the loss."""
        rate = stage.ranks * SEQUENCES_PER_GPU / max(seconds, 1e-3)
        speeds = f"RunningAvgSamplesPerSec={rate:.4f}, CurrSamplesPerSec={rate:.4f}"
        return [
            _said(
                at,
                "logging.py:96:log_dist",
                "[Rank 0] ",
                f"step={step}, skipped=0, lr=[1.5e-04], mom=[(0.9, 0.95)]",
            ),
            _said(
                at,
                "timer.py:264:stop",
                "",
                f"epoch=0/micro_step={step}/global_step={step}, {speeds}, "
                "MemAllocated=10.2GB, MaxMemAllocated=40.1GB",
            ),
            f"steps: {step} loss: {loss_of(stage, step, nan):0.4f} iter time (s): {seconds:0.3f} "
            f"samples/sec: {rate:0.3f}",
        ]

    def saved(self, stage: Stage, step: int, at: float) -> list[str]:
        """Announced, written, ready."""
        before, after = self.phase(stage, "checkpoint", step, 0.0, at)
        return [*before, *after]

    def phase(self, stage: Stage, phase: str, step: int, seconds: float, at: float) -> tuple[list[str], list[str]]:
        """Extensions are built by ninja; a save has a line for each of its stages."""
        if phase == "evaluation":
            loss = loss_of(stage, step)
            return ["Evaluating perplexity, Epoch 1/3 *****"], [f"ppl: {2.7182818**loss:.4f}, loss: {loss:.4f}"]
        if phase == "checkpoint":
            return self._saving(stage, step, at), self._written(stage, step, at + seconds)
        if phase == "compile":
            return ["Building extension module fused_adam...", "ninja: no work to do."], [
                "Loading extension module fused_adam...",
                f"Time to load fused_adam op: {seconds} seconds",
            ]
        return ["> building train, validation, and test datasets for GPT ..."], [
            "> finished creating GPT datasets ..."
        ]

    def _saving(self, stage: Stage, step: int, at: float) -> list[str]:
        soon = f"[Torch] Checkpoint global_step{step} is about to be saved!"
        file = _file(stage, step)
        return [
            _said(at, "logging.py:96:log_dist", "[Rank 0] ", soon),
            _said(at, "logging.py:96:log_dist", "[Rank 0] ", f"Saving model checkpoint: {file}"),
            _said(at, "torch_checkpoint_engine.py:21:save", "", f"[Torch] Saving {file}..."),
        ]

    def _written(self, stage: Stage, step: int, at: float) -> list[str]:
        ready = f"[Torch] Checkpoint global_step{step} is ready now!"
        return [
            _said(at, "torch_checkpoint_engine.py:23:save", "", f"[Torch] Saved {_file(stage, step)}."),
            _said(at, "torch_checkpoint_engine.py:33:commit", "", ready),
        ]

    def ending(self, stage: Stage, at: float) -> list[str]:
        """Its launcher notes that all processes ended well."""
        process = stage.process(0)
        return [_said(at, "launch.py:351:main", "", f"Process {process} exits successfully.")]


def _said(at: float, place: str, rank: str, words: str, level: str = "INFO") -> str:
    return f"[{clock(at)},{int(at % 1 * 1000):03d}] [{level}] [{place}] {rank}{words}"


def _file(stage: Stage, step: int) -> str:
    return f"{checkpoints(stage)}/global_step{step}/mp_rank_00_model_states.pt"
