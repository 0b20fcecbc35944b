"""Which deed belongs to which kind of order, and what can keep it from being done?"""

import importlib.util
from collections.abc import Callable

from lab.trainer.deeds import files, program, signals, words
from lab.trainer.here import Here
from lab.trainer.orders import Order

Deed = Callable[[Order, Here], None]

DEEDS: dict[str, Deed] = {
    "raise": program.raise_error,
    "import_error": program.import_missing,
    "bad_argument": program.read_arguments,
    "shape_mismatch": program.multiply_shapes,
    "corrupt_checkpoint": program.load_damaged,
    "disk_full": files.fill_disk,
    "read_only": files.forbid_writing,
    "sigkill": signals.kill,
    "sigterm": signals.terminate,
    "sigsegv": signals.read_nowhere,
    "sigabrt": signals.abort,
    "sigstop": signals.stop,
    "hold_gil": signals.hold_gil,
    "sleep": signals.sleep,
    "spin": signals.spin,
    "stuck_loader": signals.load_for_ever,
    "memory": program.eat_memory,
    "shm_full": files.fill_shared_memory,
    "port_in_use": program.listen_twice,
    "data_error": program.read_record,
    "text": words.replay,
    "pause": words.pause,
    "lines": words.mention,
    "exit": program.leave,
    "ecc": program.break_gpu,
    "requeue_self": words.requeue,
}
"""All kinds but the lasting ones, which the training itself carries out."""


def obstacle(order: Order, here: Here) -> str:
    """Why the order cannot be carried out on this rank, which is then no deed; empty when it can."""
    if order.kind == "import_error":
        module = order.words.get("module", program.MISSING_MODULE)
        if importlib.util.find_spec(module.partition(".")[0]) is not None:
            return f"the module {module} exists on {here.place.host}"
    if order.kind == "requeue_self" and not here.place.job:
        return "there is no Slurm job to requeue"
    return ""
