"""What happens when the scheduler does not answer, or not to be understood?"""

import pytest

from audit.event_type import EventType
from audit.models import AuditEvent
from schedulers.port import Garbled, Limits, NodeRow, SchedulerError, Unreachable
from tests.workloads.scripted import ScriptedScheduler, a_row, after, failed
from tests.workloads.test_observing import everything
from workloads.models import Attempt, Cluster, Node
from workloads.observing import observe

SILENCE = Unreachable("squeue gave no answer within 30 s.", "slurm_load_jobs error: Unable to contact\0")


@pytest.mark.parametrize("call", ["jobs", "nodes", "limits"])
@pytest.mark.parametrize("error", [SILENCE, Garbled("The listing breaks off.", "{\udcff")])
def test_no_usable_answer_changes_nothing_but_the_sight(cluster: Cluster, call: str, error: SchedulerError) -> None:
    observe(cluster, ScriptedScheduler([a_row()]), after(0))
    before = everything()
    scheduler = ScriptedScheduler([failed(a_row(), after(9))], fails={call: error})
    observe(cluster, scheduler, after(3600))
    cluster.refresh_from_db()
    assert cluster.cannot_see_since == after(3600)
    assert cluster.cannot_see_reason == error.reason
    assert cluster.raw_answer.startswith(error.raw[0])
    later = everything()
    assert (later["Job"], later["Attempt"]) == (before["Job"], before["Attempt"])
    assert [event["type"] for event in later["AuditEvent"][len(before["AuditEvent"]) :]] == ["cannot_see"]


def test_one_event_for_the_whole_time_and_one_for_its_end(cluster: Cluster) -> None:
    observe(cluster, ScriptedScheduler([a_row()]), after(0))
    observe(cluster, ScriptedScheduler(fails={"jobs": SILENCE}), after(15))
    observe(cluster, ScriptedScheduler(fails={"jobs": Garbled("Half a record.", "x" * 70_000)}), after(30))
    cluster.refresh_from_db()
    assert cluster.cannot_see_since == after(15)
    assert cluster.cannot_see_reason == "Half a record."
    assert (len(cluster.raw_answer), cluster.changed_at) == (65536, after(30))
    observe(cluster, ScriptedScheduler([failed(a_row(), after(20))]), after(45))
    cluster.refresh_from_db()
    assert (cluster.cannot_see_since, cluster.cannot_see_reason, cluster.raw_answer) == (None, "", "")
    assert Attempt.objects.get().state == "failed"
    told = AuditEvent.objects.filter(type__in=[EventType.CANNOT_SEE, EventType.SEES_AGAIN])
    assert [event.sentence for event in told] == [
        "Cannot see the scheduler of demo: squeue gave no answer within 30 s.",
        "Sees the scheduler of demo again after 30 s.",
    ]


def test_a_cluster_that_was_never_seen(cluster: Cluster) -> None:
    observe(cluster, ScriptedScheduler(fails={"jobs": SILENCE}), after(0))
    cluster.refresh_from_db()
    assert (cluster.seen_at, cluster.cannot_see_since) == (None, after(0))
    observe(cluster, ScriptedScheduler([a_row()]), after(15))
    cluster.refresh_from_db()
    assert (cluster.seen_at, cluster.cannot_see_since) == (after(15), None)


def test_limits_are_asked_for_when_unknown_and_once_an_hour(cluster: Cluster) -> None:
    asked = []
    for seconds in (0, 15, 3599, 3600, 3615, 7200):
        scheduler = ScriptedScheduler([a_row()])
        observe(cluster, scheduler, after(seconds))
        asked.append("limits" in scheduler.calls)
    assert asked == [True, False, False, True, False, True]
    cluster.refresh_from_db()
    assert (cluster.scheduler_version, cluster.scheduler_tested, cluster.min_job_age_seconds) == (
        "22.05.8",
        True,
        300,
    )
    newer = Limits("26.05.3", "lab", min_job_age=10, requeue_wait=1, kill_wait=2, tested=False)
    observe(cluster, ScriptedScheduler([a_row()], installation=newer), after(99_999))
    cluster.refresh_from_db()
    assert (cluster.scheduler_version, cluster.scheduler_tested, cluster.min_job_age_seconds) == (
        "26.05.3",
        False,
        10,
    )
    assert cluster.changed_at == after(99_999)


def nodes() -> list[tuple[str, str, bool, str]]:
    return list(Node.objects.values_list("name", "state", "available", "reason"))


def test_nodes_come_change_and_go(cluster: Cluster) -> None:
    def look(seconds: float, *rows: NodeRow) -> None:
        observe(cluster, ScriptedScheduler([a_row()], node_rows=rows), after(seconds))

    look(0, NodeRow("n01", ("idle",)), NodeRow("n02", ("mixed",), partitions=("main",)))
    drained = NodeRow("n02", ("idle", "drain"), "bad\0dimm", "root", after(3), after(-900), ("main",))
    look(15, NodeRow("n01", ("idle",)), drained)
    assert nodes() == [("n01", "idle", True, ""), ("n02", "idle+drain", False, "bad�dimm")]
    stored = Node.objects.get(name="n02")
    assert (stored.reason_by, stored.reason_at, stored.booted_at) == ("root", after(3), after(-900))
    cluster.refresh_from_db()
    assert cluster.changed_at == after(15)
    look(30, NodeRow("n01", ("idle",)))
    assert nodes()[1][1:3] == ("gone", False)
    assert Node.objects.get(name="n02").seen_at == after(15)
    assert Node.objects.get(name="n01").seen_at == after(30)
    look(45)  # no nodes at all is no answer about nodes
    assert [state for _, state, _, _ in nodes()] == ["idle", "gone"]
    look(60, NodeRow("n01", ("idle",)), NodeRow("n02", ("idle",)))
    assert nodes()[1][1:3] == ("idle", True)
