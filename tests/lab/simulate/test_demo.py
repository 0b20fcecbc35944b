"""Does the demonstration show what it promises, for hours, without growing?"""

import json

import pytest

from lab.simulate.demo import Demo, opt_in
from lab.simulate.logs import MemoryLogs
from lab.simulate.model import Cluster
from lab.simulate.settings import Settings
from tests.lab.simulate.stage import START


class Show:
    """The demonstration in virtual time, with or without somebody who brings failed jobs back."""

    def __init__(self, recovers: bool) -> None:
        self.scenario = Demo()
        self.logs = MemoryLogs()
        self.cluster = Cluster(START, self.scenario.settings(Settings(cluster_name="east")), self.logs)
        self.recovers = recovers
        self.ends: dict[tuple[int, int], tuple[str, float]] = {}  # of each attempt: state, seconds after the start
        self.most_jobs = self.most_files = 0
        self.running: list[int] = []

    def play(self, seconds: float) -> None:
        cluster = self.cluster
        ends = cluster.now + seconds
        while cluster.now < ends:
            cluster.advance(cluster.now + 0.5)
            self.scenario.tick(cluster)
            for job in list(cluster.jobs.values()):
                if job.finished and not job.completing:
                    self.ends.setdefault((job.number, job.restarts), (job.state, cluster.now - START))
                    if self.recovers:
                        self.recover(job)
            self.running.append(sum(job.state == "RUNNING" for job in cluster.jobs.values()))
            self.most_jobs = max(self.most_jobs, len(cluster.jobs))
            self.most_files = max(self.most_files, len(self.logs.files))

    def recover(self, job) -> None:
        """As the product would, four seconds after the end."""
        if job.state == "FAILED" and job.restarts < 3 and self.cluster.now - job.ended_at >= 4:
            job.excluded = job.nodes[-1]
            self.cluster.requeue(job, hold=False)


def test_the_first_job_fails_on_a_node_within_half_a_minute_and_can_be_back_and_done_in_another():
    show = Show(recovers=True)
    show.play(100)
    state, at = show.ends[1, 0]
    assert state == "FAILED" and 20 < at < 30
    state, at = show.ends[1, 1]
    assert state == "COMPLETED" and at < 90
    job = show.cluster.jobs[1]
    assert job.rows[0].nodes == ("n01", "n02", "n03")
    assert "n03" not in job.nodes and len(job.nodes) == 3
    assert "successfully loaded checkpoint" in show.logs.files[job.path]


@pytest.mark.parametrize("recovers", [True, False], ids=["acted_upon", "only_watched"])
def test_it_goes_on_for_hours_and_stays_small(recovers):
    show = Show(recovers)
    show.play(2 * 3600)
    assert show.most_jobs <= 30
    assert show.most_files <= 40
    assert len(show.cluster.forgotten) <= 200
    running = show.running[10:]
    assert max(running) <= 4
    assert sum(2 <= count <= 4 for count in running) > 0.8 * len(running)
    late = {state for (number, _), (state, at) in show.ends.items() if at > 3600}
    assert {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY"} <= late
    assert all(node.word.startswith(("IDLE", "ALLOCATED", "DOWN")) for node in show.cluster.nodes.values())


def test_the_jobs_ask_to_be_recovered_in_this_environment():
    show = Show(recovers=False)
    show.play(10)
    for job in show.cluster.jobs.values():
        asked = json.loads(job.comment)
        assert asked == {
            "nvidia-recovery": {"environment": "east", "mode": "action"},
            "APS": {"auto_resume_mode": "requeue", "max_requeue_times": 5},
        }
    assert opt_in("east") == show.cluster.jobs[1].comment


def test_one_comment_is_no_json_and_one_names_an_unknown_mode():
    show = Show(recovers=True)
    comments = set()
    for _ in range(60):
        show.play(10)
        comments |= {job.comment for job in show.cluster.jobs.values()}
    odd = sorted(comments - {opt_in("east")})
    assert len(odd) == 2
    assert json.loads(odd[0])["nvidia-recovery"]["mode"] == "automatic"
    with pytest.raises(json.JSONDecodeError):
        json.loads(odd[1])


def test_nothing_is_submitted_to_a_stopped_controller():
    show = Show(recovers=False)
    show.cluster.stop_controller()
    show.play(30)
    assert show.cluster.jobs == {}
