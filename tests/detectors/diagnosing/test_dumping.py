"""Are dumps of Flight Recorders found among the files of a diagnosis, and do they name who holds the others up?"""

import gzip
import io
import pickle
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from detectors.attribution.standstill import standstill_of
from detectors.catalogue.kind import AnomalyKind
from detectors.diagnosing.accounting import Told
from detectors.diagnosing.dumping import dumps_among, read_dumps
from detectors.diagnosing.merging import workers
from detectors.diagnosing.naming import NameReader
from detectors.diagnosing.opening import places_of
from detectors.diagnosing.reading import Answer, Asked, read
from schedulers.states import JobState
from tests.detectors.dumps.building import BASE, dump, entry, pickled, trained, written
from tests.detectors.dumps.test_pickles import exploits

NOW = datetime.fromtimestamp(BASE + 3600, UTC)
STEP = "[{at:%Y-%m-%d %H:%M:%S}] iteration {n}/ 900 | consumed samples: {n} | lm loss: 2.1E+00 |"
Write = Callable[[Any], bytes]


def asked(*names: Path, node_of: str | None = None, told: Told | None = None) -> Answer:
    """What a diagnosis of these files gives."""
    reader = NameReader(node_of) if node_of else None
    return read(Asked([str(name) for name in names], told or Told(), reader, NOW, io.BytesIO()))


def hanging(folder: Path, write: Sequence[Write], world: int = 8, odd: int = 5) -> None:
    """Dumps of a job in which one rank never joined collective 78; written in turn by `write`."""
    folder.mkdir(exist_ok=True)
    for rank in range(world):
        entries = trained(77) if rank == odd else trained(77, "started")
        (folder / f"nccl_trace_rank_{rank}").write_bytes(write[rank % len(write)](dump(entries, world)))


def packed(values: Any) -> bytes:
    """A dump that somebody has packed."""
    return gzip.compress(written(values))


def log(folder: Path, until: float) -> Path:
    """A log with a step each 10 s, up to so many seconds after the dumps begin."""
    moments = [BASE + until - 10 * n for n in range(40)]
    lines = [STEP.format(at=datetime.fromtimestamp(at, UTC), n=40 - n) for n, at in enumerate(moments)]
    path = folder / "job.out"
    path.write_text("\n".join(reversed(lines)) + "\n")
    return path


@pytest.mark.parametrize("write", [[pickled], [written], [packed], [pickled, written, packed]])
def test_a_folder_of_dumps_names_who_never_joined(tmp_path: Path, write: list[Write]) -> None:
    hanging(tmp_path / "dumps", write)
    answer = asked(tmp_path / "dumps")
    assert answer.diagnosis is not None and not answer.diagnosis.nothing and not answer.troubles
    missing = standstill_of(answer.diagnosis.facts)
    assert missing is not None and (missing.case, missing.ranks, missing.source) == ("A", (5,), "fr_dump")
    judgement = answer.diagnosis.judgement
    assert (judgement.kind, judgement.happened_at.timestamp()) == (AnomalyKind.HANG, BASE + 78)
    assert len(answer.files) == 8
    quoted = {row["rank"] for row in judgement.body["evidence"] if row["source"] == "fr_dump"}
    assert 5 in quoted and len(quoted) == 2, "the odd one is quoted, and one of the others"


def test_the_names_of_the_files_tell_the_nodes(tmp_path: Path) -> None:
    for rank in range(4):
        folder = tmp_path / f"n{rank // 2:02d}"
        folder.mkdir(exist_ok=True)
        entries = trained(77, "scheduled" if rank == 3 else "started")
        (folder / f"dump-{rank}.json").write_bytes(written(dump(entries, 4)))
    answer = asked(tmp_path, node_of="%N/dump-%t.json")
    assert answer.diagnosis is not None
    culprits = [(one.host, one.rank) for one in answer.diagnosis.judgement.implicated if one.role == "culprit"]
    assert culprits == [("n01", 3)]


def test_dumps_of_a_job_that_ended_well_tell_of_nothing(tmp_path: Path) -> None:
    for rank in range(4):
        (tmp_path / f"rank_{rank}.json").write_bytes(written(dump(trained(77), 4)))
    answer = asked(tmp_path)
    assert answer.diagnosis is not None and answer.diagnosis.nothing
    on_the_way = tmp_path / "later"
    hanging(on_the_way, [written])
    ended = Told(state=JobState.COMPLETED, word="COMPLETED", ended_at=NOW, exit_code=0)
    answer = asked(on_the_way, told=ended)
    assert answer.diagnosis is not None and answer.diagnosis.nothing


