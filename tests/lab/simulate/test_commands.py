"""Do the commands answer in the words of Slurm 22.05.8? The expected texts were recorded on a real one."""

import pytest

from tests.lab.simulate.stage import START, Stage
from tests.lab.simulate.words import REFUSALS, ROLES, SILENT, UNANSWERED, told

FOREVER = {"steps": 100_000}


def prepared() -> Stage:
    """Jobs 1 to 5 in the roles of `words.ROLES`."""
    stage = Stage(nodes=5)
    stage.submit(comment='{"a": 1}', **FOREVER)
    failed = stage.submit(faults=[{"kind": "exit", "step": 1, "exit_code": 3}])
    held = stage.submit(**FOREVER)
    stage.submit(requeue=False, **FOREVER)
    stage.submit(**FOREVER)
    stage.until(failed, "FAILED")
    stage.do("scontrol", "requeuehold", "3")
    stage.until(held, "PENDING")
    stage.do("scancel", "5")
    stage.wait(1)
    return stage


NUMBERS = {role: number for number, role in enumerate(ROLES, 1)}


@pytest.mark.parametrize("command", REFUSALS)
def test_a_refusal_says_what_slurm_says_and_changes_nothing(command):
    stage = prepared()
    before = stage.run("scontrol", "show", "jobs"), stage.run("scontrol", "show", "nodes")
    assert stage.refused(*told(command, NUMBERS).split(" ")) == told(REFUSALS[command], NUMBERS)
    assert (stage.run("scontrol", "show", "jobs"), stage.run("scontrol", "show", "nodes")) == before


@pytest.mark.parametrize("command", SILENT)
def test_what_slurm_passes_over_in_silence(command):
    stage = prepared()
    before = stage.run("scontrol", "show", "jobs")
    stage.do(*told(command, NUMBERS).split(" "))
    assert stage.run("scontrol", "show", "jobs") == before


@pytest.mark.parametrize("command", UNANSWERED)
def test_without_a_controller_nothing_is_answered_and_nothing_done(command):
    stage = prepared()
    before = stage.run("scontrol", "show", "jobs")
    stage.cluster.stop_controller()
    code, out, err = stage.run(*told(command, NUMBERS).split(" "))
    assert (code, err) == (UNANSWERED[command][0], told(UNANSWERED[command][1], NUMBERS))
    assert out == ""
    stage.cluster.start_controller()
    assert stage.run("scontrol", "show", "jobs") == before


def test_ping_tells_whether_the_controller_is_there_and_the_accounting_answers_alone():
    stage = prepared()
    assert stage.run("scontrol", "ping") == (0, "Slurmctld(primary) at localhost is UP\n", "")
    stage.cluster.stop_controller()
    code, out, err = stage.run("scontrol", "ping")
    assert (code, err) == (1, "")
    assert out.startswith("Slurmctld(primary) at localhost is DOWN\n***")
    assert stage.run("sacct", "-n", "-X", "-P", "-j", "2", "-o", "State") == (0, "FAILED\n", "")
    assert stage.run("scontrol", "show", "hostnames", "n[1-2]") == (0, "n1\nn2\n", "")


# --- listings


def test_the_good_ones_of_several_are_done():
    stage = prepared()
    assert stage.refused("scontrol", "requeue", "1,99999,2") == "Invalid job id specified for job 99999\n"
    assert (stage.cluster.jobs[1].restarts, stage.cluster.jobs[2].restarts) == (1, 1)


def test_one_update_with_several_keys_is_all_or_nothing():
    stage = prepared()
    stage.refused("scontrol", "update", "JobId=1", "Comment=y", "ExcNodeList=n02")
    assert stage.cluster.jobs[1].comment == '{"a": 1}'
    stage.do("scontrol", "update", "jobid=3", "comment=y", "EXCNODELIST=n02", "Requeue=0")
    job = stage.cluster.jobs[3]
    assert (job.comment, job.excluded, job.requeue_allowed) == ("y", "n02", False)


def test_a_comment_of_1024_bytes_fits_and_an_emptied_one_is_empty_not_null():
    stage = prepared()
    stage.do("scontrol", "update", "JobId=1", f"Comment={'é' * 512}", "AdminComment=" + "x" * 10_000)
    look = ("squeue", "-h", "-j", "1", "-O", "Comment:|,admin_comment:")
    assert stage.run(*look)[1] == f"{'é' * 512}|{'x' * 10_000}\n"
    stage.do("scontrol", "update", "JobId=1", "Comment=", "AdminComment=")
    assert stage.run(*look)[1] == "|\n"
    assert stage.run("squeue", "-h", "-j", "3", "-O", "Comment:|,admin_comment:")[1] == "(null)|(null)\n"


