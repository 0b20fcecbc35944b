"""`python -m lab.virtual FOLDER MODULE [ARGUMENT…]`: which part of the lab runs on a site of its own?

A site with an empty database is made in FOLDER, then `MODULE.main(ARGUMENTS)` is run; its answer is the exit
status. The module is imported only then, because it imports the product, and that needs a configured Django.
"""

import gc
import importlib
import os
import sys
from pathlib import Path

from lab.virtual.child import ON_DISK
from lab.virtual.django import prepare

GC_THRESHOLD = (50_000, 20, 20)  # the ORM makes many objects and few cycles


def main(arguments: list[str]) -> int:
    """Prepare, import, run."""
    if len(arguments) < 2:
        sys.stderr.write("python -m lab.virtual FOLDER MODULE [ARGUMENT…]\n")
        return 2
    folder, module, *rest = arguments
    on_disk = bool(os.environ.pop(ON_DISK, ""))
    prepare(Path(folder), on_disk=on_disk)
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLD)
    status: int = importlib.import_module(module).main(rest)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
