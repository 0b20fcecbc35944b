"""Is a silence called a hang when it is one, and only then?"""

import pytest

from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.records import Record
from schedulers.states import JobState
from tests.detectors.catalogue.building import Watching, at, context, records, step_line, unstamped_steps
from workloads.limits import effective_limits

WATCHDOG = (
    "[rank0]:[E501 10:05:00.408271257 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation"
    " timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for"
    " 600060 milliseconds before timing out."
)


def trained(steps: int = 40, every: float = 10.0) -> Watching:
    """Steps 1 to `steps`, the last one read at (steps - 1) * every."""
    watching = Watching()
    watching.see(unstamped_steps(1, steps, 0, every))
    return watching


def silent(watching: Watching, seconds: float, **facts: object) -> bool:
    """Whether a look without new lines, `seconds` after the last step, finds a hang."""
    last = watching.outcome.progress.last_step_at
    assert last is not None
    outcome = watching.see([], seconds=(last - at(0)).total_seconds() + seconds, **facts)
    return any(found.kind is AnomalyKind.HANG for found in outcome.findings)


LIMITS: list[tuple[str, int, float, float]] = [
    ("the floor, twice for one witness", 40, 10.0, 120.0),
    ("three times the rhythm, twice for one witness", 40, 60.0, 360.0),
    ("few steps known: the cold limit, twice", 10, 10.0, 1200.0),
    ("few steps of a slow job: its rhythm, not the cold limit", 10, 900.0, 5400.0),
    ("two steps known: the limit of the start, twice", 2, 10.0, 3600.0),
]


@pytest.mark.parametrize(("steps", "every", "limit"), [c[1:] for c in LIMITS], ids=[c[0] for c in LIMITS])
def test_limits(steps: int, every: float, limit: float) -> None:
    watching = trained(steps, every)
    assert not silent(watching, limit - 1)
    assert silent(watching, limit + 1)
    (found,) = [one for one in watching.findings.values() if one.kind is AnomalyKind.HANG]
    assert found.key == f"hang:{steps}"
    assert (found.happened_at, found.basis, found.step) == (at((steps - 1) * every), "step", steps)
    assert found.evidence[0].line == step_line(steps, every)
    assert (found.signature, found.layer, found.nodes, found.ranks) == ("hang.silence", Layer.UNKNOWN, (), ())
    assert "no second witness" in found.sentence


def test_a_second_witness_halves_the_time() -> None:
    watching = trained()
    watching.see(records([WATCHDOG], seconds=400))
    assert not silent(watching, 59)
    assert silent(watching, 61)
    found = watching.findings["hang:40"]
    assert "'pg.watchdog_timeout' is a second witness" in found.sentence
    assert found.layer is Layer.FRAMEWORK_COMM
    assert found.confidence > 0.9


def test_a_witness_from_before_the_last_step_is_none() -> None:
    watching = Watching()
    watching.see(records([WATCHDOG], seconds=-5))
    watching.see(unstamped_steps(1, 40, 0, 10))
    assert not silent(watching, 119)
    assert silent(watching, 121)


NOT_JUDGED: list[tuple[str, dict[str, object]]] = [
    ("blind", {"blind": True}),
    ("suspended", {"state": JobState.SUSPENDED}),
    ("ending", {"state": JobState.COMPLETING}),
    ("starting", {"state": JobState.CONFIGURING}),
    ("ended", {"state": JobState.COMPLETED}),
    ("unknown", {"state": JobState.UNKNOWN}),
    ("not read since", {"last_read_at": at(400)}),
    ("never read", {"last_read_at": None}),
]


@pytest.mark.parametrize("facts", [c[1] for c in NOT_JUDGED], ids=[c[0] for c in NOT_JUDGED])
def test_an_attempt_that_cannot_be_judged_is_not(facts: dict[str, object]) -> None:
    """Trap 32 among them: what was not read proves nothing."""
    assert not silent(trained(), 5000, **facts)


def test_the_time_of_a_suspension_does_not_count() -> None:
    watching = trained()
    assert not silent(watching, 5000, state=JobState.SUSPENDED)
    assert not silent(watching, 5100)
    assert silent(watching, 5125)


