"""How far is one case? Its jobs, the acts that are due, the deeds that were proved, and whether it is over."""

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import truth
from lab.cases.case import Act, Case, Did, OnSlurm, Sort
from lab.real.outside import BEFORE, OUTSIDE, Proof, Scene
from lab.real.queue import FINAL, Listed
from lab.real.script import batch_script, named, sbatch_words
from lab.real.steps import last_step
from lab.score.said import Result, Said
from lab.slurm.cluster import SlurmCluster
from lab.slurm.layout import Partition

LATE_SECONDS = 30.0  # more, when the deed itself comes late: the machine has other things to do
SETTLED_SECONDS = 10.0  # after a job has ended or was held by Slurm: the product had its time to speak
COMPLETED_SECONDS = 3.0
RESTARTS = frozenset({Did.RESTART, Did.RESTART_EXCLUDE})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a case is put on, and who says what the product said of some jobs.

    `tag` stands for its name wherever the product could look; `truth` is outside the folders that it reads; `port`
    is the first of a block.
    """

    slurm: SlurmCluster
    partition: Partition
    tag: str
    truth: Path
    port: Callable[[], int]
    said: Callable[[Sequence[int]], Said]


class Playing:
    """One case that is being put on; `broken` says why the lab could not."""

    def __init__(self, case: Case, place: Place) -> None:
        if case.slurm is None:
            raise ValueError(f"{case.name} has no script for a real Slurm.")
        self.case, self.place = case, place
        self.script: OnSlurm = case.slurm
        self.scene = Scene(place.slurm, place.tag, place.partition.nodes)
        self.broken = ""
        self.healthy_seconds = 0.0
        self._acts: list[Act] = list(self.script.acts)
        self._proofs: list[Proof] = []
        self._since: dict[int, tuple[str, float]] = {}
        self._begun_at = self._looked_at = 0.0

    @property
    def seconds(self) -> float:
        """How long it has been watched."""
        return time.time() - self._begun_at

    def begin(self) -> None:
        """Do what has to be done before, and submit the jobs."""
        self._begun_at = self._looked_at = time.time()
        with self._unless_broken():
            for act in [act for act in self._acts if act.do in BEFORE and not act.at and act.on_step is None]:
                self._do(act)
            for place in range(self.script.jobs):
                self._submit(place)
            if not self.script.orders and not self.script.acts and not self._time_limit():
                truth.note(self.place.truth, self.scene.deed("as_it_is", self.scene.jobs[0]))

    def look(self, listed: Mapping[int, Listed]) -> None:
        """Take a new listing in (empty: there is none now) and do what is due."""
        if self.broken:
            return
        now = time.time()
        if listed:
            self.scene.listed = {number: listed[number] for number in self.scene.jobs if number in listed}
            self._count(now)
        self._looked_at = now
        with self._unless_broken():
            step = last_step(self._log()) if any(act.on_step is not None for act in self._acts) else -1
            for act in [act for act in self._acts if self._due(act, step)]:
                self._do(act)
            self._prove()

    def over(self) -> bool:
        """Whether there is nothing to wait for: its time is over, or its jobs have settled.

        A trap's job that is held may still be released by mistake, so it is watched to the end.
        """
        whole = self._whole()
        late = 0.0 if whole and self.deeds() else LATE_SECONDS
        if self.broken or self.seconds >= self.script.seconds + late:
            return True
        if not whole or not self.deeds():
            return False
        held = self.case.sort is Sort.TRAP and any(job.held for job in self.scene.listed.values())
        if held or not all(self._settled(number) for number in self.scene.jobs):
            return False
        said = self._said()
        return not open_restarts(said, time.time()) and not unanswered(self.case, self.deeds(), said)

    def end(self) -> Result:
        """Read what was said, cancel what still runs, and give the result."""
        told = self._said()
        if self.scene.jobs and not self.scene.away:
            with contextlib.suppress(subprocess.SubprocessError):
                self.place.slurm.client(["scancel", *map(str, self.scene.jobs)])
        done = named(self.deeds(), self.case) if self._whole() else ()
        return Result(self.case, done, told, self.healthy_seconds, self.broken)

    def _whole(self) -> bool:
        """Whether every act was done and proved, and an order carried out if there is any: half is not it."""
        by_trainer = any(deed.ranks for deed in self.deeds())
        return not self._acts and not self._proofs and (by_trainer or not self.script.orders)

    def deeds(self) -> list[truth.Injected]:
        """What was done by now, by the trainer and from outside."""
        return truth.read([self.place.truth])

    def _said(self) -> Said:
        return self.place.said(self.scene.jobs) if self.scene.jobs else Said()

    def _submit(self, place: int) -> None:
        layout, tag = self.place.slurm.layout, self.place.tag
        script = batch_script(
            self.case,
            tag,
            self.place.partition.nodes,
            folder=layout.jobs / f"checkpoints-{tag}-{place}",
            truth=self.place.truth,
            port=self.place.port(),
        )
        number = self.place.slurm.submit(script, *sbatch_words(self.case, tag, place, self.place.partition.name))
        self.scene.jobs.append(number)
        self.scene.logs[number] = layout.jobs / f"train_{number}.log"

    def _log(self) -> bytes:
        log = self.scene.logs.get(self.scene.jobs[0])
        return log.read_bytes() if log and log.exists() else b""

    def _due(self, act: Act, step: int) -> bool:
        return step >= act.on_step if act.on_step is not None else self.seconds >= act.at

    def _do(self, act: Act) -> None:
        self._acts.remove(act)
        self._proofs.append(OUTSIDE[act.do](self.scene, act.words))
        self._prove()

    def _prove(self) -> None:
        for proof in list(self._proofs):
            if deed := proof():
                truth.note(self.place.truth, deed)
                self._proofs.remove(proof)

    def _time_limit(self) -> bool:
        return any(word.startswith(("-t", "--time")) for word in self.script.sbatch)

    def _count(self, now: float) -> None:
        """Time of each state, and for how long jobs ran with nothing wrong with them."""
        struck = {(one.job, one.attempt) for one in self.deeds()} if self.case.sort is Sort.FAULT else set()
        for number, job in self.scene.listed.items():
            before = self._since.get(number, ("", now))
            if before[0] != job.state:
                self._since[number] = (job.state, now)
                if job.state == "TIMEOUT" and self._time_limit():
                    truth.note(self.place.truth, self.scene.deed("time_limit", number))
            # Between two looks that are far apart it may have begun at any time.
            ran_since = before[0] == job.state == "RUNNING"
            if ran_since and (number, job.attempt) not in struck:
                self.healthy_seconds += now - self._looked_at

    def _settled(self, number: int) -> bool:
        job = self.scene.listed.get(number)
        if job is None or not (job.state in FINAL or job.held):
            return False
        needed = COMPLETED_SECONDS if job.state == "COMPLETED" else SETTLED_SECONDS
        return time.time() - self._since[number][1] >= needed

    @contextlib.contextmanager
    def _unless_broken(self) -> Iterator[None]:
        try:
            yield
        except (subprocess.SubprocessError, OSError, LookupError, ValueError) as error:
            words = getattr(error, "stderr", "") or str(error)
            self.broken = f"{type(error).__name__}: {words.strip()}"[:300]


def unanswered(case: Case, deeds: Sequence[truth.Injected], said: Said) -> bool:
    """Whether an attempt that was struck calls for something and no advice on it was given yet.

    A busy machine may take longer than `SETTLED_SECONDS` for it; who never answers is watched to the end.
    """
    wants, later = case.truth.actions, case.truth.later or case.truth.actions
    struck = sorted({(one.job, one.attempt + int(case.truth.held)) for one in deeds if one.job > 0})
    answered = {(one.job, one.attempt) for one in said.advice}
    return case.sort is Sort.FAULT and any(
        one not in answered and Did.NONE not in (later if place else wants) for place, one in enumerate(struck)
    )


def open_restarts(said: Said, now: float) -> bool:
    """Whether a restart is advised for the newest attempt of a job, and not carried out yet or only just.

    The listing is older than what was said: on a busy machine a job stands in it as held that was released since.
    """
    newest = {one.job: one for one in said.advice}
    restarts = (one for one in newest.values() if one.did in RESTARTS)
    return any(
        one.acknowledged_at is None or now - one.acknowledged_at.timestamp() < SETTLED_SECONDS for one in restarts
    )
