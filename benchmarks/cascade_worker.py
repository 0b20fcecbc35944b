"""How does the site's worker read one log of a cascade? `python -m benchmarks.cascade_worker KIND SEED AT LOG`

A process of its own, so that its memory is its own. Prints one line of JSON: `benchmarks.cascade.Measured`.
"""

import json
import sys
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from benchmarks.cascades import KINDS, Cluster
from benchmarks.fresh_site import prepare
from benchmarks.reading_cascade import measure


def main(arguments: list[str]) -> int:
    """Read, judge, print."""
    name, seed, at, log = arguments
    kind = next(one for one in KINDS if one.name == name)
    prepare()
    print(json.dumps(asdict(measure(kind, Cluster(int(seed), datetime.fromisoformat(at)), Path(log)))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
