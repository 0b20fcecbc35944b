"""The short form of what `./run proof` plays in full (`proving.py`): states, gates, kills on a real Slurm."""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from lab.slurm.cluster import SlurmCluster
from tests.controller.real import series
from tests.controller.real.people import STORIES, person_story
from tests.controller.real.starting import BARE, RESTART, STARTS

pytestmark = pytest.mark.slurm
SHORT = {
    "running", "failed", "requeued", "running_again", "held_running", "array_task", "own_exclusions", "all_nodes",
}  # fmt: skip


@pytest.fixture(scope="module")
def lab() -> Iterator[SlurmCluster]:
    with tempfile.TemporaryDirectory(prefix="rk-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        with series.cluster(Path(folder)) as running:
            yield running


def test_states(lab: SlurmCluster, tmp_path: Path) -> None:
    lines = [start for start in STARTS if start.made in SHORT]
    stories = [partial(series.state_story, lab, tmp_path / start.made, start, RESTART) for start in lines]
    (successor,) = [start for start in STARTS if start.made == "successor"]
    stories.append(partial(series.state_story, lab, tmp_path / "successor", successor, "release"))
    assert len(series.at_once(stories)) == len(SHORT) + 1


def test_a_lost_node_and_a_lost_place(tmp_path: Path) -> None:
    """Out of memory, which only some machines can do, is played by `./run proof`."""
    with tempfile.TemporaryDirectory(prefix="rk-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        with series.losing_cluster(Path(folder)) as lab:
            for made, kind in (("node_fail", RESTART), ("preempted", RESTART), ("preempted_requeued", BARE)):
                (start,) = [start for start in STARTS if start.made == made]
                series.state_story(lab, tmp_path / made, start, kind)


def test_a_closed_gate(lab: SlurmCluster, tmp_path: Path) -> None:
    gates = ("the cluster is in monitor mode", "everything is paused", "the controller may not act")
    stories = [partial(series.gate_story, lab, tmp_path / gate[:20], gate, "failed") for gate in gates]
    assert all(told.commands == () for told in series.at_once(stories))


def test_killed_at_some_points(lab: SlurmCluster, tmp_path: Path) -> None:
    """Around the hold, the mark, the exclusion, the release."""
    stories = [partial(series.kill_story, lab, tmp_path / f"k{at}", "failed", at) for at in (9, 10, 15, 20, 25, 29)]
    assert all("never" not in told.name for told in series.at_once(stories))


def test_the_token_is_revoked_in_the_middle(lab: SlurmCluster, tmp_path: Path) -> None:
    def revoked(point: str) -> series.Told:
        return series.paused_story(lab, tmp_path / point, "failed", point, series.without_token, exact=True)

    series.at_once([partial(revoked, point) for point in ("after requeue_hold", "before release")])


def test_two_controllers(lab: SlurmCluster, tmp_path: Path) -> None:
    series.two_story(lab, tmp_path / "w")


def test_people_between_two_steps(lab: SlurmCluster, tmp_path: Path) -> None:
    """Those that need no watchdog and no wait."""
    played = [story for story in STORIES if not story.watched and not story.slow]
    series.at_once([partial(person_story, lab, tmp_path / f"p{n}", story) for n, story in enumerate(played)])
