"""Do the waiting tasks of an array leave out a bad node, as long as they should, and nobody else's?"""

from dataclasses import replace
from datetime import timedelta

import pytest

from controller.advice import read_advice
from controller.arrays import changes
from controller.entries import Spread
from schedulers.port import WaitingTasks
from schedulers.states import JobState
from tests.controller.advisor import advice, wire
from tests.controller.bench import Bench, Crash
from tests.controller.scripted import START, row

ARRAY = 11
WAITING = WaitingTasks(ARRAY, "trainer", (4, 5, 6), ())
OF_ARRAY = advice(nodeConstraints={"excludedNodes": ["n03"], "waitingTasksOf": str(ARRAY)})


def spread(*nodes: str, ours: tuple[str, ...] = ()) -> Spread:
    return Spread(read_advice(OF_ARRAY), nodes, ours)


@pytest.fixture
def array(bench: Bench) -> Bench:
    """Task 3 of array 11 failed on n03; 4 to 6 wait."""
    bench.scheduler.add(row(array_job=ARRAY, array_task=3))
    bench.scheduler.waiting[ARRAY] = [WAITING]
    bench.advisor.advice = [OF_ARRAY]
    bench.advisor.excluded = ["n03"]
    return bench


def told(bench: Bench) -> list[tuple[object, ...]]:
    return [effect[2:] for effect in bench.scheduler.effects if effect[0] == "exclude_for_tasks"]


def lists(bench: Bench) -> list[tuple[str, ...]]:
    return [group.excluded_nodes for group in bench.scheduler.waiting[ARRAY]]


def pass_time(bench: Bench, seconds: float = 90) -> None:
    until = bench.clock.seconds + seconds
    bench.passes(400, until=lambda: bench.clock.seconds > until)


ON_N03 = replace(WAITING, excluded_nodes=("n03",))
CHANGES = [
    ("nothing on their lists", spread("n03"), (WAITING,), {"n03"}, [("n03",)]),
    ("it stands there", spread("n03"), (ON_N03,), {"n03"}, []),
    (
        "beside the user's own",
        spread("n03"),
        (replace(WAITING, excluded_nodes=("n07",)),),
        {"n03"},
        [("n03", "n07")],
    ),
    (
        "over, and ours",
        spread("n03", ours=("n03",)),
        (replace(WAITING, excluded_nodes=("n03", "n07")),),
        set(),
        [("n07",)],
    ),
    ("over, and the user's", spread("n03"), (ON_N03,), set(), []),
    ("they demand that node", spread("n03"), (replace(WAITING, required_nodes=("n03",)),), {"n03"}, []),
    (
        "one of two is over",
        spread("n03", "n05", ours=("n03", "n05")),
        (replace(WAITING, excluded_nodes=("n03", "n05")),),
        {"n05"},
        [("n05",)],
    ),
    ("excluded, but not for this array", spread("n03"), (WAITING,), {"n04"}, []),
    (
        "two lists",
        spread("n03"),
        (WAITING, replace(WAITING, tasks=(9,), excluded_nodes=("n07",))),
        {"n03"},
        [("n03",), ("n03", "n07")],
    ),
]


@pytest.mark.parametrize(("wanted", "groups", "excluded", "then"), [pytest.param(*c[1:], id=c[0]) for c in CHANGES])
def test_what_a_group_leaves_out(
    wanted: Spread, groups: tuple[WaitingTasks, ...], excluded: set[str], then: list[tuple[str, ...]]
) -> None:
    assert [change.nodes for change in changes(wanted, groups, frozenset(excluded))] == then


def test_waiting_tasks_leave_out_what_the_failed_one_is_restarted_without(array: Bench) -> None:
    array.to_the_end()
    pass_time(array)
    assert told(array) == [((4, 5, 6), ("n03",))]
    intents = [item for item in array.advisor.events.values() if item["payload"].get("array") == str(ARRAY)]
    assert len(intents) == 1 and "3 waiting tasks of array 11: n03" in intents[0]["payload"]["sentence"]
    assert array.advisor.reports[0][1] == "CONVERGED"


def test_what_waits_is_told_only_once_the_restarted_task_has_its_own_list(array: Bench) -> None:
    array.to_the_end()
    pass_time(array)
    effects = array.effects()
    assert effects.index("exclude_for_tasks") > effects.index("update_exclusions")


def test_nothing_is_told_where_the_advice_does_not_say_so(array: Bench) -> None:
    array.advisor.advice = [advice()]
    array.to_the_end()
    pass_time(array)
    assert told(array) == []


def test_nothing_is_told_of_another_array_or_another_users(array: Bench) -> None:
    array.scheduler.waiting[ARRAY] = [replace(WAITING, user="tess")]
    array.to_the_end()
    pass_time(array)
    assert told(array) == []
    array.scheduler.change(12, array_job=77)
    assert array.journal is not None and array.journal.memory.arrays == {}


