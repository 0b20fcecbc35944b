"""Is a recorded listing read as it was meant, and is a broken one never taken for a shorter one?"""

import json
import math
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedulers.observation import LATEST, Observation, read, written
from schedulers.port import Garbled, Limits, NoSuchJob, Unreachable
from schedulers.slurm import listing
from schedulers.slurm.adapter import Slurm
from schedulers.slurm.listing import COLUMNS, Borders
from schedulers.states import JobState
from schedulers.transport import Answer, TimedOut
from tests.schedulers.recording import BORDERS, HOSTILE, RECORDED, recorded
from tests.schedulers.replay import Replay

VERSIONS = sorted(folder.name for folder in RECORDED.iterdir())


@pytest.fixture(params=VERSIONS)
def version(request) -> str:
    return request.param


def slurm(version: str, **answers: str | Answer | Exception) -> Slurm:
    return Slurm(Replay(version, answers), 10)


def by_name(version: str):
    rows = slurm(version, squeue="jobs").jobs().jobs
    return {row.name: row for row in rows if row.het_leader in (None, row.number) and row.array_task != 1}


@pytest.mark.parametrize(
    ("name", "state", "word", "reason"),
    [
        ("running", JobState.RUNNING, "RUNNING", ""),
        ("suspended", JobState.SUSPENDED, "SUSPENDED", ""),
        ("stubborn", JobState.COMPLETING, "COMPLETING", "job requeued in held state"),
        ("toolarge", JobState.PENDING, "PENDING", None),
        ("requeued", JobState.PENDING, "PENDING", "BeginTime"),
        ("never", JobState.PENDING, "PENDING", "DependencyNeverSatisfied"),
        ("userhold", JobState.HELD, "PENDING", "JobHeldUser"),
        ("adminhold", JobState.HELD, "PENDING", "JobHeldAdmin"),
        ("ours", JobState.HELD, "PENDING", "job requeued in held state"),
        ("special", JobState.HELD, "SPECIAL_EXIT", None),
        ("succeeds", JobState.COMPLETED, "COMPLETED", ""),
        ("fails", JobState.FAILED, "FAILED", "NonZeroExitCode"),
        ("killed", JobState.FAILED, "FAILED", None),
        ("nodefail", JobState.NODE_FAIL, "NODE_FAIL", "NodeDown"),
        ("limited", JobState.TIMEOUT, "TIMEOUT", "TimeLimit"),
        ("cancelled", JobState.CANCELLED, "CANCELLED", ""),
    ],
)
def test_each_state_is_told_apart_and_keeps_slurms_word(version, name, state, word, reason):
    row = by_name(version)[name]
    assert (row.state, row.word) == (state, word)
    assert reason in (None, row.reason)


@pytest.mark.parametrize(
    ("name", "code", "signal"),
    [("fails", 3, 0), ("killed", 0, 9), ("segfault", 139, 0), ("nowhere", 0, 53), ("succeeds", 0, 0)],
)
def test_an_exit_is_a_code_or_a_signal(version, name, code, signal):
    row = by_name(version)[name]
    assert (row.exit_code, row.exit_signal) == (code, signal)


def test_times_are_known_where_they_are_facts_and_not_plans(version):
    rows = by_name(version)
    assert rows["fails"].submitted_at <= rows["fails"].started_at <= rows["fails"].ended_at
    assert rows["fails"].submitted_at.tzinfo is UTC
    assert rows["fails"].submitted_at.year == 2026
    assert rows["running"].started_at is not None and rows["running"].ended_at is None
    for name in ("requeued", "ours", "adminhold", "stubborn", "special"):
        assert (rows[name].started_at, rows[name].ended_at) == (None, None)
    assert rows["requeued"].eligible_at > rows["requeued"].submitted_at


def test_what_a_user_asked_for_is_read(version):
    rows = by_name(version)
    assert rows["running"].comment == '{"APS":{"auto_resume_mode":"requeue"}}'
    assert (rows["running"].comment, rows["fails"].comment) != ("", "(null)")
    assert rows["fails"].comment == rows["fails"].admin_comment == ""
    assert rows["ours"].admin_comment == "rekindle/1 g=1 r=0 until=9"
    assert rows["norequeue"].requeue_allowed is False and rows["running"].requeue_allowed is True
    assert rows["nodefail"].required_nodes == ("n05",)
    assert rows["running"].nodes == ("n01", "n02") and rows["running"].node_count == 2
    assert (rows["paths"].stdout, rows["paths"].stderr) == ("/lab/jobs/%x_%j_%t.log", "/lab/jobs/%N.err")
    assert rows["running"].work_dir == "/lab/jobs"
    assert rows["never"].dependency.startswith("afterok:")
    assert (rows["running"].user, rows["running"].user_id, rows["running"].account) == ("root", 0, "root")


