"""How well does the whole product read a file of labelled log text? The label is looked at when all is said.

No part of a label reaches the product (`lab.score.hearing`); then it is graded like the truth of a case
(`lab.score.texts`). Real and modelled text are parts of their own and never added up.
"""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from lab.score.card import Card, Part
from lab.score.grade import Grade
from lab.score.hearing import hear
from lab.score.labelled import read_corpus
from lab.score.meta import Meta
from lab.score.texts import grade_text

PARTS = {"real": "real text", "modelled": "modelled text", "": "text of unknown origin"}


def score_file(
    path: Path,
    meta: Meta = Meta(),  # noqa: B008
    say: Callable[[str], None] = lambda _: None,
    *,
    place: Path | None = None,
) -> Card:
    """The card of one file; raises `BadCorpus` before anything is done. Needs a configured Django.

    Real and modelled text are parts of their own. The texts are written into a folder in `place`, one by one.
    """
    snippets = read_corpus(path)
    grades: dict[str, list[Grade]] = {origin: [] for origin in PARTS}
    with tempfile.TemporaryDirectory(prefix="rekindle-corpus-", dir=place) as folder:
        for snippet in snippets:
            heard = hear(snippet.text, Path(folder))
            graded = grade_text(snippet, heard)
            grades[snippet.origin].append(graded)
            found = "; ".join(graded.wrong) or ("as labelled" if graded.counted else f"not counted: {graded.why}")
            say(f"{sum(map(len, grades.values()))}/{len(snippets)} {snippet.name}: {found}")
    parts = tuple(Part(PARTS[origin], tuple(some)) for origin, some in grades.items() if some)
    return Card("corpus", replace(meta, source=path.name), parts)
