"""`python -m lab.stores COMMAND …`: runs a command with a private MariaDB and Redis in its environment."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from lab.stores.stores import StoreError, Stores


def main() -> int:
    """The command's own exit status; 1 when a store cannot start."""
    if len(sys.argv) < 2:
        print("usage: python -m lab.stores COMMAND [ARGUMENT …]", file=sys.stderr)
        return 2
    try:
        with Stores(Path(tempfile.mkdtemp(prefix="rk-stores-"))) as stores:
            return subprocess.call(sys.argv[1:], env={**os.environ, **stores.environment})
    except StoreError as error:
        print(f"lab.stores: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
