"""Which row or which door holds each guard, and each trap of the policy's, and which tests try it?"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from advisor_api.gates import GATES
from advisor_api.policy.rules import RULES
from tests.advisor_api.policy_cases import NEAR, WINNERS
from tests.advisor_api.policy_order import FIRST

ROOT = Path(__file__).resolve().parents[2]
RULE_NAMES = {rule.name for rule in RULES}
GATE_NAMES = {gate.__name__ for gate in GATES}

GUARDS: dict[str, tuple[str, ...]] = {
    "unknown scheduler": ("rule scheduler_unseen", "rule state_unknown", "rule gone"),
    "blind source": ("rule blind_silence", "rule nothing_to_repair"),
    "user cancel": ("rule cancelled",),
    "time limit": ("rule time_limit",),
    "preemption": ("rule preempted",),
    "maintenance reservation": (
        "rule maintenance",
        "advisor_api/test_gathering_guards.py::test_nodes_in_maintenance",
    ),
    "in-job recovery running": ("rule in_job_recovery", "rule moves_again", "rule repairs_itself"),
    "exit 93 stops": ("rule stop_class",),
    "pause": ("gate _pause", "advisor_api/test_gates.py::test_closed", "advisor_api/test_gates.py::test_open"),
    "opt-in missing or observe": (
        "gate _opt_in",
        "advisor_api/test_gates.py::test_closed",
        "advisor_api/test_gates.py::test_open",
    ),
    "mode": (
        "gate _mode",
        "advisor_api/test_gates.py::test_no_mode_acts_where_the_one_below_would_not",
        "e2e/test_real_slurm.py::test_monitor_mode_sends_listings_only",
    ),
    "environment not allowed": (
        "gate _environment",
        "advisor_api/test_gates.py::test_closed",
        "advisor_api/test_gates.py::test_open",
    ),
    "partition not allowed": (
        "gate _partition",
        "advisor_api/test_gates.py::test_closed",
        "advisor_api/test_gates.py::test_open",
    ),
    "restarts per job in a window": (
        "rule restarts_of_job",
        "advisor_api/test_gathering_guards.py::test_only_attempts_that_began_within_the_window_count",
    ),
    "restarts per user in a window": (
        "rule restarts_of_user",
        "advisor_api/test_gathering_guards.py::test_restarts_of_a_user_count_in_every_partition_and_no_one_elses",
    ),
    "restart storm": (
        "rule restart_storm",
        "advisor_api/test_at_once.py::test_sweeps_decide_each_verdict_once_and_keep_the_storm_limit",
    ),
    "shared cause": ("rule shared_cause",),
    "excluded share of the partition": (
        "rule cap_reached",
        "rule cap_reached_again",
        "advisor_api/test_policy_properties.py::test_caps_on_exclusions_hold",
    ),
    "never below the job's need": (
        "rule cap_reached",
        "advisor_api/test_policy_properties.py::test_a_restart_never_leaves_fewer_nodes_than_the_job_needs",
        "advisor_api/test_policy_properties.py::test_what_is_excluded_already_gives_way_to_the_need_too",
    ),
    "nodes drained by others": (
        "rule named_node_is_drained",
        "advisor_api/test_policy_properties.py::test_drained_nodes_are_nobodys_to_exclude",
    ),
    "own processes": (
        "rule own_job",
        "advisor_api/test_gathering_guards.py::test_our_own_jobs_are_known_by_their_name",
    ),
    "evidence older than the node's identity": (
        "detectors/test_node_warnings.py::test_an_old_reason_or_one_of_another_machine_is_none",
        "detectors/attribution/test_told.py::test_a_node_that_has_started_since_is_another_machine",
    ),
    "expired evidence": (
        "rule evidence_expired",
        "advisor_api/test_gathering_guards.py::test_a_decision_on_an_old_verdict_asks",
        "advisor_api/test_gathering_guards.py::test_how_old_the_verdict_is",
    ),
    "two controllers": (
        "controller/test_loop.py::test_two_controllers_act_once",
        "controller/test_journal.py::test_two_controllers_on_one_host_cannot_run",
        "advisor_api/test_at_once.py::test_one_holder",
    ),
}
"""What holds each guard: rows of the table, gates that are read at every hand-out, or what stands elsewhere."""

TRAPS: dict[int, tuple[str, ...]] = {
    13: (
        "rule named_node_is_drained",
        "advisor_api/test_policy_properties.py::test_drained_nodes_are_nobodys_to_exclude",
    ),
    14: GUARDS["evidence older than the node's identity"],
    15: GUARDS["never below the job's need"],
    16: ("rule restart_storm", "advisor_api/test_policy_rules.py::test_a_pool_of_four_nodes_may_lose_one"),
    18: ("rule resubmitted", "rule outer_retries", "rule already_requeued"),
    19: (
        "rule kill_task_failed",
        "advisor_api/test_gathering_guards.py::test_nodes_drained_because_a_kill_failed",
    ),
    20: ("rule bad_checkpoint", "rule earlier_checkpoint"),
    21: (
        "advisor_api/test_policy_properties.py::test_unknown_progress_neither_counts_nor_resets",
        "advisor_api/test_policy_properties.py::test_a_real_advance_resets_every_count",
    ),
    22: ("rule cancelled", "rule time_limit", "rule preempted"),
    26: (*GUARDS["two controllers"], "rule command_given"),
    27: ("advisor_api/test_api_layer_b.py::test_an_approval_after_the_recovery_is_refused_with_the_reason",),
    28: GUARDS["mode"],
}
OTHERS = {
    17: "job arrays: the scheduler port asks for a task by its own number",
    23: "the mark: what we ended is told apart by the controller's own trail",
    24: "tokens: the controller's client",
    25: "turns: jitter and the budget of the observers",
    29: "the console: there is no bulk action",
    30: "the console: filters",
}
"""Traps from 10 to 30 that are no policy's; 10 to 12 have their tests beside the detectors."""


