"""What do the dumps of several ranks tell together? The facts that a verdict takes, and one symptom.

`diagnose` and a site ask it alike, so that the same files give the same culprit.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.records import Evidence, Finding
from detectors.dumps.recording import Recording

SIGNATURE = "fr.dump"
KEY = "fr_dump"
QUOTED = 6  # dumps that are quoted: those whose picture is rarest, and one with the usual picture

ByRank = Mapping[int, tuple[str, Recording]]
"""By rank the name of its file and what stands in it."""


def keep_newer(by_rank: dict[int, tuple[str, Recording]], name: str, told: Recording) -> None:
    """Add a dump; of two of one rank the newer one counts."""
    before = by_rank.get(told.rank)
    if before is None or told.at > before[1].at:
        by_rank[told.rank] = (name, told)


def rows_of(by_rank: ByRank) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The witnesses `recorded` and `members`."""
    ranks = _told_apart([by_rank[rank][1] for rank in sorted(by_rank)])
    groups = {row["group"]: row for one in ranks for row in one.groups}
    return [row for one in ranks for row in one.rows], list(groups.values())


def finding_of(by_rank: ByRank) -> Finding | None:
    """That somebody waits, with the rarest pictures quoted; `None` when every recorded collective is completed."""
    begun = [row["begun"] for _name, one in by_rank.values() for row in one.rows if row.get("begun")]
    waits = [rank for rank, (_name, one) in by_rank.items() if any(row.get("state") for row in one.rows)]
    if not waits:
        return None
    picture = {rank: one.summary.partition(": ")[2] for rank, (_name, one) in by_rank.items()}
    often = Counter(picture.values())
    usual = often.most_common(1)[0][0]
    odd = sorted(
        (rank for rank in by_rank if picture[rank] != usual), key=lambda rank: (often[picture[rank]], rank)
    )
    quoted = [*odd[: QUOTED - 1], min(rank for rank in by_rank if picture[rank] == usual)]
    signature = catalogue().signature(SIGNATURE)
    return Finding(
        key=KEY,
        kind=signature.anomaly_kind,
        sentence=f"{signature.says}: {len(waits)} of {len(by_rank)} ranks wait in a collective.",
        happened_at=datetime.fromtimestamp(min(begun, default=0.0), UTC),
        basis="file",
        signature=SIGNATURE,
        layer=signature.layer,
        role=signature.role,
        evidence=tuple(Evidence(by_rank[rank][0], 0, by_rank[rank][1].summary, rank=rank) for rank in quoted),
        confidence=signature.confidence,
        count=len(waits),
    )


def _told_apart(recordings: Sequence[Recording]) -> list[Recording]:
    """Where ranks number their groups by themselves, one name stands for several: their members tell them apart."""
    seen: dict[str, set[tuple[int, ...]]] = {}
    for one in recordings:
        for group in one.groups:
            seen.setdefault(group["group"], set()).add(tuple(group["ranks"]))
    double = {name for name, members in seen.items() if len(members) > 1}
    return [_renamed(one, double) for one in recordings] if double else list(recordings)


def _renamed(one: Recording, double: set[str]) -> Recording:
    names = {
        group["group"]: f"{group['group']} of ranks {','.join(map(str, group['ranks'][:4]))}"
        for group in one.groups
        if group["group"] in double
    }
    rows = tuple({**row, "group": names.get(row["group"], row["group"])} for row in one.rows)
    groups = tuple({**row, "group": names.get(row["group"], row["group"])} for row in one.groups)
    return replace(one, rows=rows, groups=groups)