def test_separators_of_any_kind_neither_fill_nor_cut():
    stage = Stage()
    stage.running(name="a|b\nc" * 20, comment="x,y:z")
    code, out, err = stage.run("squeue", "-h", "-O", "JobID:\x1fQ,Name:\x1fQ,Comment:\x1e")
    assert (code, out, err) == (0, "1\x1fQ" + "a|b\nc" * 20 + "\x1fQx,y:z\x1e\n", "")


def test_columns_with_a_width_are_filled_and_cut():
    stage = Stage()
    stage.running(name="a-long-name-of-more-than-twenty-letters")
    assert stage.run("squeue", "-h", "-O", "JobID:4,State,Name:6")[1] == "1   RUNNING             a-long\n"
    assert stage.run("squeue", "-O", "JobID:,State:|,Reason:5,Name")[1].splitlines()[0] == (
        "JOBIDSTATE|REASONAME                "
    )
    assert stage.run("squeue", "-h", "-o", "%A|%10T|%.4t|%R")[1] == "1|RUNNING   |   R|n01\n"
    code, out, err = stage.run("squeue", "-h", "-O", "Bogus:9,JobID:")
    assert (code, out, err) == (0, "1\n", "squeue: error: Invalid job format specification: Bogus\n")


def test_states_users_and_numbers_narrow_a_listing():
    stage = prepared()

    def numbers(*options: str) -> list[str]:
        return stage.run("squeue", "-h", "-o", "%A", *options)[1].split()

    assert sorted(numbers()) == ["1", "3", "4"]
    assert sorted(numbers("-t", "all")) == ["1", "2", "3", "4", "5"]
    assert numbers("-t", "F") == numbers("--states=failed") == ["2"]
    assert sorted(numbers("-t", "PD,CA")) == ["3", "5"]
    assert numbers("-j", "4,77") == ["4"]
    assert numbers("-n", "nobody") == []
    assert len(numbers("-u", "trainer")) == 3


def test_the_default_listing():
    stage = Stage()
    stage.running(nodes=2)
    stage.wait(70)
    stage.submit(nodes=9)
    stage.running(nodes=2, **FOREVER)
    stage.wait(65)
    assert stage.run("squeue")[1] == (
        "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
        "                 2      main    llama  trainer PD       0:00      9 (PartitionNodeLimit)\n"
        "                 3      main    llama  trainer  R       1:05      2 n[01-02]\n"
    )
    assert stage.run("sinfo")[1] == (
        "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
        "main*        up   infinite      2  alloc n[01-02]\n"
        "main*        up   infinite      2   idle n[03-04]\n"
    )


def test_one_job_on_one_line_and_on_many():
    stage = prepared()
    code, line, err = stage.run("scontrol", "-o", "show", "job", "1")
    assert (code, err, line.count("\n")) == (0, "", 1)
    assert line.startswith("JobId=1 JobName=llama UserId=trainer(0) GroupId=trainer(0) MCS_label=N/A Priority=")
    for part in (
        " JobState=RUNNING Reason=None Dependency=(null) Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0 ",
        f" SubmitTime={int(START)} EligibleTime={int(START)} AccrueTime={int(START)} StartTime={int(START)} ",
        " EndTime=Unknown ",
        " ReqNodeList=(null) ExcNodeList=(null) NodeList=n01 BatchHost=n01 NumNodes=1 ",
        ' Comment={"a": 1}  StdErr=/logs/1.log StdIn=/dev/null StdOut=/logs/1.log Power=',
    ):
        assert part in line
    many = stage.run("scontrol", "show", "job", "1")[1]
    assert many.startswith("JobId=1 JobName=llama\n   UserId=trainer(0) ")
    assert many.endswith(
        '   Comment={"a": 1} \n   StdErr=/logs/1.log\n   StdIn=/dev/null\n   StdOut=/logs/1.log\n   Power=\n   \n\n'
    )
    held = stage.run("scontrol", "-o", "show", "job", "3")[1]
    assert "JobState=PENDING Reason=job_requeued_in_held_state " in held
    assert " NodeList= NumNodes=1 " in held