def test_a_hostile_name_stays_one_name_of_one_job(version):
    rows = slurm(version, squeue="jobs").jobs().jobs
    (row,) = [row for row in rows if row.name == HOSTILE]
    assert row.comment == HOSTILE
    assert 7 in {row.number for row in rows} and len({row.number for row in rows}) == len(rows)


def test_running_tasks_of_an_array_have_numbers_and_waiting_ones_are_one_row(version):
    rows = slurm(version, squeue="jobs").jobs().jobs
    leader = next(row for row in rows if row.name == "array" and row.state is JobState.PENDING)
    assert (leader.number, leader.array_job, leader.array_task) == (leader.array_job, leader.array_job, None)
    tasks = [row for row in rows if row.array_job == leader.number and row is not leader]
    assert sorted(row.array_task for row in tasks) == [0, 1]
    assert all(row.number != leader.number for row in tasks)


def test_the_parts_of_a_heterogeneous_job_name_their_leader(version):
    rows = [row for row in slurm(version, squeue="jobs").jobs().jobs if row.het_leader]
    assert len(rows) == 2
    assert {row.het_leader for row in rows} == {min(row.number for row in rows)}


@pytest.mark.parametrize("name", ["excluded", "hostile", "array", "het"])
def test_one_job_is_found_among_all_that_slurm_shows_of_it(version, name):
    command, _ = recorded(version, f"job_{name}")
    number = int(command[-1])
    detail = slurm(version, squeue=f"job_{name}", scontrol=f"show_{name}").job(number)
    assert detail.row.number == number
    assert detail.excluded_nodes == (("n04", "n05") if name == "excluded" else ())


def test_an_empty_listing_is_an_answer(version):
    assert slurm(version, squeue="jobs_none").jobs().jobs == ()


@pytest.mark.parametrize("name", ["job_unknown", "job_beyond"])
def test_a_job_that_slurm_does_not_know_is_no_garbled_answer(version, name):
    with pytest.raises(NoSuchJob):
        slurm(version, squeue=name).job(60_000_000)


@pytest.mark.parametrize("number", [0, -1, 2**32])
def test_what_can_be_no_job_is_not_even_asked_for(number):
    with pytest.raises(NoSuchJob, match="is no job number"):
        Slurm(Replay("22.05", {}), 10).job(number)


@pytest.mark.parametrize("name", ["down_jobs", "hung_jobs"])
def test_a_scheduler_that_does_not_answer_is_unreachable(version, name):
    with pytest.raises(Unreachable) as caught:
        slurm(version, squeue=name).jobs()
    assert caught.value.raw == recorded(version, name)[1].stderr


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param(TimedOut("late"), Unreachable, id="no answer in time"),
        pytest.param(Answer(-9, "", ""), Unreachable, id="killed"),
        pytest.param(Answer(255, "", "ssh: Connection closed"), Unreachable, id="the way there broke"),
        pytest.param(Answer(1, "", "squeue: error: no such option"), Garbled, id="an error that nobody knows"),
        pytest.param(Answer(0, "", "slurm_load_jobs error: x"), Garbled, id="an error behind a good return code"),
        pytest.param(Answer(0, "hello\n", ""), Garbled, id="no listing at all"),
        pytest.param(Answer(0, "\n", ""), Garbled, id="an empty line"),
    ],
)
def test_no_answer_is_never_an_empty_listing(answer, error):
    with pytest.raises(error):
        slurm("22.05", squeue=answer).jobs()


def test_a_column_that_slurm_does_not_know_is_no_empty_column(version):
    with pytest.raises(Garbled, match="Invalid job format specification"):
        slurm(version, squeue="unknown_column").jobs()


def test_noise_beside_a_listing_is_no_error():
    text = recorded("22.05", "jobs")[1].stdout
    noisy = Answer(0, text, "squeue: error: Parsing error at unrecognized key\n")
    assert slurm("22.05", squeue=noisy).jobs() == slurm("22.05", squeue="jobs").jobs()


def record(**changed: str) -> str:
    """One record of a running job with some columns changed."""
    fields = dict.fromkeys(COLUMNS, "") | {
        "JobID": "7",
        "ArrayJobID": "7",
        "ArrayTaskID": "N/A",
        "HetJobID": "N/A",
        "State": "RUNNING",
        "Reason": "None",
        "RestartCnt": "0",
        "SubmitTime": "1795969124",
        "EligibleTime": "1795969124",
        "StartTime": "1795969124",
        "EndTime": "NONE",
        "exit_code": "0",
        "NodeList": "n01",
        "NumNodes": "1",
        "PriorityLong": "5",
        "Requeue": "1",
        "BatchFlag": "1",
        "UserID": "0",
    }
    return BORDERS.field.join((fields | changed).values()) + f"{BORDERS.record}\n"


