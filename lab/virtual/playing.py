"""How does one process put on its share of the cases?

`python -m lab.virtual FOLDER/site lab.virtual.playing FOLDER SEED`; FOLDER holds the cases. All begin at the same
virtual moment, each on a cluster of its own. When one is over, its result is written and the file's name printed.
"""

import heapq
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path

from lab.cases.case import Act, Case
from lab.replay.verdict import FOLDER
from lab.score.said import Result, Said
from lab.simulate.play import Play
from lab.virtual.run import CASES_FILE, TRUTH
from lab.virtual.scene import ENVIRONMENT, Scene, tag_of
from lab.virtual.site import VirtualSite

START = 1_777_622_400.0  # 2026-05-01 08:00:00 UTC
LOOK_SECONDS = 1.0  # between two looks whether a job has made the step that an act waits for


def main(arguments: Sequence[str]) -> int:
    """`FOLDER SEED`; 0."""
    folder, seed = Path(arguments[0]), int(arguments[1])
    cases = pickle.loads((folder / CASES_FILE).read_bytes())  # noqa: S301  # written by our own parent
    for number, result in enumerate(play(cases, folder, seed)):
        name = f"result-{number}"
        (folder / name).write_bytes(pickle.dumps(result))
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
    return 0


def play(cases: Sequence[Case], folder: Path, seed: int) -> Iterator[Result]:
    """A result for each case, as they end. Django must be ready and its database empty."""
    with VirtualSite(folder / "site", START, seed) as site:
        agenda = Agenda(folder)
        for case in cases:
            try:
                _begin(case, folder, site, agenda)
            except Exception as error:
                yield _broken(case, error)
        yield from agenda.run(site)


class Agenda:
    """What is done when: acts of the lab, and the ends of cases."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder  # takes the verdicts of each case
        self._heap: list[tuple[float, int, Scene, Callable[[float], None] | None]] = []
        self._order = count()

    def put(self, at: float, scene: Scene, act: Callable[[float], None] | None) -> None:
        """Do `act` at `at` (epoch seconds); without one the case ends."""
        heapq.heappush(self._heap, (at, next(self._order), scene, act))

    def run(self, site: VirtualSite) -> Iterator[Result]:
        """Everything in its order; a case that raises is broken and over."""
        over: set[str] = set()
        while self._heap:
            at, _, scene, act = heapq.heappop(self._heap)
            if scene.case.name in over:
                continue
            site.advance(at)
            try:
                if act is not None:
                    act(at)
                    continue
                result = scene.result(site.said(scene.tag))
                site.keep_verdicts(scene.tag, self._folder / FOLDER / f"{scene.case.name}.jsonl")
            except Exception as error:
                result = _broken(scene.case, error)
            over.add(scene.case.name)
            scene.close()
            site.forget(scene.tag)
            yield result


def _begin(case: Case, folder: Path, site: VirtualSite, agenda: Agenda) -> None:
    script = case.simulated
    if script is None:
        raise ValueError("it has no script for the simulated cluster")
    logs_folder = folder / "logs" / tag_of(case)
    logs_folder.mkdir(parents=True)
    scene = Scene(case, site.now, logs_folder, folder / TRUTH / f"{case.name}.jsonl")
    site.watch(scene.tag, scene.cluster, logs_folder, environment=ENVIRONMENT)
    for at, one in script.jobs:
        agenda.put(site.now + at, scene, partial(_submit, scene, one))
    for act in script.acts:
        if act.on_step is None:
            agenda.put(site.now + act.at, scene, partial(_act, scene, act))
        else:
            agenda.put(site.now, scene, partial(_await, scene, agenda, act))
    agenda.put(site.now + script.seconds, scene, None)


def _submit(scene: Scene, play: Play, now: float) -> None:
    scene.submit(play)


def _act(scene: Scene, act: Act, now: float) -> None:
    scene.act(act)


def _await(scene: Scene, agenda: Agenda, act: Act, now: float) -> None:
    """Do it once job 0 has made its step, else look again."""
    if act.on_step is not None and scene.made_step(act.on_step):
        scene.act(act)
    else:
        agenda.put(now + LOOK_SECONDS, scene, partial(_await, scene, agenda, act))


def _broken(case: Case, error: Exception) -> Result:
    return Result(case, (), Said(), 0.0, broken=f"{type(error).__name__}: {error}"[:300])