def test_when_the_exclusion_is_over_ours_comes_off_and_the_users_own_stays(array: Bench) -> None:
    array.scheduler.waiting[ARRAY] = [replace(WAITING, excluded_nodes=("n07",))]
    array.to_the_end()
    pass_time(array)
    assert lists(array) == [("n03", "n07")]
    array.start()  # the memory of what is ours survives a restart
    array.advisor.excluded = []
    pass_time(array)
    assert lists(array) == [("n07",)]
    pass_time(array)
    assert array.journal is not None and array.journal.memory.arrays == {}


def test_who_takes_the_node_off_the_waiting_tasks_has_the_last_word(array: Bench) -> None:
    array.to_the_end()
    pass_time(array)
    array.scheduler.waiting[ARRAY] = [WAITING]
    pass_time(array, 300)
    assert lists(array) == [()] and told(array) == [((4, 5, 6), ("n03",))]


def test_a_task_that_is_new_among_the_waiting_ones_gets_what_others_took_off(array: Bench) -> None:
    array.to_the_end()
    pass_time(array)
    array.scheduler.waiting[ARRAY] = [WAITING, replace(WAITING, tasks=(7,))]
    pass_time(array)
    assert lists(array) == [(), ("n03",)]


def test_tasks_that_the_scheduler_gives_up_on_get_the_node_back(array: Bench) -> None:
    array.to_the_end()
    pass_time(array)
    array.scheduler.waiting[ARRAY] = [replace(group, stuck=True) for group in array.scheduler.waiting[ARRAY]]
    pass_time(array)
    assert lists(array) == [()]
    pass_time(array, 300)
    assert told(array) == [((4, 5, 6), ("n03",)), ((4, 5, 6), ())]


def test_an_array_that_has_nothing_left_to_wait_is_forgotten(array: Bench) -> None:
    array.to_the_end()
    pass_time(array)
    array.scheduler.waiting[ARRAY] = []
    pass_time(array, 120)
    assert array.journal is not None and array.journal.memory.arrays == {}


@pytest.mark.parametrize("closed", ["monitor", "paused", "api", "exclusions"])
def test_nothing_is_told_while_a_gate_is_closed(array: Bench, closed: str) -> None:
    array.scheduler.waiting[ARRAY] = []
    array.to_the_end()
    array.scheduler.waiting[ARRAY] = [WAITING]
    if closed == "monitor":
        array.advisor.cluster["mode"] = "monitor"
    elif closed == "paused":
        until = "2027-01-01T00:00:00Z"
        array.advisor.cluster["pauses"] = [{"scope": "user", "value": "trainer", "until": until, "reason": "no"}]
    else:
        array.advisor.refuse["clusters" if closed == "api" else "exclusions"] = 503
    pass_time(array)
    assert told(array) == []


def test_a_refusal_is_not_repeated_for_ever(array: Bench) -> None:
    array.to_the_end()
    array.scheduler.waiting[ARRAY] = [WAITING]
    array.scheduler.commands.clear()
    for _ in range(8):
        array.scheduler.lose["exclude_for_tasks"] = "undone"
        pass_time(array, 40)
    assert len([one for one in array.scheduler.commands if one[0] == "exclude_for_tasks"]) <= 3


POLL_SECONDS = 5.0  # in between nothing happens, and each look costs


def test_a_crash_anywhere_ends_with_the_same_lists(array: Bench) -> None:
    late = wire(START + timedelta(hours=23))
    array.advisor.advice = [OF_ARRAY | {"holdUntil": late, "expiresAt": late}]
    seldom = replace(array.settings.controller, poll_seconds=POLL_SECONDS)
    array.settings = replace(array.settings, controller=seldom)
    array.start()
    array.to_the_end()
    pass_time(array)
    points = len(array.fuse.points)
    assert points > 10
    print("POINTS", points, len(array.advisor.requests))
    plain = row(array_job=ARRAY, array_task=3)
    for at in range(1, points + 1, 3):
        array.stop()
        array.settings.controller.journal.unlink(missing_ok=True)
        array.advisor.reports.clear()
        array.advisor.milestones.clear()
        array.advisor.lease = None
        array.scheduler.effects.clear()
        array.scheduler.due.clear()
        array.log.clear()
        array.scheduler.add(plain)
        array.scheduler.waiting[ARRAY] = [WAITING]
        array.start(at)
        try:
            array.to_the_end()
            pass_time(array)
        except Crash:
            array.start()
            array.to_the_end()
            pass_time(array, 200)
        assert lists(array) == [("n03",)], (at, "\n".join(array.log))
        assert array.scheduler.jobs_by_number[12].state is JobState.RUNNING
        assert len(told(array)) == 1
