"""Does the journal remember what was begun, through kills, torn lines, full disks and a second process?"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from controller.advice import Advice, read_advice
from controller.entries import Action, Entry, Outcome
from controller.journal import BadJournal, Journal, read_entries
from tests.controller.advisor import advice
from tests.controller.scripted import START, row

ADVICE = read_advice(advice())
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def write_a_recovery(journal: Journal, wanted: Advice = ADVICE) -> None:
    """Up to the hold and the mark, with exclusions on their way."""
    journal.open_entry(wanted)
    journal.announced(wanted, START)
    journal.intend(wanted, Action.REQUEUE_HOLD, START)
    journal.answered(wanted, Action.REQUEUE_HOLD, Outcome.ACCEPTED, START)
    journal.seen(wanted, Action.REQUEUE_HOLD, 1, START)
    journal.told(wanted, Action.REQUEUE_HOLD, START)
    journal.intend(wanted, Action.MARK, START)
    journal.answered(wanted, Action.MARK, Outcome.UNCLEAR, START, "no answer")
    journal.intend(wanted, Action.EXCLUSIONS, START, ours=("n03",))


def only(journal: Journal) -> Entry:
    (entry,) = journal.entries.values()
    return entry


def test_what_was_written_is_there_after_a_restart(path: Path) -> None:
    with Journal(path, START) as journal:
        write_a_recovery(journal)
        before = only(journal)
    with Journal(path, START) as journal:
        assert only(journal) == before
    assert before.announced and before.holding and before.ours == ("n03",)
    assert before.doing(Action.REQUEUE_HOLD).told
    assert before.doing(Action.MARK).sentence == "no answer"
    assert before.doing(Action.EXCLUSIONS).asked


def test_every_torn_end_is_survived(path: Path) -> None:
    """Whatever the length of the file that a kill left behind, it opens, and at most the last line is missing."""
    with Journal(path, START) as journal:
        write_a_recovery(journal)
    whole = path.read_bytes()
    known = -1
    borders = {place + more for place, byte in enumerate(whole) if byte == 10 for more in (-1, 0, 1, 2)}
    for length in sorted({*borders, *range(0, len(whole), 97), len(whole)}):
        path.write_bytes(whole[:length])
        with Journal(path, START) as journal:
            doings = len(only(journal).doings) if journal.entries else -1
            assert doings >= known
            known = doings
            journal.set_fence(7, START)
        assert all(json.loads(line) for line in path.read_text().splitlines())
    assert known == 3


def test_garbage_at_the_end_is_cut_off_and_in_the_middle_refused(path: Path) -> None:
    with Journal(path, START) as journal:
        write_a_recovery(journal)
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0" * 500 + b"\n\xff\xfe\n")
    with Journal(path, START) as journal:
        assert len(only(journal).doings) == 3
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], b"\0\0\0\n", *lines[4:]]))
    with pytest.raises(BadJournal, match=rf"{path}:5: .*cannot be read"):
        Journal(path, START)
    assert len(read_entries(path)) == 1, "the watchdog passes over it"


@pytest.mark.parametrize(
    "line",
    [
        {"what": "intent", "id": "x", "g": 1, "action": "mark", "at": START.isoformat()},
        {"what": "dance"},
        {"what": "opened", "advice": {}},
        {"what": "fence", "fence": "many"},
        {},
    ],
)
def test_a_line_of_another_kind_is_refused_with_its_number(path: Path, line: dict[str, object]) -> None:
    path.write_text(json.dumps(line) + "\n")
    with pytest.raises(BadJournal, match=":1: "):
        Journal(path, START)


def test_finished_entries_are_dropped_at_the_start(path: Path) -> None:
    with Journal(path, START) as journal:
        for number in range(1, 30):
            write_a_recovery(journal, replace(ADVICE, advice_id=f"{number:08d}-0000-4000-8000-000000000000"))
        for number in range(1, 29):
            done = replace(ADVICE, advice_id=f"{number:08d}-0000-4000-8000-000000000000")
            journal.finished(done, START, "DESIRED_STATE_OBSERVED")
        journal.set_fence(4, START)
        open_before = only(journal)
    before = path.stat().st_size
    with Journal(path, START) as journal:
        assert only(journal) == open_before
        assert journal.memory.fence == 4
    assert path.stat().st_size < before / 10


def test_a_large_journal_is_compacted_while_it_is_used(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.journal.COMPACT_BYTES", 1000)
    with Journal(path, START) as journal:
        write_a_recovery(journal)
        journal.finished(ADVICE, START, "JOB_GONE")
        journal.compact_if_large(START)
        assert path.stat().st_size < 500
        write_a_recovery(journal)
        assert read_entries(path) == tuple(journal.entries.values())


def test_our_exclusions_are_remembered_for_a_while(path: Path) -> None:
    with Journal(path, START) as journal:
        write_a_recovery(journal)
        journal.seen(ADVICE, Action.EXCLUSIONS, 1, START)
        journal.finished(ADVICE, START, "DESIRED_STATE_OBSERVED")
    with Journal(path, START) as journal:
        assert journal.memory.added[12, "trainer"].nodes == ("n03",)
    with Journal(path, START + timedelta(days=31)):
        pass
    with Journal(path, START) as journal:
        assert journal.memory.added == {}


def test_a_command_that_was_never_sent_is_no_try(path: Path) -> None:
    with Journal(path, START) as journal:
        journal.open_entry(ADVICE)
        for _ in range(5):
            journal.intend(ADVICE, Action.REQUEUE_HOLD, START)
            journal.answered(ADVICE, Action.REQUEUE_HOLD, Outcome.UNSENT, START)
        doing = only(journal).doing(Action.REQUEUE_HOLD)
        assert doing.tries == 0 and not doing.asked and not only(journal).begun


def test_two_controllers_on_one_host_cannot_run(path: Path) -> None:
    running = pytest.raises(BadJournal, match=f"another controller .process {os.getpid()}. uses the journal")
    with Journal(path, START), running:
        Journal(path, START)
    with Journal(path, START):
        pass


def test_a_kill_gives_the_lock_free(path: Path) -> None:
    script = (
        "import sys, time\nfrom datetime import datetime, UTC\nfrom pathlib import Path\n"
        "from controller.journal import Journal\n"
        "journal = Journal(Path(sys.argv[1]), datetime.now(UTC))\njournal.set_fence(3, datetime.now(UTC))\n"
        "print('ready', flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, path], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        with pytest.raises(BadJournal, match=f"process {process.pid}"):
            Journal(path, START)
        process.kill()
        process.wait(60)
    with Journal(path, START) as journal:
        assert journal.memory.fence == 3


def test_a_full_disk_stops_before_the_command_and_spoils_nothing(path: Path) -> None:
    with Journal(path, START) as journal:
        journal.open_entry(ADVICE)
        good = path.read_bytes()
        real = os.dup(journal._file)
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, journal._file)
        with pytest.raises(BadJournal, match="cannot be written"):
            journal.intend(ADVICE, Action.REQUEUE_HOLD, START)
        assert not only(journal).doings
        os.dup2(real, journal._file)
        with path.open("ab") as file:
            file.write(b'{"a line whose write failed": "' + b"x" * 5000)
        journal.intend(ADVICE, Action.MARK, START)
        os.close(real), os.close(full)
    assert path.read_bytes().startswith(good)
    assert path.stat().st_size < len(good) + 1000
    with Journal(path, START) as journal:
        assert list(only(journal).doings) == [Action.MARK]


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_a_journal_that_is_no_plain_file_is_refused(path: Path, kind: str) -> None:
    if kind == "link":
        path.symlink_to(path.parent / "elsewhere")
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    if kind == "pipe":
        assert read_entries(path) == ()
        return
    with pytest.raises(BadJournal):
        Journal(path, START)
    assert not (path.parent / "elsewhere").exists()


@pytest.mark.parametrize("how", ["of another user", "writable by others"])
def test_a_journal_that_somebody_else_can_write_is_refused(
    path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes it says which held jobs are ours to release."""
    with Journal(path, START) as journal:
        write_a_recovery(journal)
    if how == "writable by others":
        path.chmod(0o602)
    elif os.geteuid() == 0:
        os.chown(path, 12345, 12345)
    else:  # only root can give files away
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(BadJournal, match="it must be ours, with mode 600"):
        Journal(path, START)
    with pytest.raises(BadJournal, match="it must be ours"):
        read_entries(path)


