"""In which state may an advice find a job, and which commands must follow from it? The table, as data.

`by_gate_open` holds for each advice the commands, in the words of `worlds.word`, and the report: disposition and
reason, or nothing for a job that is waited for. With any gate closed no command follows from any state.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from schedulers.states import JobState as S
from tests.controller.scripted import row

Then = tuple[tuple[str, ...], tuple[str, ...]]
RESTART, BARE, STOP, GO = "restart without a node", "restart", "stop", "release"

ADVICE: Mapping[str, dict[str, Any]] = {
    RESTART: {},
    BARE: {"nodeConstraints": {"excludedNodes": []}},
    STOP: {"operation": "RECOVERY_OPERATION_TERMINATE"},
    GO: {"operation": "RECOVERY_OPERATION_DAG_RELEASE", "nodeConstraints": {"excludedNodes": []}},
}

BEGUN_AGAIN = ("release", "start", "unmark")
REACHED, ALREADY = ("CONVERGED", "DESIRED_STATE_OBSERVED"), ("CONVERGED", "ALREADY_SATISFIED")
NOTHING: Then = ((), ())


def left(reason: str) -> Then:
    """Nothing is done, and the advice is abandoned."""
    return (), ("ABANDONED", reason)


def brought_back(*first: str, excluded: str = "exclude BAD") -> dict[str, Then]:
    """What both restarts do to a job that is held first by `first`."""
    return {
        RESTART: ((*first, excluded, *BEGUN_AGAIN), REACHED),
        BARE: ((*first, *BEGUN_AGAIN), REACHED),
    }


FAILED_THEN = {**brought_back("requeuehold", "mark"), STOP: ((), ALREADY), GO: ((), ALREADY)}
LATER = left("SUPERSEDED")
REFUSED, CLOSED, CANCELLED = left("REFUSED_BY_SCHEDULER"), left("GATE_CLOSED"), left("CANCELLED_BY_USER")


@dataclass(frozen=True)
class Start:
    """One starting state. `made`: how it is made on a real Slurm (`making.py`); "" where it cannot be made.

    That is: a job that may be requeued, and is NODE_FAIL or BOOT_FAIL all the same. Slurm 22.05 requeues such a job
    by itself when its node is lost or does not boot, and one that forbids it is NODE_FAIL in both cases; afterwards
    it takes no `Requeue=1` any more. Other versions may do otherwise.
    """

    name: str
    job: dict[str, Any]
    then: Mapping[str, Then]
    made: str = ""
    own_exclusions: tuple[str, ...] = ()
    slow: bool = False
    short: bool = False  # of the nodes it needs once ours are excluded
    becomes: S | None = None  # by itself, after a few seconds
    loss: bool = False  # made on a cluster of its own, one after the other: it takes nodes or room from other jobs
    passes: tuple[str, ...] = ()  # advice whose answer depends on whether it has become so already


SINGLETON = {
    "dependency": "singleton(unfulfilled)",
    "comment": '{"APS": {"auto_resume_mode": "singleton_dependency"}}',
}
UNTOUCHED = {RESTART: NOTHING, BARE: NOTHING, STOP: NOTHING, GO: CLOSED}
ENDED_WELL = {STOP: ((), ALREADY), GO: ((), ALREADY)}
REQUEUED_THEN = {RESTART: (("exclude BAD",), ALREADY), BARE: ((), ALREADY), STOP: LATER, GO: LATER}
HELD_BY_OTHERS = {RESTART: CLOSED, BARE: CLOSED, STOP: LATER, GO: LATER}

STARTS = (
    Start("it runs, and hangs", {"state": S.RUNNING},
          {**brought_back("mark", "requeuehold Incomplete"), STOP: (("cancel",), REACHED), GO: ((), ALREADY)},
          "running"),
    Start("it has failed", {}, FAILED_THEN, "failed"),
    Start("its node was lost", {"state": S.NODE_FAIL}, FAILED_THEN),
    Start("its node was lost, and it forbade a requeue", {"state": S.NODE_FAIL, "requeue_allowed": False},
          {RESTART: REFUSED, BARE: REFUSED, **ENDED_WELL}, "node_fail", loss=True),
    Start("its node was lost, and Slurm requeued it", {"state": S.PENDING, "restarts": 1}, REQUEUED_THEN,
          "node_lost", loss=True),
    Start("it ran out of memory", {"state": S.OUT_OF_MEMORY}, FAILED_THEN, "out_of_memory", loss=True),
    Start("its nodes did not boot", {"state": S.BOOT_FAIL}, FAILED_THEN),
    Start("it is still ending", {"state": S.COMPLETING},
          {RESTART: NOTHING, BARE: NOTHING, STOP: NOTHING, GO: ((), ALREADY)}),
    Start("it is still ending, as its user cancelled it", {"state": S.COMPLETING},
          {RESTART: CANCELLED, BARE: CANCELLED, STOP: ((), ALREADY), GO: ((), ALREADY)}, "ending",
          becomes=S.CANCELLED, passes=(GO,)),
    Start("Slurm requeued it, and it waits", {"state": S.PENDING, "restarts": 1}, REQUEUED_THEN, "requeued"),
    Start("Slurm requeued it, and it runs again on the node", {"state": S.RUNNING, "restarts": 1},
          {RESTART: REFUSED, BARE: ((), ALREADY), STOP: LATER, GO: LATER}, "running_again"),
    Start("somebody requeued and held it", {"state": S.HELD, "restarts": 1, "reason": "job requeued in held state"},
          HELD_BY_OTHERS, "requeue_hold"),
    Start("it asked for a special exit", {"state": S.HELD, "restarts": 1, "word": "SPECIAL_EXIT"},
          HELD_BY_OTHERS, "special_exit"),
    Start("an administrator held it while it ran", {"state": S.RUNNING, "priority": 0},
          {RESTART: CLOSED, BARE: CLOSED, STOP: (("cancel",), REACHED), GO: ((), ALREADY)}, "held_running"),
    Start("held by an administrator before it ran", {"state": S.HELD, "reason": "JobHeldAdmin"}, UNTOUCHED,
          "held_admin"),
    Start("held by its user before it ran", {"state": S.HELD, "reason": "JobHeldUser"}, UNTOUCHED, "held_user"),
    Start("it is a task of an array", {"array_job": 10, "array_task": 1}, FAILED_THEN, "array_task"),
    Start("it is a heterogeneous job", {"state": S.RUNNING, "het_leader": 12},
          {RESTART: REFUSED, BARE: REFUSED, STOP: REFUSED, GO: ((), ALREADY)}, "heterogeneous"),
    Start("--no-requeue", {"requeue_allowed": False}, {RESTART: REFUSED, BARE: REFUSED, **ENDED_WELL},
          "no_requeue"),
    Start("--nodelist names the node", {"required_nodes": ("n03",)},
          {RESTART: REFUSED, BARE: FAILED_THEN[BARE], **ENDED_WELL}, "nodelist"),
    Start("its user excludes a node of his own", {},
          {**brought_back("requeuehold", "mark", excluded="exclude BAD,n06"), **ENDED_WELL}, "own_exclusions",
          own_exclusions=("n06",)),
    Start("it needs all nodes there are", {},
          {**FAILED_THEN, RESTART: (
              ("requeuehold", "mark", "exclude BAD", "release", "start", "exclude", "unmark"),
              ("ABANDONED", "REFUSED_BY_SCHEDULER"))},
          "all_nodes", short=True),
    Start("a successor that waits for its predecessor", {"state": S.HELD, "reason": "JobHeldUser", **SINGLETON},
          {RESTART: NOTHING, BARE: NOTHING, STOP: NOTHING, GO: (("release",), REACHED)}, "successor"),
    Start("it has completed", {"state": S.COMPLETED},
          {RESTART: left("ALREADY_SATISFIED"), BARE: left("ALREADY_SATISFIED"), **ENDED_WELL}, "completed"),
    Start("its user cancelled it", {"state": S.CANCELLED},
          {RESTART: CANCELLED, BARE: CANCELLED, STOP: ((), ALREADY), GO: CANCELLED}, "cancelled"),
    Start("its time was over", {"state": S.TIMEOUT}, {RESTART: CLOSED, BARE: CLOSED, **ENDED_WELL}, "timeout",
          slow=True),
    Start("it was preempted", {"state": S.PREEMPTED}, {RESTART: CLOSED, BARE: CLOSED, **ENDED_WELL},
          "preempted", loss=True),
    Start("it was preempted, and Slurm requeued it", {"state": S.PENDING, "restarts": 1}, REQUEUED_THEN,
          "preempted_requeued", loss=True),
)  # fmt: skip


def scripted_row(start: Start) -> Any:
    """The state in the words of the scripted scheduler."""
    return row(**start.job)


CLOSED_GATES: Mapping[str, tuple[dict[str, str], dict[str, Any], dict[str, Any]]] = {
    "the controller is in monitor mode": ({"controller_mode": '"monitor"'}, {}, {}),
    "the controller may not act": ({"controller_acknowledgeSchedulerActions": "false"}, {}, {}),
    "the controller is not enabled": ({"controller_enabled": "false"}, {}, {}),
    "the environment does not match": ({"controller_environmentPattern": '"prod*"'}, {}, {}),
    "the partition is not the controller's": ({"controller_partitions": '["other"]'}, {}, {}),
    "the cluster is in monitor mode": ({}, {"mode": "monitor"}, {}),
    "the cluster may not be acted on": ({}, {"acknowledgeSchedulerActions": False}, {}),
    "the partition is not the cluster's": ({}, {"partitions": ["other"]}, {}),
    "the cluster is another environment": ({}, {"environment": "prod"}, {}),
    "only approved advice is carried out": ({}, {"mode": "approve"}, {}),
    "the job has not opted in": ({}, {}, {"mayBeActedOn": False, "whyNot": "the job has not opted in"}),
    "everything is paused": (
        {}, {"pauses": [{"scope": "cluster", "value": "", "until": "2099-01-01T00:00:00Z", "reason": "night"}]}, {},
    ),
}  # fmt: skip
