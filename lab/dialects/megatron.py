"""How does Megatron-LM write its log? As its last rank and its launcher print it."""

import math

from lab.dialects.dialect import SEQUENCES_PER_GPU, Stage, checkpoints, clock, launched, loss_of, norm_of


class Megatron:
    """Megatron-LM as its last rank and its launcher print it."""

    def opening(self, stage: Stage, checkpoint: int, at: float) -> list[str]:
        """Ranks and their hosts (NCCL), then where the weights come from."""
        sizes = f"data-parallel size: {len(stage.nodes)}, tensor-model-parallel size: {stage.gpus}"
        lines = [f"using world size: {stage.ranks}, {sizes}, pipeline-model-parallel size: 1", *launched(stage)]
        folder = checkpoints(stage)
        if checkpoint:
            return [*lines, f" loading distributed checkpoint from {folder} at iteration {checkpoint}"]
        return [
            *lines,
            f"WARNING: could not find the metadata file {folder}/latest_checkpointed_iteration.txt",
            "    will not load any checkpoints and will start from random",
        ]

    def loaded(self, stage: Stage, checkpoint: int, at: float) -> list[str]:
        """The resume, if there was one, and the end of the set-up."""
        lines = [f"[before the start of training step] datetime: {clock(at)} "]
        if not checkpoint:
            return lines
        where = f"{checkpoints(stage)} {_shards(stage)}"
        return [f" successfully loaded checkpoint from {where} at iteration {checkpoint}", *lines]

    def step(self, stage: Stage, step: int, seconds: float, at: float, nan: bool = False) -> list[str]:
        """One progress line. A loss that is not a number is left out, and the iteration counted as such."""
        batch = stage.ranks * SEQUENCES_PER_GPU
        loss = "" if nan else f" lm loss: {loss_of(stage, step):.6E} |"
        return [
            f" [{clock(at, fraction=True)}] iteration {step:8d}/{stage.steps:8d} | "
            f"consumed samples: {step * batch:12d} | elapsed time per iteration (ms): {seconds * 1000:.1f} | "
            f"throughput per GPU (TFLOP/s/GPU): {200 / max(seconds, 0.001):.1f} | "
            f"learning rate: 1.500000E-04 | global batch size: {batch:5d} |{loss} "
            f"loss scale: 1.0 | grad norm: {norm_of(stage, step, nan):.3f} | number of skipped iterations:   0 | "
            f"number of nan iterations: {int(nan):3d} |"
        ]

    def saved(self, stage: Stage, step: int, at: float) -> list[str]:
        """Start and end of a synchronous save."""
        folder = checkpoints(stage)
        return [
            f"saving checkpoint at iteration {step:7d} to {folder} in torch_dist format",
            f"  successfully saved checkpoint from iteration {step:7d} to {folder} {_shards(stage)}",
        ]

    def phase(self, stage: Stage, phase: str, step: int, seconds: float, at: float) -> tuple[list[str], list[str]]:
        """An evaluation ends with its losses; a long save with its second line."""
        if phase == "evaluation":
            loss = loss_of(stage, step)
            value = f"lm loss value: {loss:.6E} | lm loss PPL: {math.exp(loss):.6E}"
            result = f" validation loss at iteration {step} | {value} | "
            rule = "-" * len(result)
            return [f"Evaluating on {stage.ranks * SEQUENCES_PER_GPU * 10} samples"], [rule, result, rule]
        if phase == "checkpoint":
            before, after = self.saved(stage, step, at + seconds)
            return [before], [after]
        if phase == "compile":
            return ["> compiling and loading fused kernels ..."], [
                f">>> done with compiling and loading fused kernels. Compilation time: {seconds:.3f} seconds"
            ]
        return [" > WARNING: could not find index map files, building the indices on rank 0 ..."], [
            f" > elasped time to build and save sample-idx mapping (seconds): {seconds:4f}"
        ]

    def ending(self, stage: Stage, at: float) -> list[str]:
        """The last line of a run that is complete."""
        return [f"[after training is done] datetime: {clock(at)} "]


def _shards(stage: Stage) -> str:
    return f"[ t 1/{stage.gpus}, p 1/1 ]"