def test_an_output_pattern_is_raw_in_squeue_and_half_expanded_in_scontrol():
    stage = Stage()
    stage.running(name="a b", output="%x_%j_%N_%t_%u.log")
    assert stage.run("squeue", "-h", "-O", "STDOUT:")[1] == "/logs/%x_%j_%N_%t_%u.log\n"
    assert "StdOut=/logs/a b_1_%N_%t_trainer.log\n" in stage.run("scontrol", "show", "job", "1")[1]
    assert list(stage.logs.files) == ["a b_1_n01_0_trainer.log"]


def test_times_are_written_as_the_client_asks():
    stage = Stage()
    stage.running()
    look = ("squeue", "-h", "-O", "SubmitTime:")
    assert stage.run(*look, time_format="%s")[1] == f"{int(START)}\n"
    assert stage.run(*look, time_format="%Y")[1] == "2026\n"
    for plain in ("", "standard"):
        text = stage.run(*look, time_format=plain)[1].strip()
        assert len(text) == 19 and text[10] == "T"


def test_nodes_are_shown_one_by_one_and_together():
    stage = Stage(nodes=3)
    stage.running()
    stage.do("scontrol", "update", "NodeName=n03", "State=DRAIN", "Reason=bad gpu")
    lines = stage.run("scontrol", "-o", "show", "nodes")[1].splitlines()
    assert [line.split()[0] for line in lines] == ["NodeName=n01", "NodeName=n02", "NodeName=n03"]
    assert " State=ALLOCATED " in lines[0] and " State=IDLE " in lines[1] and " State=IDLE+DRAIN " in lines[2]
    assert lines[2].endswith(f" Reason=bad gpu [root@{int(stage.cluster.now)}]")
    assert "Partitions=main " in lines[0]
    assert stage.run("scontrol", "show", "node", "n99") == (1, "Node n99 not found\n", "")
    assert stage.run("sinfo", "-h", "-N", "-o", "%N %T %t %E")[1] == (
        "n01 allocated alloc none\nn02 idle idle none\nn03 drained drain bad gpu\n"
    )
    assert stage.run("sinfo", "-h", "-o", "%P|%a|%D|%T|%N")[1] == (
        "main*|up|1|allocated|n01\nmain*|up|1|idle|n02\nmain*|up|1|drained|n03\n"
    )
    assert stage.run("sinfo", "-h", "-R")[1].split() == ["bad", "gpu", "root", str(int(stage.cluster.now)), "n03"]


def test_the_configuration_tells_version_and_limits():
    stage = Stage(requeue_wait_seconds=121, kill_wait_seconds=30, min_job_age_seconds=300)
    lines = stage.run("scontrol", "show", "config")[1].splitlines()
    for line in (
        "AuthInfo                = cred_expire=120",
        "ClusterName             = demo",
        "KillWait                = 30 sec",
        "MinJobAge               = 300 sec",
        "SLURM_VERSION           = 22.05.8",
    ):
        assert line in lines


def test_the_statistics_begin_with_the_clock():
    stage = Stage()
    stage.wait(7)
    assert stage.run("sdiag")[1].splitlines()[1].endswith(f" 2026 ({int(START) + 7})")


def test_hostnames_are_expanded():
    stage = Stage()
    assert stage.run("scontrol", "show", "hostnames", "n[01-03,05],x1")[1] == "n01\nn02\nn03\nn05\nx1\n"
    assert stage.run("scontrol", "show", "hostlist", "n01,n02,n05")[1] == "n[01-02,05]\n"


def test_the_accounting_has_a_row_for_each_attempt():
    stage = Stage(requeue_wait_seconds=6)
    job = stage.running(comment="c", **FOREVER)
    stage.wait(9.4)
    stage.do("scontrol", "requeue", "1")
    stage.until(job, "RUNNING")
    columns = "JobIDRaw,DBIndex,State,ExitCode,Submit,Start,End,NodeList,User,JobName,Comment"
    start = int(START)
    rows = stage.run("sacct", "-D", "-X", "-P", "-j", "1", "-o", columns)[1].splitlines()
    assert rows == [
        columns.replace(",", "|"),
        f"1|1|REQUEUED|0:0|{start}|{start}|{start + 10}|n01|trainer|llama|c",
        f"1|2|RUNNING|0:0|{start + 10}|{start + 16}|Unknown|n01|trainer|llama|",
    ]
    last = stage.run("sacct", "-X", "-n", "-p", "--delimiter=\x1f", "-o", "JobIDRaw,State", "-j", "1")[1]
    assert last == "1\x1fRUNNING\x1f\n"
    assert stage.run("sacct", "-n", "-j", "1", "-o", "JobID,State%-9,NodeList%5")[1] == (
        "1            RUNNING     n01 \n1.batch      RUNNING     n01 \n"
    )


