"""When does a file that was made or moved survive a loss of power?"""

import os
from pathlib import Path


def settle(folder: Path) -> None:
    """Put the names in the folder on the disk, too. Raises `OSError`."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
