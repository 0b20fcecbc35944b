"""Is exactly the command run that was meant, and is a refusal told apart from an outcome that nobody knows?"""

from dataclasses import replace

import pytest

from schedulers.port import NoSuchJob, Refused, SchedulerError, Unclear, Unreachable
from schedulers.slurm import commands, listing
from schedulers.slurm.adapter import Slurm
from schedulers.transport import Answer, NoProgram, TimedOut, TooLong
from tests.schedulers.recording import BORDERS, RECORDED, recorded
from tests.schedulers.replay import Replay

VERSIONS = sorted(folder.name for folder in RECORDED.iterdir())
DONE = Answer(0, "", "")


@pytest.fixture(params=VERSIONS)
def version(request) -> str:
    return request.param


def number_of(version: str, name: str) -> int:
    return int(recorded(version, f"job_{name}")[0][-1])


def acting(
    version: str, answer: str | Answer | Exception = DONE, name: str = "excluded"
) -> tuple[Slurm, Replay, int]:
    """A Slurm that knows one recorded job, gives `answer` to every action, and keeps its commands."""
    replay = Replay(version, {"squeue": f"job_{name}", "scontrol": answer, "scancel": answer})
    return Slurm(replay, 10), replay, number_of(version, name)


ACTIONS = {
    "mark": (lambda slurm, job: slurm.mark(job, "a b=c"), ("scontrol", "update", "JobId={}", "AdminComment=a b=c")),
    "unmark": (lambda slurm, job: slurm.mark(job, ""), ("scontrol", "update", "JobId={}", "AdminComment=")),
    "hold running": (
        lambda slurm, job: slurm.requeue_hold(job, running=True),
        ("scontrol", "requeuehold", "Incomplete", "{}"),
    ),
    "exclude": (
        lambda slurm, job: slurm.update_exclusions(job, ("n01", "n02")),
        ("scontrol", "update", "JobId={}", "ExcNodeList=n01,n02"),
    ),
    "clear": (
        lambda slurm, job: slurm.update_exclusions(job, ()),
        ("scontrol", "update", "JobId={}", "ExcNodeList="),
    ),
    "release": (lambda slurm, job: slurm.release(job), ("scontrol", "release", "{}")),
    "cancel": (lambda slurm, job: slurm.cancel(job), ("scancel", "{}")),
}
CLOCK = Answer(0, "sdiag output at Mon Nov 30 01:48:17 2026 (1795999697)\n", "")


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_looks_once_and_runs_one_command(version, action):
    act, command = ACTIONS[action]
    slurm, replay, number = acting(version)
    act(slurm, number)
    looked, did = replay.calls
    assert commands.only_reads(looked) and not commands.only_reads(did)
    assert did == tuple(word.format(number) for word in command)


STATES = {
    "it runs": ("RUNNING", "4294901759"),
    "it has failed": ("FAILED", "4294901759"),
    "somebody held it while it ran": ("RUNNING", "0"),
    "somebody held it, and it failed": ("FAILED", "0"),
    "it is suspended": ("SUSPENDED", "0"),
    "somebody requeued it": ("PENDING", "4294901759"),
    "somebody requeued and held it": ("PENDING", "0"),
    "it was cancelled": ("CANCELLED", "4294901759"),
    "it completed": ("COMPLETED", "4294901759"),
}


@pytest.mark.parametrize(
    ("now", "running", "sent"),
    [
        ("it runs", True, True),
        ("it has failed", True, True),  # without effect
        ("somebody held it while it ran", True, False),
        ("it is suspended", True, False),
        ("somebody requeued it", True, False),
        ("somebody requeued and held it", True, False),
        ("it was cancelled", True, True),  # without effect
        ("it has failed", False, True),
        ("somebody held it, and it failed", False, False),
        ("it runs", False, False),
        ("it is suspended", False, False),
        ("it was cancelled", False, False),
        ("it completed", False, False),
        ("somebody requeued it", False, True),  # Slurm refuses it
    ],
)
def test_a_requeue_is_not_sent_when_the_job_is_another_one_than_was_meant(version, now, running, sent):
    """What somebody did between the look that led to the command and the one right before it."""
    looked = recorded(version, "job_excluded")[1]
    fields = looked.stdout.split(BORDERS.field)
    state, priority = STATES[now]
    fields[listing.COLUMNS.index("State")], fields[listing.COLUMNS.index("PriorityLong")] = state, priority
    replay = Replay(version, {"squeue": replace(looked, stdout=BORDERS.field.join(fields)), "scontrol": DONE})
    slurm, number = Slurm(replay, 10), number_of(version, "excluded")
    if sent:
        slurm.requeue_hold(number, running=running)
        held = ("scontrol", "requeuehold", *(["Incomplete"] if running else []), str(number))
        assert replay.calls[-1] == held
        return
    with pytest.raises(Unreachable, match="so the command was not sent"):
        slurm.requeue_hold(number, running=running)
    assert all(commands.only_reads(argv) for argv in replay.calls)