def test_silence_of_many_jobs_after_a_blind_hour_is_measured_from_what_was_read() -> None:
    watching = trained()
    assert not silent(watching, 3600, blind=True)
    watching.see(unstamped_steps(41, 360, 400, 10), seconds=4000)
    assert watching.findings == {}


def test_a_log_that_is_alive_does_not_hide_a_hang() -> None:
    """Trap 8: the heartbeat goes on, no steps."""
    watching = trained()
    beats = [f"heartbeat ok {n}" for n in range(30)]
    watching.see(records(beats, seconds=395, every=5))
    assert "hang:40" in watching.findings
    assert "the log is alive" in watching.findings["hang:40"].sentence


def test_the_same_step_printed_again_is_no_step() -> None:
    watching = trained()
    watching.see(records([step_line(40, 10)] * 30, seconds=395, every=5))
    assert "hang:40" in watching.findings


PAUSES: list[tuple[str, str]] = [
    ("an evaluation", "***** Running Evaluation *****"),
    ("a checkpoint", "saving checkpoint at iteration 40 to /ckpt in torch_dist format"),
    ("a load", " loading distributed checkpoint from /ckpt at iteration 40"),
]


@pytest.mark.parametrize("line", [c[1] for c in PAUSES], ids=[c[0] for c in PAUSES])
def test_a_pause_of_half_an_hour_with_a_phase_line_is_no_hang(line: str) -> None:
    """Trap 7."""
    watching = trained()
    watching.see(records([line], seconds=395))
    assert not silent(watching, 1800 + 5)
    assert silent(watching, 3600 + 10)
    assert "while " in watching.findings["hang:40"].sentence


def test_a_pause_is_measured_against_the_longest_of_its_kind() -> None:
    watching = trained()
    watching.see(records(["***** Running Evaluation *****"], seconds=400))
    watching.see(records(["** Finished validation **"], seconds=1000))
    watching.see(unstamped_steps(41, 20, 1010, 10))
    watching.see(records(["***** Running Evaluation *****"], seconds=1210))
    watching.see([], seconds=1210 + 3590)
    assert watching.findings == {}
    watching.see([], seconds=1210 + 3610)
    assert "hang:60" in watching.findings


def test_the_end_of_a_pause_starts_the_clock_again() -> None:
    watching = trained()
    watching.see(records(["saving checkpoint at iteration 40 to /ckpt"], seconds=395))
    watching.see(records(["successfully saved checkpoint from iteration   40 to /ckpt"], seconds=900))
    watching.see([], seconds=1015)
    assert watching.findings == {}
    watching.see([], seconds=1025)
    assert "hang:40" in watching.findings


def test_the_last_step_of_a_run_may_be_followed_by_a_long_end() -> None:
    watching = Watching()
    watching.see(records([step_line(n, 10, total=40) for n in range(1, 41)], every=10))
    assert not silent(watching, 3500)


def test_a_job_that_says_it_is_done_is_never_hung() -> None:
    watching = trained()
    watching.see(records(["[after training is done] datetime: 2026-05-01 10:10:00"], seconds=395))
    assert not silent(watching, 100_000)


def test_a_silence_that_the_job_has_come_back_from_is_not_called_a_hang_at_once() -> None:
    watching = trained(30)
    watching.see(unstamped_steps(31, 10, 490, 10))
    assert not silent(watching, 200 * 1.5 - 1)
    assert silent(watching, 200 * 1.5 + 1)


def test_a_hang_that_moves_again_ends_and_may_come_again() -> None:
    watching = trained()
    assert silent(watching, 121)
    assert not silent(watching, 500)
    watching.see(unstamped_steps(41, 5, 1000, 10))
    assert watching.ended == ["hang:40"]
    watching.see([], seconds=1040 + 2000)
    assert list(watching.findings) == ["hang:40", "hang:45"]


