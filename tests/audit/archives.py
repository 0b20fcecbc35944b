"""A chain that is partly old enough, an archive of it, and a look into its files."""

import gzip
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from audit.actor_kind import ActorKind
from audit.archiving import Archive, alone, archive_next
from audit.models import AuditArchive
from audit.trail import Actor
from audit.verifying import ChainReport, verify
from tests.audit.chain import KEY, MINUTE, NOW, RING, grown

OPERATOR = Actor(ActorKind.PERSON, "olga (command line)")
OLD = NOW - timedelta(days=400)
UNTIL = NOW - timedelta(days=365)
NAME = "trail-demo-000000000001-000000000006.jsonl.gz"


def chain() -> None:
    """Six old links under two checkpoints, and four young ones."""
    grown(3, OLD)
    grown(3, OLD + MINUTE)
    grown(4, NOW - MINUTE)


def archived(folder: Path, until: datetime = UNTIL, cluster: str = "demo") -> list[AuditArchive]:
    found = []
    with alone(folder):
        while stone := archive_next(cluster, Archive(folder, KEY, OPERATOR, RING), until, lambda: NOW):
            found.append(stone)
    return found


def report(folder: Path | None = None) -> ChainReport:
    return verify("demo", RING, archive=folder)


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