@pytest.mark.parametrize(
    ("reason", "ours", "sent"),
    [
        ("job requeued in held state", True, True),
        ("JobHeldAdmin", True, False),
        ("JobHeldUser", True, False),
        ("launch failed requeued held", True, False),
        ("JobHeldUser", False, True),
    ],
)
def test_a_hold_of_ours_is_not_released_when_it_is_somebody_elses_by_now(version, reason, ours, sent):
    looked = recorded(version, "job_excluded")[1]
    fields = looked.stdout.split(BORDERS.field)
    for name, now in (("State", "PENDING"), ("PriorityLong", "0"), ("Reason", reason)):
        fields[listing.COLUMNS.index(name)] = now
    replay = Replay(version, {"squeue": replace(looked, stdout=BORDERS.field.join(fields)), "scontrol": DONE})
    slurm, number = Slurm(replay, 10), number_of(version, "excluded")
    if sent:
        slurm.release(number, ours=ours)
    else:
        with pytest.raises(Unreachable, match="Somebody else holds job"):
            slurm.release(number, ours=ours)
    assert [argv[:2] for argv in replay.calls[1:]] == [("scontrol", "release")] * sent


def test_nothing_is_written_over_what_somebody_changed_meanwhile(version):
    shown = {"squeue": "job_excluded", "scontrol": DONE, "scontrol -o show job": "show_excluded"}
    replay = Replay(version, shown)
    slurm, number = Slurm(replay, 10), number_of(version, "excluded")
    stands = slurm.job(number)
    slurm.mark(number, "a", instead_of=stands.row.admin_comment)
    slurm.update_exclusions(number, ("n09",), instead_of=set(stands.excluded_nodes))
    done = [argv for argv in replay.calls if not commands.only_reads(argv)]
    assert [argv[3] for argv in done] == ["AdminComment=a", "ExcNodeList=n09"]
    with pytest.raises(Unreachable, match="changed the AdminComment"):
        slurm.mark(number, "a", instead_of="another text")
    with pytest.raises(Unreachable, match="changed the excluded nodes"):
        slurm.update_exclusions(number, ("n09",), instead_of=("n08",))
    assert [argv for argv in replay.calls if not commands.only_reads(argv)] == done


def test_a_later_begin_is_told_by_the_schedulers_own_clock(version):
    replay = Replay(version, {"squeue": "job_excluded", "scontrol": DONE, "sdiag": CLOCK})
    number = number_of(version, "excluded")
    Slurm(replay, 10).start_after(number, 3)
    assert replay.calls[-1] == ("scontrol", "update", f"JobId={number}", "StartTime=uts1795999700")


def test_the_last_task_of_an_array_is_spoken_of_as_a_task():
    text = recorded("22.05", "job_array")[1].stdout
    array = number_of("22.05", "array")
    waiting = [line for line in text.split("\n") if line.startswith(f"{array}\x1f")]
    last = Answer(0, waiting[-1] + "\n", "")
    replay = Replay("22.05", {"squeue": last, "scontrol": DONE})
    Slurm(replay, 10).release(array)
    assert replay.calls[-1][-1] == f"{array}_3"


