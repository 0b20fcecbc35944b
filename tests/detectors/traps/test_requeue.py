"""Trap 6: does a requeue that truncates the log lose or mix up anything?"""

from detectors.models import Anomaly, Excerpt, Feed
from schedulers.states import JobState
from tests.detectors.rows import ECC, megatron
from tests.detectors.traps.stage import Stage
from tests.workloads.scripted import requeued


def test_trap_06_a_requeue_that_truncates_the_log_takes_no_earlier_text_away(stage: Stage) -> None:
    """The new text is longer than the old one before anybody looks, in the same inode."""
    stage.submit()
    stage.train(1, 10)
    stage.say(ECC.replace("n03", "n02"), "the last words of attempt 0")
    stage.at += 2
    stage.look()
    (before,) = Feed.objects.filter(attempt=stage.attempt())
    inode = stage.path().stat().st_ino
    stage.at += 5
    row = stage.row()
    stage.show(requeued(row, stage.now, state=JobState.RUNNING, started_at=stage.now, nodes=("n03", "n04")))
    with stage.path().open("r+") as file:
        file.truncate(0)
    stage.say(*(megatron(11 + step, stage.now) for step in range(60)))
    assert stage.path().stat().st_ino == inode and stage.path().stat().st_size > before.position["offset"]
    stage.wait(60)
    old, new = stage.attempt(index=0), stage.attempt(index=1)
    assert "cuda.ecc" in set(Anomaly.objects.filter(attempt=old).values_list("signature", flat=True))
    assert not Anomaly.objects.filter(attempt=new).exists()
    kept = "".join(Excerpt.objects.filter(attempt=old).values_list("text", flat=True))
    assert ECC.replace("n03", "n02") in kept and "the last words of attempt 0" in kept
    assert "iteration       70" not in kept
    assert (old.last_step, new.first_step, new.last_step) == (10, 11, 70)
    (after,) = Feed.objects.filter(attempt=new)
    assert after.position["offset"] == stage.path().stat().st_size
