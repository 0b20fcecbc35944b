"""`python -m lab.real.reader`: what has the site stored by now? A line in, an answer out, until the input ends.

A process of its own, whose Django is that of the site which is watched (`REKINDLE_STATE_DIR`). A line holds the
name of a cluster and job numbers; the answer is a pickled `Said` of these jobs alone, in base64.
"""

import base64
import os
import pickle
import sys
from dataclasses import replace

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recovery_site.settings")
django.setup()

from lab.score.said import Said  # noqa: E402
from lab.virtual.said import said_of  # noqa: E402  # its models need a Django that is set up


def only(said: Said, numbers: frozenset[int]) -> Said:
    """What was said of these jobs."""
    return replace(
        said,
        symptoms=tuple(one for one in said.symptoms if one.job in numbers),
        verdicts=tuple(one for one in said.verdicts if one.job in numbers),
        advice=tuple(one for one in said.advice if one.job in numbers),
        states={number: state for number, state in said.states.items() if number in numbers},
    )


def main() -> None:
    """Answer until nobody asks any more."""
    for line in sys.stdin:
        name, *numbers = line.split()
        said = only(said_of([name])[name], frozenset(map(int, numbers)))
        print(base64.b64encode(pickle.dumps(said)).decode(), flush=True)


if __name__ == "__main__":
    main()