def test_nobody_acts_on_waiting_tasks_that_have_no_numbers(version):
    slurm, replay, number = acting(version, name="array")
    with pytest.raises(Refused, match="waiting tasks of an array"):
        slurm.cancel(number)
    assert all(commands.only_reads(argv) for argv in replay.calls)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("refused_waiting", Refused),
        ("refused_norequeue", Refused),
        ("refused_follower", Refused),
        ("refused_stranger", Refused),
        ("refused_exclusions_running", Refused),
        ("refused_exclusions_node", Refused),
        ("refused_mark_finished", Refused),
        ("refused_mark_stranger", Refused),
        ("refused_release_stranger", Refused),
        ("refused_cancel_stranger", Refused),
        ("refused_long", Refused),
        ("refused_unknown", NoSuchJob),
        ("refused_mark_unknown", NoSuchJob),
        ("refused_release_unknown", NoSuchJob),
        ("down_requeuehold", Unclear),
        ("down_mark", Unclear),
        ("down_release", Unclear),
        ("down_cancel", Unclear),
        ("hung_requeuehold", Unclear),
    ],
)
def test_a_recorded_failure_means_what_it_meant(version, name, error):
    slurm, _, number = acting(version, name)
    with pytest.raises(SchedulerError) as caught:
        slurm.release(number)
    assert type(caught.value) is error
    answer = recorded(version, name)[1]
    assert answer.stderr in caught.value.raw
    assert answer.stderr.splitlines()[0] in caught.value.reason


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param(TimedOut("late", "half"), Unclear, id="killed at its time limit"),
        pytest.param(TooLong("much"), Unclear, id="killed for its output"),
        pytest.param(Answer(-15, "", ""), Unclear, id="killed by somebody"),
        pytest.param(Answer(255, "", "Connection closed"), Unclear, id="the way there broke"),
        pytest.param(Answer(1, "", ""), Unclear, id="no word"),
        pytest.param(Answer(1, "", "Something new for job 3"), Unclear, id="a word that nobody knows"),
        pytest.param(
            Answer(1, "", "Job is pending execution\nSocket timed out on send/recv operation"), Unclear, id="both"
        ),
        pytest.param(NoProgram("none"), NoProgram, id="no such command: nothing was sent"),
    ],
)
def test_whatever_is_not_known_for_a_refusal_may_have_been_done(answer, error):
    slurm, _, number = acting("22.05", answer)
    with pytest.raises(SchedulerError) as caught:
        slurm.requeue_hold(number, running=True)
    assert type(caught.value) is error


@pytest.mark.parametrize("name", ["silent_cancel_finished", "silent_hold_finished", "silent_mark"])
def test_silence_is_only_an_acceptance(version, name):
    slurm, _, number = acting(version, name)
    assert slurm.cancel(number) is None


def test_an_action_that_cannot_look_sends_nothing(version):
    replay = Replay(version, {"squeue": "down_jobs"})
    for act, _ in ACTIONS.values():
        with pytest.raises(Unreachable):
            act(Slurm(replay, 10), 4)
    assert {argv[0] for argv in replay.calls} == {"squeue"}


@pytest.mark.parametrize(
    "node", ["-n01", "--all", "n01,n02", "n[01-02]", "n01 n02", "n01\n", "", "n01;id", "é", "n" * 300]
)
def test_what_is_no_name_of_a_node_becomes_no_argument(node):
    slurm, replay, number = acting("22.05")
    with pytest.raises(Refused, match="is no name of a node"):
        slurm.update_exclusions(number, ("n01", node))
    assert all(commands.only_reads(argv) for argv in replay.calls)


@pytest.mark.parametrize("text", ["a\0b", "é" * 6000])
def test_a_mark_that_slurm_cannot_hold_is_not_sent(text):
    slurm, replay, number = acting("22.05")
    with pytest.raises(Refused, match="at most 10000 bytes"):
        slurm.mark(number, text)
    assert all(commands.only_reads(argv) for argv in replay.calls)


@pytest.mark.parametrize("number", [0, -4, 2**32])
def test_what_is_no_number_of_a_job_becomes_no_argument(number):
    replay = Replay("22.05", {})
    for act, _ in ACTIONS.values():
        with pytest.raises(NoSuchJob):
            act(Slurm(replay, 10), number)
    assert replay.calls == []


@pytest.mark.parametrize(
    ("argv", "reads"),
    [
        (("squeue", "-h"), True),
        (("sacct",), True),
        (("sdiag",), True),
        (("scontrol", "-o", "show", "nodes"), True),
        (("scontrol", "ping"), True),
        (("scontrol", "-o", "update", "show"), False),
        (("scontrol", "release", "show"), False),
        (("scontrol",), False),
        (("scancel", "4"), False),
        (("sbatch", "show"), False),
    ],
)
def test_only_questions_count_as_reading(argv, reads):
    assert commands.only_reads(argv) is reads
