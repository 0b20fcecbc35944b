"""Is a job that holds its nodes and does nothing called idle, and one that still works not?"""

from datetime import timedelta

import pytest

from detectors.catalogue.gpu_use import GpuUse
from detectors.catalogue.kind import JUDGED_ALIVE, AnomalyKind
from detectors.catalogue.records import Finding
from detectors.catalogue.role import Role
from schedulers.states import JobState
from tests.detectors.catalogue.building import Watching, at, context, records, step_line, unstamped_steps
from workloads.limits import effective_limits

DONE = "[after training is done] datetime: 2026-05-01 10:07:00"
DONE_AT = 420.0
ENDS = [
    DONE,
    "`Trainer.fit` stopped: `max_steps=40` reached.",
    "{'train_runtime': '1234.5', 'train_samples_per_second': '10.1', 'train_loss': '1.9', 'epoch': '1'}",
    "[titan] 2026-05-01 10:07:00,000 - root - INFO - Training completed",
    "Training complete",
]


def done(line: str = DONE, **facts: object) -> Watching:
    """Forty steps each 10 s, then the word that training is done."""
    watching = Watching(context(**facts))  # type: ignore[arg-type]
    watching.see(unstamped_steps(1, 40, 0, 10))
    watching.see(records([line], seconds=DONE_AT))
    return watching


def idle(watching: Watching) -> list[Finding]:
    return [found for found in watching.findings.values() if found.kind is AnomalyKind.IDLE]


def use(now: float, idle_since: float | None = None) -> GpuUse:
    return GpuUse(0.0 if idle_since else 0.9, 16, 4, at(now), at(idle_since) if idle_since is not None else None)


@pytest.mark.parametrize("line", ENDS)
def test_a_job_that_stays_after_its_end(line: str) -> None:
    watching = done(line)
    watching.see([], seconds=DONE_AT + 1800)
    assert not watching.findings
    watching.see([], seconds=DONE_AT + 1801)
    (found,) = watching.findings.values()
    assert (found.key, found.kind, found.signature, found.role) == (
        "idle",
        AnomalyKind.IDLE,
        "idle.after_end",
        Role.NONE,
    )
    assert (found.happened_at, found.step) == (at(DONE_AT), 40)
    assert found.sentence == (
        "Its log said at 10:07:00 UTC that training is done, and 30 min later it still holds 4 nodes;"
        " 30 min are allowed."
    )
    watching.see([], seconds=99_999)
    assert list(watching.findings) == ["idle"]
    assert watching.ended == []


def test_it_is_never_judged_alive() -> None:
    assert AnomalyKind.IDLE not in JUDGED_ALIVE


def test_the_limit_is_the_clusters() -> None:
    watching = done(limits=effective_limits({"idle_seconds": 60.0}))
    watching.see([], seconds=DONE_AT + 61)
    assert len(idle(watching)) == 1


QUIET: list[tuple[str, list[str]]] = [
    ("an evaluation at the end", ["> evaluating on test"]),
    ("the last save", ["saving checkpoint at iteration      40 to /ckpt in torch_dist format"]),
    ("a save whose end is never told", ["Saving model checkpoint to /out/checkpoint-40"]),
]


@pytest.mark.parametrize("lines", [case[1] for case in QUIET], ids=[case[0] for case in QUIET])
def test_what_it_declares_has_its_own_time(lines: list[str]) -> None:
    watching = done()
    watching.see(records(lines, seconds=DONE_AT + 10))
    watching.see([], seconds=DONE_AT + 3600)
    assert watching.findings == {}
    watching.see([], seconds=DONE_AT + 3620)
    assert [found.kind for found in watching.findings.values()] == [AnomalyKind.IDLE]  # and no hang: it was done


def test_the_start_of_a_second_training() -> None:
    watching = done(limits=effective_limits({"idle_seconds": 300.0}))
    watching.see(records(["> building train, validation, and test datasets ..."], seconds=DONE_AT + 200))
    watching.see([], seconds=DONE_AT + 1999)
    assert watching.findings == {}
    watching.see(records([step_line(n) for n in range(41, 80)], seconds=DONE_AT + 2000, every=10))
    watching.see([], seconds=DONE_AT + 2000 + 380 + 4000)
    assert [found.kind for found in watching.findings.values()] == [
        AnomalyKind.HANG
    ]  # it trains: silence is a hang


def test_lines_show_that_it_works_but_not_for_ever() -> None:
    watching = done()
    for n in range(1, 200):
        watching.see(records([f"$ upload {n} done", DONE[:5]], seconds=DONE_AT + 60 * n))
        if idle(watching):
            break
    assert n == 4 * 30 + 1