def test_what_waits_in_the_place_of_the_new_journal_gets_none_of_it(path: Path) -> None:
    theirs = path.parent / "theirs"
    theirs.touch(mode=0o666)
    os.link(theirs, path.with_name(path.name + ".new"))
    with Journal(path, START) as journal:
        write_a_recovery(journal)
    assert theirs.read_bytes() == b""
    assert path.stat().st_ino != theirs.stat().st_ino


def test_a_huge_journal_is_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.journal.LARGEST_JOURNAL", 1000)
    path.write_bytes(b" " * 2000)
    with pytest.raises(BadJournal, match="larger than"):
        Journal(path, START)


def test_only_its_owner_reads_the_journal(path: Path) -> None:
    with Journal(path, START):
        assert path.stat().st_mode & 0o777 == 0o600


def test_the_watchdog_reads_beside_the_writer(path: Path) -> None:
    assert read_entries(path) == ()
    with Journal(path, START) as journal:
        write_a_recovery(journal)
        with path.open("ab") as file:
            file.write(b'{"what": "int')
        assert read_entries(path) == (only(journal),)


@pytest.mark.parametrize(
    ("before", "after", "others"),
    [(4, 4, False), (4, 5, False), (4, 6, True), (4, 1, True)],
    ids=["the same lease", "it ran out, and was ours again", "somebody else had it", "all numbers are new"],
)
def test_which_entries_another_controller_may_have_carried_on(
    tmp_path: Path, before: int, after: int, others: bool
) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path, START) as journal:
        journal.set_fence(before, START)
        journal.open_entry(read_advice(advice()))
        journal.set_fence(after, START)
    assert [entry.others for entry in read_entries(path)] == [others]
    with Journal(path, START) as journal:  # and after it was compacted
        assert [entry.others for entry in journal.entries.values()] == [others]


@pytest.mark.parametrize(("restarts", "nodes"), [(0, ()), (1, ("n03",)), (4, ("n03",))])
def test_nodes_of_ours_are_those_of_one_job_and_not_of_its_number(
    tmp_path: Path, restarts: int, nodes: tuple[str, ...]
) -> None:
    """slurmctld may lose its state and give a number once more: what the next job excludes is its user's own."""
    wanted, path = read_advice(advice()), tmp_path / "journal.jsonl"
    with Journal(path, START) as journal:
        journal.open_entry(wanted)
        journal.intend(wanted, Action.EXCLUSIONS, START, ours=("n03",))
        journal.seen(wanted, Action.EXCLUSIONS, 1, START)
        journal.finished(wanted, START, "DESIRED_STATE_OBSERVED")
    with Journal(path, START) as journal:
        assert journal.memory.added_to(row(restarts=restarts)) == nodes
        assert journal.memory.added_to(row(restarts=restarts, user="other")) == ()