def test_a_hang_at_the_same_step_after_a_restart_inside_the_job_is_another_one() -> None:
    watching = trained()
    assert silent(watching, 121)
    restart = "[default] Worker group FAILED. 2/3 attempts left; will restart worker group"
    watching.see(records([restart], seconds=600))
    watching.see(unstamped_steps(31, 10, 700, 10))
    watching.see([], seconds=790 + 2000)
    assert list(watching.findings)[-1] == "hang:40:2"
    assert watching.ended == ["hang:40"]


def test_a_start_without_any_line_is_a_hang_in_the_end() -> None:
    watching = Watching()
    watching.see([], seconds=3599)
    assert watching.findings == {}
    watching.see([], seconds=3601)
    found = watching.findings["hang:start"]
    assert (found.basis, found.happened_at, found.step) == ("state", at(0), None)


def test_a_job_whose_steps_we_cannot_read_is_alive_while_it_prints() -> None:
    watching = Watching()
    for hour in range(1, 10):
        watching.see(records(["some words in a format of its own"], seconds=3000 * hour))
    assert watching.findings == {}
    watching.see([], seconds=27000 + 3601)
    assert watching.findings["hang:start"].basis == "file"


def test_a_job_that_has_not_started_is_not_judged() -> None:
    watching = Watching(context(started_at=None))
    watching.see([], seconds=100_000)
    assert watching.findings == {}


def test_limits_are_the_clusters_own() -> None:
    lower = {
        "hang_floor_seconds": 2.0,
        "hang_factor": 3.0,
        "hang_cold_seconds": 4.0,
        "startup_seconds": 20.0,
        "phase_floor_seconds": 10.0,
    }
    watching = Watching(context(limits=effective_limits(lower)))
    watching.see(unstamped_steps(1, 30, 0, 0.5))
    assert not silent(watching, 3.9)
    assert silent(watching, 4.1)


def test_a_wrong_stamp_makes_no_hang() -> None:
    """The step was read just now; that its stamp lies an hour back is the stamp's fault."""
    watching = Watching()
    lines = [f" [2026-05-01 12:{n // 6:02d}:{n % 6}0.5]{step_line(n, 10)}" for n in range(1, 41)]
    watching.see(records(lines, seconds=11, every=10))
    watching.see(records([f" [2026-05-01 11:07:00.5]{step_line(41, 10)}"], seconds=421))
    watching.see([], seconds=440)
    assert watching.findings == {}


def test_lines_that_come_in_bursts_leave_a_silence_as_long_as_a_burst() -> None:
    """Forty steps of 12 s come all at once after 480 s: the next ones are not missing before that time again."""
    watching = Watching()
    watching.see([], seconds=0)
    watching.see(records([step_line(n, 12) for n in range(1, 41)], seconds=480))
    assert not silent(watching, 0)
    burst = [Record("job.log", 0, step_line(n, 12), at(960)) for n in range(41, 81)]
    watching.see(burst, seconds=960)
    assert not silent(watching, 900)
    assert silent(watching, 1500)


def test_a_backlog_from_before_anybody_looked_is_no_burst() -> None:
    watching = Watching()
    watching.see(records([step_line(n, 1) for n in range(1, 61)], seconds=3600))
    assert silent(watching, 121)


def test_a_burst_is_forgotten_when_lines_come_one_by_one() -> None:
    watching = Watching()
    watching.see([], seconds=0)
    watching.see([Record("job.log", n, step_line(n, 1), at(600)) for n in range(1, 61)], seconds=600)
    for step in range(61, 75):
        watching.see(records([step_line(step, 1)], seconds=540 + step))
    assert silent(watching, 121)


ENDED_BY_SOMEBODY = (
    "slurmstepd: error: *** JOB 77 ON gpu-01 CANCELLED AT 2026-05-01T10:07:00 DUE TO JOB REQUEUE ***",
    "slurmstepd: error: *** STEP 77.0 ON gpu-01 CANCELLED AT 2026-05-01T10:07:00 DUE TO TIME LIMIT ***",
    "slurmstepd: error: *** JOB 77 ON gpu-01 CANCELLED AT 2026-05-01T10:07:00 DUE TO PREEMPTION ***",
)


