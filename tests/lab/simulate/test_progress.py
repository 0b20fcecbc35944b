"""Does a job write what a training framework writes, and does it resume where it saved?"""

import re

import pytest

from lab.simulate.logs import FileLogs, Unwritable, expand_output
from tests.lab.simulate.stage import START, Stage

PROGRESS = re.compile(
    r"^ \[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}\] iteration\s+(\d+)/\s*(\d+) \| consumed samples:\s+\d+ \| "
    r"elapsed time per iteration \(ms\): ([\d.]+) \| .*lm loss: \d\.\d{6}E[+-]\d\d \|",
    re.MULTILINE,
)
SAVED = re.compile(r"successfully saved checkpoint from iteration\s+(\d+) to /ckpt/llama \[ t 1/8, p 1/1 \]")
LOADED = re.compile(r"successfully loaded checkpoint from /ckpt/llama \[ t 1/8, p 1/1 \] at iteration (\d+)")
RANK = re.compile(
    r"^(n\d\d):\d+:\d+ \[(\d)\] NCCL INFO ncclCommInitRankConfig comm 0x\w+ rank (\d+) nranks 16 ", re.M
)


def test_a_job_counts_its_steps_and_saves():
    stage = Stage()
    job = stage.submit(nodes=2)
    stage.until(job, "COMPLETED")
    steps = PROGRESS.findall(stage.log(job))
    assert [(int(step), int(of)) for step, of, _ in steps] == [(step, 10) for step in range(1, 11)]
    assert all(970 <= float(milliseconds) <= 1030 for _, _, milliseconds in steps)
    assert SAVED.findall(stage.log(job)) == ["4", "8", "10"]
    assert not LOADED.search(stage.log(job))
    assert stage.log(job).splitlines()[-1].startswith("[after training is done] datetime: ")


def test_the_start_tells_which_rank_runs_where():
    stage = Stage()
    job = stage.running(nodes=2)
    ranks = [(host, int(gpu), int(rank)) for host, gpu, rank in RANK.findall(stage.log(job))]
    assert ranks == [(f"n{1 + rank // 8:02d}", rank % 8, rank) for rank in range(16)]


def test_the_next_attempt_resumes_from_the_last_checkpoint():
    stage = Stage()
    job = stage.submit(faults=[{"kind": "exit", "step": 7, "attempt": 0}])
    stage.until(job, "FAILED")
    assert stage.logs.checkpoints == {"1.log": 4}
    stage.do("scontrol", "requeue", "1")
    stage.until(job, "COMPLETED")
    assert LOADED.findall(stage.log(job)) == ["4"]
    assert [int(step) for step, _, _ in PROGRESS.findall(stage.log(job))] == [5, 6, 7, 8, 9, 10]


def test_without_a_checkpoint_the_next_attempt_begins_anew():
    stage = Stage()
    job = stage.submit(checkpoint_every=0, faults=[{"kind": "exit", "step": 7, "attempt": 0}])
    stage.until(job, "FAILED")
    stage.do("scontrol", "requeue", "1")
    stage.until(job, "COMPLETED")
    assert len(PROGRESS.findall(stage.log(job))) == 10
    assert "will not load any checkpoints and will start from random" in stage.log(job)


@pytest.mark.parametrize(("mode", "kept"), [("truncate", False), ("append", True)])
def test_the_log_of_the_attempt_before_is_kept_only_when_appending(mode, kept):
    stage = Stage()
    job = stage.submit(
        open_mode=mode, faults=[{"kind": "exit", "step": 3, "attempt": 0, "lines": ["first attempt"]}]
    )
    stage.until(job, "FAILED")
    stage.do("scontrol", "requeuehold", "1")
    assert "first attempt" in stage.log(job)  # Slurm truncates at the next start, not before
    stage.do("scontrol", "release", "1")
    stage.until(job, "COMPLETED")
    assert ("first attempt" in stage.log(job)) is kept


def test_the_same_story_whatever_the_stride_of_time():
    told = []
    for stride in (0.05, 0.7, 60.0):
        stage = Stage()
        jobs = [
            stage.submit(nodes=2, faults=[{"kind": "ecc", "step": 5, "node": 1}]),
            stage.submit(nodes=2, faults=[{"kind": "node_down", "step": 6, "attempt": 0}]),
            stage.submit(nodes=3, time_limit_seconds=4),
        ]
        while stage.cluster.now < START + 60:
            stage.cluster.advance(min(START + 60, stage.cluster.now + stride))
        told.append((stage.logs.files, [(job.word, job.restarts, job.nodes, job.submitted_at) for job in jobs]))
    assert told[0] == told[1] == told[2]


def test_time_that_runs_backwards_changes_nothing():
    stage = Stage()
    stage.wait(5)
    stage.cluster.advance(START)
    assert stage.cluster.now == START + 5


FIELDS = {"x": "llama", "j": "12", "u": "trainer", "N": "n03", "t": "0"}


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("%x_%j.log", "llama_12.log"),
        ("%5j-%12j", "00012-0000000012"),
        ("%%j", "%j"),
        ("%x/%N_%t.out", "llama/n03_0.out"),
        ("%q%", "%q%"),
        ("%n", "%n"),
        ("%5x", "llama"),
    ],
)
def test_the_fields_of_an_output_path(pattern, path):
    assert expand_output(pattern, FIELDS) == path


def test_files_are_truncated_in_place_and_written_to_their_end(tmp_path):
    logs = FileLogs(tmp_path)
    logs.start("a.log", append=False)
    logs.write("a.log", "one\n")
    inode = (tmp_path / "a.log").stat().st_ino
    logs.start("a.log", append=True)
    logs.write("a.log", "two \ud800\n")
    assert (tmp_path / "a.log").read_text() == "one\ntwo ?\n"
    logs.start("a.log", append=False)
    assert (tmp_path / "a.log").read_text() == ""
    assert (tmp_path / "a.log").stat().st_ino == inode
    logs.keep("a.log", 40)
    assert (tmp_path / "a.log.checkpoint").read_text() == "40\n"
    logs.remove("a.log")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["../out", "/etc/out", "a/../../out", "", "no-folder/a.log", "nul\0", "x" * 300])
def test_nothing_outside_the_folder_is_written(tmp_path, path):
    folder = tmp_path / "logs"
    folder.mkdir()
    logs = FileLogs(folder)
    with pytest.raises(Unwritable):
        logs.start(path, append=False)
    logs.write(path, "text")
    logs.remove(path)
    assert list(tmp_path.iterdir()) == [folder]
    assert list(folder.iterdir()) == []


def test_a_job_whose_output_cannot_be_written_fails_at_its_start(tmp_path):
    stage = Stage()
    stage.cluster.logs = FileLogs(tmp_path)
    job = stage.submit(name="../../escape", output="%x.log")
    stage.until(job, "FAILED")
    assert (job.exit_code, job.exit_signal, job.reason) == (0, 53, "JobLaunchFailure")
