"""Which verdicts has the site stored of a cluster? Written down before its rows go. Needs a configured Django."""

from pathlib import Path

from detectors.models import Verdict
from lab.replay.verdict import COLUMNS, Kept


def keep(cluster: str, file: Path) -> None:
    """Write all verdicts of a cluster into `file`, whose folder is made."""
    rows = Verdict.objects.filter(attempt__job__cluster__name=cluster).select_related("attempt__job")
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as out:
        for row in rows.order_by("pk"):
            out.write(f"{kept_of(row, file.stem).line()}\n")


def kept_of(row: Verdict, case: str) -> Kept:
    """The row as it is stored; `case` is part of its name."""
    name = f"{case}: job {row.attempt.job.number}, attempt {row.attempt.index}, verdict {row.pk}"
    return Kept(name, row.judged_at, {name: getattr(row, name) for name in COLUMNS}, row.body)
