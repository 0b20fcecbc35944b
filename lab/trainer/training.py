"""What does one rank do? It loads, steps with the others, saves, and breaks on order."""

import sys
import time
import types
from dataclasses import dataclass
from traceback import format_exception

from lab.trainer import checkpoint
from lab.trainer.deeds.known import DEEDS, obstacle
from lab.trainer.here import Here, say
from lab.trainer.orders import LASTING, Order
from lab.trainer.ring import Meeting

SAVING = "saving"


@dataclass(slots=True)
class Training:
    """The loop of one rank. `speaks`: whether it prints the steps; `started`: the step that was resumed from."""

    here: Here
    orders: tuple[Order, ...]
    steps: int
    step_seconds: float
    checkpoint_every: int
    speaks: bool
    started: int = 0

    def break_before_meeting(self) -> None:
        """Carry out the orders for step 0: before the ranks have met."""
        for order in self._mine(0):
            if order.kind not in LASTING:
                self._carry_out(order)

    def open(self) -> int:
        """Load the checkpoint, and say so; the step of it."""
        here, now = self.here, time.time()
        try:
            self.started = checkpoint.load(here.folder)
        except RuntimeError:
            self._tell_damage()
            raise
        if here.place.rank == 0:
            say(here.dialect.opening(here.stage, self.started, now))
        return self.started

    def _tell_damage(self) -> None:
        """A checkpoint that an earlier attempt has damaged strikes this one too."""
        for order in self.orders:
            if order.kind == "corrupt_checkpoint" and (order.attempt or 0) <= self.here.place.attempt:
                self.here.tell(order)

    def train(self, meeting: Meeting) -> None:
        """Until the last step or the first order that ends this rank."""
        here = self.here
        step = self.started = meeting.meet(self.started)
        if here.place.rank == 0:
            say(here.dialect.loaded(here.stage, step, time.time()))
        while step < self.steps:
            here.step, begun = step + 1, time.monotonic()
            time.sleep(self.step_seconds)
            lasting = self._strike(step + 1)
            step = meeting.meet(step + 1)
            now, seconds = time.time(), time.monotonic() - begun
            if self.speaks:
                say(here.dialect.step(here.stage, step, seconds, now, nan=self._is_nan(step)))
            if step % self.checkpoint_every == 0 and here.place.rank == 0:
                self._save(step, lasting)
        if here.place.rank == 0:
            say(here.dialect.ending(here.stage, time.time()))

    def _mine(self, step: int) -> list[Order]:
        place = self.here.place
        mine = [order for order in self.orders if order.concerns(place.rank, place.host, place.attempt)]
        return [order for order in mine if order.due(step, self.started)]

    def _strike(self, step: int) -> dict[str, Order]:
        """Carry out what is due in this step; what lasts, by its kind."""
        lasting = {}
        for order in self._mine(step):
            if order.kind in LASTING:
                lasting[order.kind] = order
            elif order.words.get("when") != SAVING:
                self._carry_out(order)
        if (slow := lasting.get("slow")) is not None:
            self._dawdle(slow, step)
        if (nan := lasting.get("nan")) is not None:
            self.here.tell(nan)
        return lasting

    def _is_nan(self, step: int) -> bool:
        """Whether any rank's loss is no number: the loss that is printed is the sum of all."""
        attempt = self.here.place.attempt
        nans = (order for order in self.orders if order.kind == "nan" and order.attempt in (None, attempt))
        return any(order.due(step, self.started) for order in nans)

    def _dawdle(self, order: Order, step: int) -> None:
        """Take `factor` (and `growth` more with each step) times as long, in every `every`-th step."""
        behind = step - order.step - (self.started if order.relative else 0)
        if behind % max(1, order.words.get("every", 1)) == 0:
            factor = order.words.get("factor", 3.0) + order.words.get("growth", 0.0) * behind
            self.here.tell(order)
            time.sleep(self.step_seconds * max(0.0, factor - 1))

    def _carry_out(self, order: Order) -> None:
        reason = obstacle(order, self.here)
        if reason:
            print(f"lab.trainer: the order {order.kind} is not carried out: {reason}.", file=sys.stderr, flush=True)
            return
        self.here.tell(order)
        DEEDS[order.kind](order, self.here)

    def _save(self, step: int, lasting: dict[str, Order]) -> None:
        """Save as the first rank does, with its lines before and after; or leave it out, by order."""
        here, begun = self.here, time.time()
        if (silent := lasting.get("no_save")) is not None:
            here.tell(silent)
            return
        say(here.dialect.phase(here.stage, "checkpoint", step, 0.0, begun)[0])
        checkpoint.save(here.folder, step, lambda: self._disturb_save(step, lasting.get("slow_files")))
        say(here.dialect.phase(here.stage, "checkpoint", step, time.time() - begun, begun)[1])

    def _disturb_save(self, step: int, slow: Order | None) -> None:
        """What happens when half of a checkpoint is written."""
        if slow is not None:
            self.here.tell(slow)
            time.sleep(slow.words.get("seconds", 5.0))
        place = self.here.place
        for order in self.orders:
            meant = order.concerns(place.rank, place.host, place.attempt) and order.words.get("when") == SAVING
            if meant and order.step <= step:
                self._carry_out(order)


def cry(rank: int) -> None:
    """From now on an unhandled exception is printed with the rank before each line, as PyTorch does from 2.2 on."""

    def hook(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> None:
        lines = "".join(format_exception(kind, error, trace)).splitlines()
        sys.stderr.write("".join(f"[rank{rank}]: {line}\n" for line in lines))
        sys.stderr.flush()

    sys.excepthook = hook