def test_the_accounting_can_be_asked_since_a_time():
    stage = prepared()
    ended = ("sacct", "-n", "-X", "-P", "-o", "JobID")
    stage.wait(3600)
    assert "2" in stage.run(*ended)[1].split()
    assert "2" not in stage.run(*ended, "-S", "now-1hour")[1].split()
    assert "2" in stage.run(*ended, "-S", "now-2hours")[1].split()
    assert stage.refused(*ended, "-S", "soon") == "Invalid time specification (pos=0): soon\n"


@pytest.mark.parametrize("command", ["squeue", "sacct", "sinfo", "sdiag", "scontrol", "scancel"])
def test_the_version(command):
    assert Stage().run(command, "--version") == (0, "slurm-wlm 22.05.8\n", "")


def test_verbose_scancel_says_what_it_passes_over():
    stage = prepared()
    assert stage.run("scancel", "-v", "99999", "2") == (
        0,
        "",
        "scancel: Terminating job 99999\n"
        "scancel: error: Kill job error on job id 99999: Invalid job id specified\n"
        "scancel: Terminating job 2\n"
        "scancel: error: Kill job error on job id 2: Job/step already completing or completed\n",
    )


def test_an_unknown_command_is_none():
    assert Stage().run("srun", "hostname") == (127, "", "srun: command not found\n")


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("--json", "unrecognized option '--json'"),
        ("--me", "unrecognized option '--me'"),
        ("-j", "option requires an argument -- 'j'"),
        ("--jobs", "option '--jobs' requires an argument"),
    ],
)
def test_what_is_not_simulated_is_an_error_and_no_silence(option, complaint):
    assert Stage().refused("squeue", option).startswith(f"squeue: {complaint}\n")


def test_a_task_of_an_array_is_shown_and_acted_on_alone():
    stage = Stage(nodes=3)
    tasks = [stage.running(array_job=900, array_task=place, **FOREVER) for place in range(3)]
    listed = stage.run("squeue", "-h", "-r", "-O", "JobArrayID:8,ArrayJobID:6,ArrayTaskID:6,JobID:4")[1].split("\n")
    assert ["900_0", "900", "0", "1"] in [line.split() for line in listed]
    stage.do("scontrol", "requeuehold", "900_1")
    stage.do("scancel", "900_2")
    assert [job.restarts for job in tasks] == [0, 1, 0]
    assert [job.state for job in tasks] == ["RUNNING", "PENDING", "CANCELLED"]
    assert "JobId=2 ArrayJobId=900 ArrayTaskId=1 JobName=llama" in stage.run("scontrol", "show", "job", "900_1")[1]
    assert stage.refused("scontrol", "release", "900_7")
    assert stage.refused("scontrol", "release", "900_")


def test_waiting_tasks_of_an_array_take_a_list_together():
    stage = Stage(nodes=2)
    tasks = [stage.submit(array_job=900, array_task=place, nodes=2, **FOREVER) for place in range(4)]
    stage.wait(0.6)
    stage.do("scontrol", "update", "JobId=900_[1-3]", "ExcNodeList=n01")
    assert [job.excluded for job in tasks] == ["", "n01", "n01", "n01"]
    said = stage.refused("scontrol", "update", "JobId=900_[0,2-3]", "ExcNodeList=")
    assert "Job is no longer pending execution for job 900_0" in said
    assert ": No error" in said
    assert [job.excluded for job in tasks] == ["", "n01", "", ""]
    assert ": No error" not in stage.refused("scontrol", "update", "JobId=900_[7-8]", "ExcNodeList=")
    assert stage.refused("scontrol", "update", "JobId=900_[x]", "ExcNodeList=")
    assert stage.run("scontrol", "-o", "show", "job", "900")[1].count("ArrayJobId=900") == 4
    assert len(stage.run("squeue", "-h", "-r", "-j", "900")[1].splitlines()) == 4
