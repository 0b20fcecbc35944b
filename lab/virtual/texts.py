"""How does the product read a file of labelled log text?

`python -m lab.virtual FOLDER lab.virtual.texts FILE OUT META` leaves the score card in OUT and prints a
line for each text.
"""

import json
import pickle
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.score.corpus import score_file
from lab.score.meta import Meta


def main(arguments: Sequence[str]) -> int:
    """`FILE OUT META`, the last one as JSON; 0."""
    file, out, told = arguments
    card = score_file(Path(file), Meta(**json.loads(told)), _say, place=Path(out).parent)
    Path(out).write_bytes(pickle.dumps(card))
    return 0


def _say(line: str) -> None:
    sys.stdout.write(" ".join(line.split()) + "\n")
    sys.stdout.flush()
