"""Does an attempt hold its nodes and do nothing with them?

Two things say so: its own log told that training is done and it is still there (children left behind, a hang at
exit), or the metrics of its GPUs say that none of them works. A phase that it declares (a save, an evaluation, a
start) has the time of that phase. Nothing is ever advised for it: a person is told (decisions 17). A silence in the
middle of training is a hang, and said as such.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from detectors.catalogue.detector import Known, Rhythm, State, Step, moment, stored
from detectors.catalogue.fingerprints import fingerprint
from detectors.catalogue.hang import allowance
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.moments import PAUSES
from detectors.catalogue.readings import Reading
from detectors.catalogue.records import Context, Finding
from detectors.catalogue.role import Role
from detectors.catalogue.spans import spoken
from schedulers.states import JobState

NAME = "idle"
DONE, UNUSED = "idle.after_end", "idle.no_gpu_work"
CHATTER = 3.0  # times the limit: lines that tell nothing excuse no longer than that
CONFIDENCE = {DONE: 0.9, UNUSED: 0.85}  # not measured


@dataclass(frozen=True)
class Rest:
    """The attempt does nothing since `since`, seen up to `until`; `why` is a signature, `allowed` in seconds."""

    why: str
    since: datetime
    until: datetime
    allowed: float

    @property
    def seconds(self) -> float:
        """How long it has rested."""
        return (self.until - self.since).total_seconds()


@dataclass(frozen=True)
class Memory:
    """`key`, `why`, `since`: of what is open. `ran_at`: when it was seen in another state than RUNNING last."""

    key: str = ""
    why: str = ""
    since: datetime | None = None
    ran_at: datetime | None = None
    told: int = 0

    @classmethod
    def of(cls, state: State) -> "Memory":
        """From its JSON."""
        return cls(
            key=state.get("key", ""),
            why=state.get("why", ""),
            since=moment(state.get("since")),
            ran_at=moment(state.get("ran_at")),
            told=int(state.get("told", 0)),
        )

    def state(self) -> State:
        """As JSON."""
        times = {"since": stored(self.since), "ran_at": stored(self.ran_at)}
        return {"key": self.key, "why": self.why, "told": self.told, **times}


def fold(state: State, readings: Sequence[Reading], known: Known, context: Context, now: datetime) -> Step:
    """A finding when it has rested for longer than it may; its key again when it works after all."""
    memory = Memory.of(state)
    if context.state is not JobState.RUNNING:  # a suspended attempt rests on purpose, an ended one holds nothing
        return Step(replace(memory, ran_at=now).state(), known)
    rest = _rest(known.rhythm, context, now)
    ended: tuple[str, ...] = ()
    if memory.key and _is_over(memory, rest, known.rhythm, context):
        ended, memory = (memory.key,), replace(memory, key="", why="", since=None)
    if rest is None or memory.key or not _too_long(rest, memory):
        return Step(memory.state(), known, ended=ended)
    told = memory.told + 1
    memory = replace(memory, key="idle" if told == 1 else f"idle:{told}", why=rest.why, since=rest.since, told=told)
    return Step(memory.state(), known, (_finding(memory.key, rest, known.rhythm, context),), ended)


def _is_over(memory: Memory, rest: Rest | None, rhythm: Rhythm, context: Context) -> bool:
    """Whether something moved since. That nobody can see it now says nothing."""
    if memory.since is None or (rest is not None and rest.since > memory.since):
        return True
    if rhythm.quiet_at is not None and rhythm.quiet_at > memory.since:
        return True
    works = context.use is not None and context.use.idle_since is None
    return works or (memory.why == DONE and rhythm.done_at is None)


def _too_long(rest: Rest, memory: Memory) -> bool:
    since = max(rest.since, memory.ran_at) if memory.ran_at is not None else rest.since
    return (rest.until - since).total_seconds() > rest.allowed


def _rest(rhythm: Rhythm, context: Context, now: datetime) -> Rest | None:
    """Since when it does nothing, as far as anybody can see; `None` while it works or nobody knows."""
    use, allowed = context.use, _allowed(rhythm, context)
    if use is not None and use.idle_since is None:
        return None
    if rhythm.done_at is not None:
        if context.blind or context.last_read_at is None:
            return None
        moved = max(rhythm.done_at, rhythm.quiet_at or rhythm.done_at)
        heard = max(moved, rhythm.line_at or moved)
        since = min(heard, moved + timedelta(seconds=CHATTER * allowed))
        return Rest(DONE, since, min(now, context.last_read_at), allowed)
    if use is None or use.idle_since is None or _is_hang(rhythm, context):
        return None
    known = [at for at in (use.idle_since, rhythm.quiet_at, context.started_at) if at is not None]
    return Rest(UNUSED, max(known), min(now, use.seen_at), allowed)


def _is_hang(rhythm: Rhythm, context: Context) -> bool:
    """Whether a silence of now would be a hang: its steps are known, and it says that it trains."""
    return rhythm.step is not None and rhythm.phase == "training" and not context.blind


def _allowed(rhythm: Rhythm, context: Context) -> float:
    """Seconds that it may rest: those of the phase that it declares, and `idle_seconds` at the least."""
    least = context.limits["idle_seconds"]
    if rhythm.phase in PAUSES:
        return max(least, allowance(rhythm, context.limits).alone)
    return max(least, context.limits["startup_seconds"]) if rhythm.phase == "starting" else least


def _finding(key: str, rest: Rest, rhythm: Rhythm, context: Context) -> Finding:
    nodes = f"{len(context.nodes)} node{'s' * (len(context.nodes) != 1)}"
    allowed = f"{spoken(rest.allowed)} are allowed"
    if rest.why == DONE and rhythm.done_at is not None:
        later = spoken((rest.until - rhythm.done_at).total_seconds())
        sentence = (
            f"Its log said at {rhythm.done_at:%H:%M:%S} UTC that training is done, and {later} later it still "
        )
        sentence += f"holds {nodes}; {allowed}."
    else:
        sentence = f"No GPU of its {nodes} has worked for {spoken(rest.seconds)}, and no step came; {allowed}."
    return Finding(
        key=key,
        kind=AnomalyKind.IDLE,
        sentence=sentence,
        happened_at=rest.since,
        basis="file" if rest.why == DONE else "state",
        signature=rest.why,
        layer=Layer.UNKNOWN,
        role=Role.NONE,
        fingerprint=fingerprint(Layer.UNKNOWN, rest.why, "", phase=rhythm.phase),
        step=rhythm.step,
        evidence=(rhythm.last,) if rhythm.last is not None else (),
        confidence=CONFIDENCE[rest.why],
    )
