"""How are cases put on in the simulated cluster? Side by side, on as many processors as there are."""

import os
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lab.cases.case import Case
from lab.score.grading import grade
from lab.score.said import Result, Said
from lab.virtual.child import ChildFailed, Children, run
from lab.virtual.sharing import shares

CASES_FILE = "cases.pickle"
TRUTH = "truth"  # folder of the truth files, beside the logs and not above them


def put_on(
    cases: Sequence[Case],
    folder: Path,
    say: Callable[[str], None],
    *,
    seed: int = 1,
    processes: int = 0,
) -> list[Result]:
    """Put on every case that has a script for the simulated cluster; one line to `say` when each is over.

    The results in the order of the cases. `folder` (made) takes logs, truth files, journals and what the processes
    say. `processes` is as many as there are processors when it is 0. The same seed gives the same results.
    """
    scripted = [case for case in cases if case.simulated is not None]
    parts = shares(scripted, processes or len(os.sched_getaffinity(0)))
    done: dict[str, Result] = {}
    children = Children()

    def finished(result: Result) -> None:
        done[result.case.name] = result
        say(f"{len(done)}/{len(scripted)} {told(result)}")

    with ThreadPoolExecutor(max(len(parts), 1)) as pool:
        running = [
            pool.submit(_part, part, folder / f"part-{number}", seed, finished, children)
            for number, part in enumerate(parts)
        ]
        try:
            for one in running:
                one.result()
        finally:
            children.end()  # the pool waits for its threads, and they for their processes
    return [done[case.name] for case in scripted]


def told(result: Result) -> str:
    """One line on a case that is over."""
    case, graded = result.case, grade(result, "simulated")
    if not graded.counted:
        return f"{case.sort} {case.name}: {graded.standing}: {graded.why}"
    return f"{case.sort} {case.name}: {graded.said}: {'; '.join(graded.wrong) or 'right'}"


def _part(
    cases: Sequence[Case], folder: Path, seed: int, finished: Callable[[Result], None], children: Children
) -> None:
    """One process with its share of the cases. Those it leaves without a result are broken."""
    (folder / TRUTH).mkdir(parents=True)
    (folder / CASES_FILE).write_bytes(pickle.dumps(tuple(cases)))
    left = {case.name: case for case in cases}

    def take(line: str) -> None:
        result = pickle.loads((folder / line).read_bytes())  # noqa: S301  # written by our own child
        del left[result.case.name]
        finished(result)

    try:
        run(folder / "site", "lab.virtual.playing", [str(folder), str(seed)], take, beside=children)
    except ChildFailed as error:
        for case in left.values() if not children.ended else ():
            finished(Result(case, (), Said(), 0.0, broken=str(error)))
