"""How is one case put on in another way? By a seed: other clocks, another node, another step, another framework.

The truth stays what it is; what was struck stands in the truth file. What a case depends on is left as it is: the
step of a fault that has to come again, a node that an act names, a rhythm that is judged.
"""

from dataclasses import replace

from lab.cases.case import Case, Simulated
from lab.dialects.known import DIALECTS
from lab.simulate.play import Fault, Play
from lab.virtual.scene import FIRST_JOB

MARK = "~"  # between the name of a case and its seed
BY_RHYTHM = frozenset({"slow", "silence", "numbers", "data"})
STEPS = 5  # a fault comes up to so many steps later
EARLY = 10  # a fault before this step is one of the start, and stays there


def vary(case: Case, seed: int) -> Case:
    """The case as this seed puts it on; seed 0 changes its name alone."""
    script = case.simulated
    name = f"{case.name}{MARK}{seed}"
    if script is None or seed == 0:
        return replace(case, name=name)
    jobs = tuple((at, _play(case, script, play, seed)) for at, play in script.jobs)
    settings = {**script.settings, "first_job": int(script.settings.get("first_job", FIRST_JOB)) + 100 * seed}
    return replace(case, name=name, simulated=replace(script, jobs=jobs, settings=settings))


def case_of(name: str) -> str:
    """The name of the case that was varied."""
    return name.partition(MARK)[0]


def _play(case: Case, script: Simulated, play: Play, seed: int) -> Play:
    names = list(DIALECTS)
    dialect = play.dialect
    if case.group not in BY_RHYTHM and dialect in names:
        dialect = names[(names.index(dialect) + seed) % len(names)]
    faults = play.faults
    if not script.acts and len(script.jobs) == 1 and len(faults) == 1:
        faults = (_fault(faults[0], play, seed),)
    return replace(play, dialect=dialect, faults=faults)


def _fault(fault: Fault, play: Play, seed: int) -> Fault:
    """Elsewhere and a little later. A named node, and every step that has a meaning, stay."""
    moved = isinstance(fault.node, int) and not fault.node_name and play.nodes > 1
    node = (int(fault.node) + seed) % play.nodes if moved else fault.node
    later = fault.step >= EARLY and fault.until is None and not fault.every
    return replace(fault, node=node, step=fault.step + seed % STEPS if later else fault.step)
