"""Has every case nodes of its own, and does its name stay out of everything that the product could read?"""

from pathlib import Path

import pytest

from lab.cases.case import Act, Sort
from lab.dialects.dialect import Stage
from lab.dialects.known import DIALECTS
from lab.real.plan import rounds
from lab.real.script import batch_script, sbatch_words
from lab.real.steps import last_step
from lab.slurm.layout import MOST_NODES
from tests.lab.real.making import NAME, a_case

NODES = ("n07", "n08", "n09", "n10")


def test_no_node_is_used_twice_and_each_case_has_some_to_spare() -> None:
    cases = [a_case(f"case{place}", nodes=2 + place % 3) for place in range(20)]
    (planned,) = rounds(cases)
    nodes = [node for plan in planned for node in plan.partition.nodes]
    assert len(set(nodes)) == len(nodes)
    assert all(len(plan.partition.nodes) >= plan.nodes + 2 for plan in planned)
    assert len({plan.tag for plan in planned}) == len({plan.partition.name for plan in planned}) == 20


def test_what_does_not_fit_one_slurm_gets_a_second_one() -> None:
    planned = rounds([a_case(f"case{place}", nodes=8) for place in range(30)])
    assert [len(one) for one in planned] == [19, 11]
    assert all(sum(len(plan.partition.nodes) for plan in one) <= MOST_NODES for one in planned)


def test_who_takes_the_scheduler_away_is_alone() -> None:
    ((first, second),) = rounds([a_case(acts=(Act("slurmctld_hang"),)), a_case(acts=(Act("slurmd_kill"),))])
    assert (first.alone, second.alone) == (True, False)


def test_a_case_without_a_script_for_slurm_is_left_out() -> None:
    assert rounds([]) == []


def test_the_name_stays_out_of_script_and_words() -> None:
    case = a_case(orders=({"kind": "raise", "step": 3, "rank": 0},), sbatch=("--time=1",))
    folder = Path("/jobs/checkpoints-07-0")
    script = batch_script(case, "07", NODES, folder=folder, truth=Path("/truth/07.jsonl"), port=20000)
    words = sbatch_words(case, "07", 0, "p07")
    assert NAME not in script + " ".join(words)
    assert "/truth" not in " ".join(words)
    assert words[-1] == "--time=1"


def test_an_order_may_name_a_place_among_the_nodes() -> None:
    case = a_case(orders=({"kind": "sigkill", "step": 1, "host": "node:1"},))
    script = batch_script(case, "07", NODES, folder=Path("/f"), truth=Path("/t"), port=1)
    assert '"host": "n08"' in script


@pytest.mark.parametrize(
    ("case", "steps"),
    [
        (a_case(), 40),
        (a_case(acts=(Act("slurmd_kill"),)), 150),
        (a_case(training={"steps": 7}), 7),
        (a_case(sort=Sort.TRAP), 100_000),
    ],
    ids=["comes back and completes", "is there when the node is lost", "as the case says", "a trap runs on"],
)
def test_how_long_a_job_trains(case, steps: int) -> None:
    script = batch_script(case, "07", NODES, folder=Path("/f"), truth=Path("/t"), port=1)
    assert f"--steps {steps} " in script


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_the_step_is_read_in_every_dialect(dialect: str) -> None:
    stage = Stage(number=4, name="train", attempt=0, nodes=NODES, gpus=1, steps=999, step_seconds=0.3)
    spoken = DIALECTS[dialect]
    lines = spoken.opening(stage, 0, 0.0) + spoken.loaded(stage, 0, 0.0)
    assert last_step("\n".join(lines).encode()) <= 0
    lines += [line for step in range(1, 25) for line in spoken.step(stage, step, 0.3, float(step))]
    assert last_step("\n".join(lines).encode()) in {23, 24}
