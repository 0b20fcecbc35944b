"""Are nodes, limits, exclusions and the clock read from what scontrol and sdiag really print?"""

from datetime import UTC, datetime

import pytest

from schedulers.port import Garbled, NodeRow, Unreachable
from schedulers.slurm import showing
from schedulers.slurm.adapter import Slurm
from schedulers.transport import Answer
from tests.schedulers.recording import RECORDED
from tests.schedulers.replay import Replay

VERSIONS = sorted(folder.name for folder in RECORDED.iterdir())


@pytest.fixture(params=VERSIONS)
def version(request) -> str:
    return request.param


def slurm(version: str, answer: str | Answer) -> Slurm:
    return Slurm(Replay(version, {"scontrol": answer, "sdiag": answer}), 10)


def test_each_recorded_version_is_listed_as_tested():
    assert tuple(VERSIONS) == showing.TESTED


def test_nodes_show_their_states_and_who_gave_which_reason(version):
    nodes = {node.name: node for node in slurm(version, "nodes").nodes()}
    assert set(nodes) == {"n01", "n02", "n03", "n04", "n05"}
    assert nodes["n01"].available and nodes["n01"].reason == ""
    assert nodes["n03"].states == ("down", "not_responding")
    assert nodes["n03"].reason == "Not responding"
    assert "drain" in nodes["n04"].states
    assert nodes["n04"].reason == "bad [x@5] State=IDLE"
    assert nodes["n05"].states[0] == "down"
    assert nodes["n05"].reason == "not fit: Xid 79"
    assert [name for name, node in nodes.items() if not node.available] == ["n03", "n04", "n05"]
    for node in nodes.values():
        assert node.partitions == ("main",)
        assert node.booted_at is not None
        assert bool(node.reason) == (node.reason_by == "root") == (node.reason_at is not None)


def node(text: str) -> NodeRow:
    (only,) = showing.nodes(f"NodeName=n1 State={text}\n")
    return only


@pytest.mark.parametrize(
    ("text", "states", "available"),
    [
        ("IDLE", ("idle",), True),
        ("ALLOCATED", ("allocated",), True),
        ("MIXED+PLANNED", ("mixed", "planned"), True),
        ("IDLE+CLOUD+POWERED_DOWN", ("idle", "cloud", "powered_down"), True),
        ("IDLE+MAINTENANCE+RESERVED", ("idle", "maintenance", "reserved"), False),
        ("IDLE+DRAIN", ("idle", "drain"), False),
        ("DOWN*", ("down", "not_responding"), False),
        ("IDLE*+DRAIN", ("idle", "drain", "not_responding"), False),
        ("DOWN+NOT_RESPONDING", ("down", "not_responding"), False),
        ("IDLE+INVALID_REG", ("idle", "invalid_reg"), False),
        ("FUTURE", ("future",), False),
    ],
)
def test_a_state_is_the_words_that_it_is_made_of(text, states, available):
    assert (node(text).states, node(text).available) == (states, available)


@pytest.mark.parametrize(
    ("text", "reason", "by", "at"),
    [
        ("IDLE", "", "", None),
        ("DOWN Reason=x [ops@5]", "x", "ops", 5),
        ("DOWN Reason=a State=IDLE [b@7] c [ops@5]", "a State=IDLE [b@7] c", "ops", 5),
        ("DOWN Reason=x [ops@5] Comment=y [z@9]", "x", "ops", 5),
        ("DOWN Reason=x [ops@5]\n   NodeName? no", "x NodeName? no", "ops", 5),
        ("DOWN Reason=x", "x", "", None),
        ("IDLE Comment=c Reason=1", "", "", None),
    ],
)
def test_a_reason_is_free_text(text, reason, by, at):
    row = node(text)
    assert (row.reason, row.reason_by) == (reason, by)
    assert row.reason_at == (at and datetime.fromtimestamp(at, UTC))


@pytest.mark.parametrize(
    "text", ["State=IDLE\n", "NodeName=n1 Arch=x\n", "NodeName=n[1-2] State=IDLE\n", "NodeName= State=IDLE\n"]
)
def test_what_is_no_listing_of_nodes_is_garbled(text):
    with pytest.raises(Garbled):
        slurm("22.05", Answer(0, text, "")).nodes()


def test_limits_are_read_from_the_configuration(version):
    limits = slurm(version, "config").limits()
    assert limits.version.startswith(f"{version}.")
    assert limits.tested
    assert (limits.cluster_name, limits.min_job_age, limits.kill_wait, limits.requeue_wait) == ("lab", 300, 2, 6)


CONFIG = "SLURM_VERSION = 26.05.3\nClusterName = c\nMinJobAge = 300 sec\nKillWait = 30 sec\nAuthInfo = (null)\n"


def test_a_version_without_recorded_answers_is_untested_and_slurms_own_wait_is_two_minutes():
    limits = showing.limits(CONFIG)
    assert (limits.version, limits.tested, limits.requeue_wait) == ("26.05.3", False, 121)


@pytest.mark.parametrize("name", ["SLURM_VERSION", "ClusterName", "MinJobAge", "KillWait"])
def test_a_configuration_without_a_limit_is_garbled(name):
    with pytest.raises(Garbled, match=f"shows no {name}"):
        slurm("22.05", Answer(0, CONFIG.replace(name, "Other"), "")).limits()


def test_a_limit_that_is_no_number_is_garbled():
    with pytest.raises(Garbled, match="MinJobAge is 'soon'"):
        slurm("22.05", Answer(0, CONFIG.replace("300 sec", "soon"), "")).limits()


def test_the_clock_is_the_controllers(version):
    at = slurm(version, "statistics").now()
    assert at.tzinfo is UTC
    assert at.year == 2026


@pytest.mark.parametrize(
    "text", ["", "sdiag output at noon\n", "Data since x (1795969113)\n", "sdiag output at x (0)\n"]
)
def test_no_clock_is_garbled(text):
    with pytest.raises(Garbled, match="sdiag shows no time"):
        slurm("22.05", Answer(0, text, "")).now()


def test_a_controller_that_answers_is_enough(version):
    slurm(version, "ping").ping()
    both = "Slurmctld(primary) at a is DOWN\nSlurmctld(backup) at b is UP\n"
    slurm(version, Answer(1, both, "")).ping()


@pytest.mark.parametrize("name", ["down_ping", "hung_ping"])
def test_a_controller_that_is_down_is_unreachable(version, name):
    with pytest.raises(Unreachable):
        slurm(version, name).ping()


@pytest.mark.parametrize(("name", "ask"), [("nodes", "nodes"), ("config", "limits"), ("statistics", "now")])
def test_no_question_takes_silence_for_an_answer(version, name, ask):
    with pytest.raises(Unreachable):
        getattr(slurm(version, f"down_{name}"), ask)()
