"""How do the ranks wait for each other when PyTorch is there? By a real all-reduce over gloo, on the CPU."""

import importlib
import os
from datetime import timedelta
from typing import Any

from lab.trainer.place import Place

MISSING = "The engine 'torch' needs PyTorch, which is not installed here; the engine 'sockets' does without it."


class NoTorch(Exception):
    """PyTorch cannot be imported."""


class Gloo:
    """A process group of gloo. Every meeting also does one step of a tiny model, so that gradients really flow."""

    def __init__(self, place: Place, address: tuple[str, int], timeout_seconds: float | None) -> None:
        self._torch = torch_of()
        self._group: Any = importlib.import_module("torch.distributed")
        self._group.init_process_group(
            "gloo",
            store=self._store(place, address),
            rank=place.rank,
            world_size=place.world,
            timeout=timedelta(seconds=timeout_seconds or 86400),
        )
        self._torch.manual_seed(0)
        self._model = self._torch.nn.Linear(8, 8)
        self._optimizer = self._torch.optim.SGD(self._model.parameters(), lr=0.01)
        self._world = place.world

    def meet(self, step: int) -> int:
        """Reduce the gradients and the step over all ranks; returns the smallest step."""
        self._optimizer.zero_grad()
        self._model(self._torch.ones(4, 8)).pow(2).mean().backward()
        for weight in self._model.parameters():
            self._group.all_reduce(weight.grad)
            weight.grad /= self._world
        self._optimizer.step()
        smallest = self._torch.tensor([step], dtype=self._torch.int64)
        self._group.all_reduce(smallest, op=self._group.ReduceOp.MIN)
        return int(smallest.item())

    def _store(self, place: Place, address: tuple[str, int]) -> Any:
        """Where the ranks find each other: at the agent of torchrun, else at rank 0.

        The agent's store outlives a restart of the workers, so every attempt has a part of its own: seen with torch
        2.14, where the second attempt met the addresses of the first.
        """
        by_torchrun = "TORCHELASTIC_RUN_ID" in os.environ
        if by_torchrun:
            address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
        master = place.rank == 0 and not by_torchrun
        store = self._group.TCPStore(*address, world_size=place.world, is_master=master)
        return self._group.PrefixStore(f"attempt_{place.attempt}", store)


def torch_of() -> Any:
    """The module `torch`, imported now and not before. `NoTorch` when it is not installed."""
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise NoTorch(MISSING) from error