@pytest.mark.parametrize("line", ENDED_BY_SOMEBODY)
def test_that_somebody_ends_the_job_is_no_witness_that_it_hangs(line: str) -> None:
    watching = trained()
    watching.see(records([line], seconds=400))
    assert not silent(watching, 61)
    assert not silent(watching, 121)
    assert not silent(watching, 609)
    assert silent(watching, 615)


@pytest.mark.parametrize("line", ENDED_BY_SOMEBODY)
def test_a_job_that_moves_after_it_was_said_to_be_over_is_judged_as_before(line: str) -> None:
    watching = trained()
    watching.see(records([line], seconds=400))
    watching.see(unstamped_steps(41, 45, 410, 1.0))
    assert silent(watching, 145)


def test_what_was_not_looked_at_makes_no_hang_of_an_end() -> None:
    watching = trained()
    watching.see(records([ENDED_BY_SOMEBODY[1]], seconds=400))
    assert not silent(watching, 130, missed_seconds=5.0, looked_at=at(405))
    assert not silent(watching, 300)


def test_a_second_witness_counts_after_it_was_said_to_be_over() -> None:
    watching = trained()
    watching.see(records([ENDED_BY_SOMEBODY[1]], seconds=400))
    watching.see(records([WATCHDOG], seconds=401))
    assert silent(watching, 61)


@pytest.mark.parametrize(("command_at", "found"), [(399, False), (401, True)], ids=["before it", "after it"])
def test_a_line_that_follows_our_own_command_is_no_second_witness(command_at: float, found: bool) -> None:
    watching = trained()
    watching.see(records([WATCHDOG], seconds=400), command_at=at(command_at))
    assert silent(watching, 61, command_at=at(command_at)) is found


def test_a_time_in_which_nobody_looked_does_not_count() -> None:
    watching = trained()
    assert not silent(watching, 7200, missed_seconds=7180.0, looked_at=at(391))
    assert not silent(watching, 7290)
    assert silent(watching, 7310)


def test_what_the_scheduler_has_not_called_running_since_may_have_ended() -> None:
    watching = trained()
    assert not silent(watching, 1000, listed_at=at(389))
    assert silent(watching, 1015, listed_at=at(400))


def test_while_the_scheduler_cannot_be_seen_nothing_is_known_to_hang() -> None:
    watching = trained()
    assert not silent(watching, 1000, listed_at=at(400), unseen=True)
    assert silent(watching, 1015, listed_at=at(400))


def test_a_clock_that_was_set_back_hides_no_hang_until_it_has_caught_up() -> None:
    watching = Watching()
    watching.see(unstamped_steps(1, 40, 7200, 10.0))
    watching.see([], seconds=600)
    assert not any(one.kind is AnomalyKind.HANG for one in watching.see([], seconds=719).findings)
    assert any(one.kind is AnomalyKind.HANG for one in watching.see([], seconds=721).findings)


def test_a_clock_that_was_set_back_refutes_no_hang_and_hides_no_step() -> None:
    watching = trained()
    assert silent(watching, 130)
    watching.see([], seconds=60)
    assert watching.ended == []
    watching.see(unstamped_steps(41, 45, 70, 1.0))
    assert watching.ended == ["hang:40"]


def test_a_file_that_is_stamped_by_a_clock_behind_ours_is_no_silence() -> None:
    watching = trained()
    for turn in range(40, 60):
        ours = 7200 + turn * 10.0
        watching.see(unstamped_steps(turn + 1, turn + 1, turn * 10.0, 10.0), seconds=ours, looked_at=at(ours - 10))
    assert watching.findings == {}
    assert not watching.see([], seconds=7899, looked_at=at(7890)).findings
    assert watching.see([], seconds=7901, looked_at=at(7899)).findings


def test_who_is_looked_at_for_the_first_time_is_silent_from_then_on() -> None:
    watching = Watching()
    watching.see(unstamped_steps(1, 40, 0, 10.0), seconds=7200, looked_at=at(7200))
    assert watching.findings == {}
    assert not any(one.kind is AnomalyKind.HANG for one in watching.see([], seconds=7319).findings)
    assert any(one.kind is AnomalyKind.HANG for one in watching.see([], seconds=7321).findings)