def test_dumps_that_were_taken_while_it_trained_blame_nobody_later(tmp_path: Path) -> None:
    hanging(tmp_path / "dumps", [written])
    for until, ranks in ((60.0, (5,)), (600.0, None)):
        answer = asked(tmp_path / "dumps", log(tmp_path, until))
        assert answer.diagnosis is not None
        missing = standstill_of(answer.diagnosis.facts)
        assert (missing.ranks if missing else None) == ranks


def test_hostile_files_among_them_are_named_and_the_others_read(tmp_path: Path) -> None:
    folder, made = tmp_path / "dumps", tmp_path / "made"
    hanging(folder, [pickled])
    for number, content in enumerate(exploits(f"touch {made}").values()):
        (folder / f"trace_{100 + number}").write_bytes(content)
    (folder / "bomb_99.json").write_bytes(gzip.compress(b'{"entries": [' + b" " * (100 << 20)))
    (folder / "fifo").symlink_to("/dev/zero")
    answer = asked(folder)
    assert not made.exists()
    assert answer.diagnosis is not None
    missing = standstill_of(answer.diagnosis.facts)
    assert missing is not None and missing.ranks == (5,)
    assert len([one for one in answer.troubles if "nothing of it was run" in one]) >= 10
    assert [one for one in answer.troubles if "bomb_99" in one and "64 MiB" in one]


def test_nothing_but_hostile_files_is_nothing_read(tmp_path: Path) -> None:
    (tmp_path / "trace_1").write_bytes(exploits("true")["eval"])
    answer = asked(tmp_path)
    assert answer.diagnosis is None and len(answer.troubles) == 1


def test_of_two_dumps_of_a_rank_the_newer_one_counts(tmp_path: Path) -> None:
    hanging(tmp_path, [written])
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "trace_3").write_bytes(written(dump(trained(5, "scheduled"))))
    answer = asked(tmp_path)
    assert answer.diagnosis is not None
    missing = standstill_of(answer.diagnosis.facts)
    assert missing is not None and missing.ranks == (5,)


def test_groups_that_each_rank_numbers_by_itself_are_told_apart(tmp_path: Path) -> None:
    for rank in range(4):
        pair = [2 * (rank // 2), 2 * (rank // 2) + 1]
        config = {"0": {"name": "0", "desc": "tensor", "ranks": str(pair)}}
        changes = {"process_group": ("0", "tensor")}
        entries = [entry(n, n, "completed", **changes) for n in range(1, 9 + 80 * (rank // 2))]
        if rank == 2:
            entries.append(entry(100, 90, "started", **changes))
        (tmp_path / f"trace_{rank}").write_bytes(pickle.dumps(dump(entries, pg_config=config)))
    answer = asked(tmp_path)
    assert answer.diagnosis is not None
    missing = standstill_of(answer.diagnosis.facts)
    assert missing is not None and missing.ranks == (3,), "ranks 0 and 1 have another group of that name"


def test_many_dumps_are_read_side_by_side_in_little_memory(tmp_path: Path) -> None:
    content = pickled(
        dump([entry(n, n, "completed") for n in range(1, 2_000)] + [entry(2_000, 2_000, "started")], 16)
    )
    for rank in range(16):
        (tmp_path / f"trace_{rank}").write_bytes(content)
    dumps, others = dumps_among(places_of([str(tmp_path)])[0], None)
    began = time.monotonic()
    with workers(True) as pool:
        made = read_dumps(dumps, pool)
    assert not others and sorted(made.by_rank) == list(range(16))
    assert sum(len(pickle.dumps(one)) for _name, one in made.by_rank.values()) < 64_000, "entries do not come along"
    assert time.monotonic() - began < 30


def test_a_log_that_begins_with_json_is_a_log(tmp_path: Path) -> None:
    path = log(tmp_path, 60.0)
    path.write_text('{"version": 1, "config": "entries", "pg_config": "x"}\n' + path.read_text())
    answer = asked(path)
    assert answer.diagnosis is not None and not answer.troubles
    assert answer.diagnosis.facts.attempt.last_step_at is not None
    assert answer.diagnosis.facts.attempt.last_step_at > NOW - timedelta(hours=2)