def names_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


@cache
def written_in(path: Path) -> frozenset[str]:
    return frozenset(names_of(path)) if path.is_file() else frozenset()


def cases_of(rule: str) -> set[str]:
    found = {row[0] for row in WINNERS if row[1] == rule} | {row[0] for row in NEAR if row[1] == rule}
    return found | {row[0] for row in FIRST if row[1] == rule}


def missing(holders: tuple[str, ...]) -> list[str]:
    """Those of the holders that do not exist."""
    lost = []
    for holder in holders:
        kind, _, name = holder.partition(" ")
        if kind == "rule":
            lost += [holder] if name not in RULE_NAMES or not cases_of(name) else []
        elif kind == "gate":
            lost += [holder] if name not in GATE_NAMES else []
        else:
            file, _, test = holder.partition("::")
            lost += [holder] if test not in written_in(ROOT / "tests" / file) else []
    return lost


def tried(holders: tuple[str, ...]) -> int:
    """How many cases in words, and tests, stand behind the holders."""
    rules = [holder.partition(" ")[2] for holder in holders if holder.startswith("rule ")]
    return sum(len(cases_of(rule)) for rule in rules) + sum(1 for holder in holders if "::" in holder)


@pytest.mark.parametrize("guard", GUARDS)
def test_every_guard_is_held_and_tried_twice(guard: str) -> None:
    assert missing(GUARDS[guard]) == []
    assert tried(GUARDS[guard]) >= 2


@pytest.mark.parametrize("trap", TRAPS)
def test_every_trap_of_the_policy_is_held_and_tried(trap: int) -> None:
    assert missing(TRAPS[trap]) == []
    assert tried(TRAPS[trap]) >= 1


def test_every_trap_from_10_to_30_has_its_place() -> None:
    assert set(TRAPS) | set(OTHERS) | {10, 11, 12} == set(range(10, 31))
    assert not set(TRAPS) & set(OTHERS)


def test_what_does_not_exist_is_missed() -> None:
    nobody = ("rule no_such_rule", "gate _no_gate", "controller/test_loop.py::test_nothing", "nowhere.py::test_x")
    assert missing(nobody) == list(nobody)