def test_a_step_that_comes_after_all_takes_it_back() -> None:
    watching = done()
    watching.see([], seconds=DONE_AT + 2000)
    watching.see(unstamped_steps(41, 3, DONE_AT + 2010, 10))
    assert (list(watching.findings), watching.ended) == (["idle"], ["idle"])
    watching.see(records([DONE], seconds=DONE_AT + 2100))
    watching.see([], seconds=DONE_AT + 2100 + 1801)
    assert sorted(watching.findings) == ["idle", "idle:2"]


NOT_JUDGED: list[tuple[str, dict[str, object]]] = [
    ("it ends", {"state": JobState.COMPLETING}),
    ("it has ended", {"state": JobState.COMPLETED}),
    ("it is suspended", {"state": JobState.SUSPENDED}),
    ("its log cannot be read", {"blind": True, "last_read_at": None}),
    ("nothing was read since", {"last_read_at": at(DONE_AT + 100)}),
    ("its GPUs work", {"use": use(DONE_AT + 1990)}),
]


@pytest.mark.parametrize("facts", [case[1] for case in NOT_JUDGED], ids=[case[0] for case in NOT_JUDGED])
def test_what_is_not_judged(facts: dict[str, object]) -> None:
    watching = done()
    watching.see([], seconds=DONE_AT + 2000, **facts)
    assert idle(watching) == []


def test_a_time_in_which_it_was_suspended_does_not_count() -> None:
    watching = done()
    watching.see([], seconds=DONE_AT + 1700, state=JobState.SUSPENDED)
    watching.see([], seconds=DONE_AT + 1900)
    assert idle(watching) == []
    watching.see([], seconds=DONE_AT + 1700 + 1801)
    assert len(idle(watching)) == 1


def test_blindness_takes_nothing_back() -> None:
    watching = done()
    watching.see([], seconds=DONE_AT + 2000)
    watching.see([], seconds=DONE_AT + 2100, blind=True, last_read_at=None)
    assert (len(idle(watching)), watching.ended) == (1, [])


class TestByMetrics:
    """None of its GPUs works."""

    def test_a_job_that_never_trained(self) -> None:
        watching = Watching()
        watching.see(records(["waiting for the data server"], seconds=5))
        watching.see([], seconds=1800, use=use(1795, 0))
        assert idle(watching) == []
        watching.see(records(["waiting for the data server"], seconds=1850), use=use(1850, 0))
        (found,) = idle(watching)
        assert found.signature == "idle.no_gpu_work"
        assert (
            found.sentence == "No GPU of its 4 nodes has worked for 30.8 min, and no step came; 30 min are allowed."
        )

    def test_it_works_again(self) -> None:
        watching = Watching()
        watching.see([], seconds=1850, use=use(1850, 0))
        watching.see([], seconds=1860)  # nobody knows
        assert watching.ended == []
        watching.see([], seconds=1870, use=use(1870))
        assert watching.ended == ["idle"]

    def test_a_silence_in_training_is_a_hang(self) -> None:
        watching = Watching()
        watching.see(unstamped_steps(1, 40, 0, 10))
        watching.see([], seconds=5000, use=use(5000, 400))
        assert [found.kind for found in watching.findings.values()] == [AnomalyKind.HANG]

    def test_a_job_whose_steps_come_without_a_gpu(self) -> None:
        watching = Watching()
        for n in range(100):
            watching.see(unstamped_steps(10 * n + 1, 10, 100 * n, 10), use=use(100 * n + 90, 0))
        assert watching.findings == {}

    def test_a_declared_save_has_its_time(self) -> None:
        watching = Watching()
        watching.see(unstamped_steps(1, 40, 0, 10))
        watching.see(records(["saving checkpoint at iteration      40 to /ckpt"], seconds=400))
        watching.see([], seconds=400 + 3000, use=use(3400, 420))
        assert idle(watching) == []

    def test_a_blind_job_is_seen_by_its_gpus(self) -> None:
        watching = Watching()
        watching.see(unstamped_steps(1, 40, 0, 10))
        watching.see([], seconds=3000, blind=True, last_read_at=None, use=use(3000, 500))
        (found,) = idle(watching)
        assert found.happened_at == at(500)


def test_memory_survives_as_json() -> None:
    watching = done()
    watching.see([], seconds=DONE_AT + 2000)
    assert watching.states["idle"]["since"] == (at(0) + timedelta(seconds=DONE_AT)).isoformat()