def test_a_job_that_begins_at_the_end_of_all_times_is_listed_and_can_be_pushed():
    """Its user chose it (`--begin`): one job must not hide all others from a site that is told of them."""
    jobs = slurm("22.05", squeue=Answer(0, record(EligibleTime="253402300799"), "")).jobs().jobs
    assert [row.eligible_at for row in jobs] == [LATEST]
    told = Observation(1, LATEST, jobs, (), Limits("22.05.8", "c", 300, 121, 30, tested=True), answers=True)
    assert read(json.loads(json.dumps(written(told)))) == told


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"JobID": "x7"}, "JobID is 'x7' and no number"),
        ({"JobID": "-7"}, "JobID is '-7'"),
        ({"JobID": "٧"}, "no number"),
        ({"RestartCnt": ""}, "RestartCnt is ''"),
        ({"SubmitTime": "2026-11-29T16:18:44"}, "is no time in epoch seconds"),
        ({"SubmitTime": "999999999999"}, "beyond the calendar"),
        ({"exit_code": "1:x"}, "exit signal"),
        ({"NodeList": "n[3-1]"}, "runs backwards"),
        ({"UserID": "root"}, "UserID is 'root'"),
        ({"Name": f"a{BORDERS.field}b"}, "30 fields instead of 29"),
    ],
)
def test_one_bad_field_garbles_the_listing(changed, sentence):
    answer = Answer(0, record() + record(**changed), "")
    with pytest.raises(Garbled, match=sentence) as caught:
        slurm("22.05", squeue=answer).jobs()
    assert caught.value.raw


@pytest.mark.parametrize("word", ["N/A", "(null)", "Unknown", "NONE", "None", "", "0"])
def test_slurms_words_for_no_time_are_no_time(word):
    (row,) = listing.rows(record(SubmitTime=word, StartTime=word, EligibleTime=word), BORDERS)
    assert (row.submitted_at, row.started_at, row.eligible_at) == (None, None, None)


def test_a_state_of_a_later_version_is_unknown_and_keeps_its_word():
    (row,) = listing.rows(record(State="HIBERNATING"), BORDERS)
    assert (row.state, row.word) == (JobState.UNKNOWN, "HIBERNATING")


@pytest.mark.parametrize(("priority", "state"), [("0", JobState.HELD), ("4294901754", JobState.PENDING)])
def test_a_job_whose_reservation_ended_is_held_until_somebody_lets_it_go(priority, state):
    """Observed on 22.05.8: `scontrol release` gives it a priority, and the word stays."""
    (row,) = listing.rows(record(State="RESV_DEL_HOLD", PriorityLong=priority), BORDERS)
    assert (row.state, row.word) == (state, "RESV_DEL_HOLD")


def test_an_exit_written_in_two_parts_is_read_too():
    (row,) = listing.rows(record(State="FAILED", exit_code="3:0", EndTime="1795969130"), BORDERS)
    assert (row.exit_code, row.exit_signal, row.ended_at) == (3, 0, datetime.fromtimestamp(1795969130, UTC))


def test_one_number_for_two_jobs_garbles_the_listing():
    with pytest.raises(ValueError, match="shows job 7 twice"):
        listing.rows(record() * 2, BORDERS)


def test_borders_differ_in_each_call_and_are_asked_of_slurm():
    first, second = Borders.fresh(), Borders.fresh()
    assert first != second
    assert first.layout().count(first.field) == len(COLUMNS) - 1
    assert first.layout().endswith(f":{first.record}")


def test_a_million_guesses_in_names_and_paths_hit_no_border():
    """A forged record could carry our mark, and the watchdog would release what an administrator holds."""
    borders = Borders.fresh()
    alphabets = [26 * 2 + 10 + 2 if sign.isalnum() or sign in "-_" else 1 for sign in borders.field]
    assert math.prod(alphabets) >= 2**48
    fresh = "".join(Borders.fresh().field[1:] for _ in range(200))
    assert len(set(fresh)) > 50  # all 64 signs are used, not 16


@settings(deadline=None)
@given(st.data())
def test_a_listing_that_breaks_off_anywhere_is_garbled(data):
    text = recorded("22.05", "jobs")[1].stdout
    whole = listing.rows(text, BORDERS)
    place = data.draw(st.integers(1, len(text) - 1))
    try:
        part = listing.rows(text[:place], BORDERS)
    except ValueError:
        return
    # Between two records a cut cannot be seen in the text; there the return code shows that squeue was killed.
    assert text[:place].endswith(f"{BORDERS.record}\n")
    assert {row.number for row in part} <= {row.number for row in whole}


@settings(deadline=None)
@given(st.text(alphabet="\x1f\x1e\n7x", min_size=1, max_size=90))
def test_no_other_text_is_a_listing(text):
    with pytest.raises(ValueError, match=r"listing|record|number"):
        listing.rows(text, Borders())
