"""Has an attempt stood still for longer than its own history explains?

The clock is that of the reads: it runs from the read that last showed a movement, up to the moment until which
every stream has been read. What was not looked at proves nothing (trap 32), so a blind, suspended or ending attempt
is never judged, a time in which nobody looked does not count (the site was down, or its clock was set forward), and
a stamp that is placed wrongly can never make a hang. Nor is one judged that the scheduler has not called running
since it fell silent, while the scheduler cannot be seen, or for a while after its log says that the scheduler ended
it (a listing can be stale): it may have ended, and an end is no hang.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from detectors.catalogue.catalogue import Catalogue
from detectors.catalogue.detector import Known, Rhythm, State, Step, moment, stored
from detectors.catalogue.fingerprints import fingerprint
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.moments import PAUSES
from detectors.catalogue.readings import Reading
from detectors.catalogue.records import Context, Finding
from detectors.catalogue.role import Role
from detectors.catalogue.spans import spoken
from schedulers.states import JobState

NAME = "hang"
SIGNATURE = "hang.silence"
LINES_KNOWN = 20  # step lines after which the own rhythm counts (reference, section 9)
GAPS_KNOWN = 2  # intervals below which even the cold limit would guess
ALONE = 2.0  # without a second witness it takes twice the time
CLOCKS_DIFFER = 15.0  # seconds by which a file's time may be before the look that it came after
OWN_LONGEST = 1.5  # a silence that the attempt has lately come back from is no hang by itself
OVER = timedelta(minutes=10)  # after "CANCELLED … DUE TO …": longer than a listing is stale
SURE, LIKELY = 0.95, 0.8  # confidence with and without a second witness; not measured


@dataclass(frozen=True)
class Allowance:
    """How long an attempt may be silent now, and why. `alone`: without a second witness."""

    seconds: float
    alone: float
    because: str


@dataclass(frozen=True)
class Silence:
    """A silence that is too long. `witness`: signature of the second witness, or empty."""

    since: datetime
    until: datetime
    seconds: float
    witness: str
    limit: Allowance


@dataclass(frozen=True)
class Memory:
    """`since`: a silence counts from here at the earliest (the attempt was not running). `key`: the open hang."""

    since: datetime | None = None
    witness: str = ""
    witness_at: datetime | None = None
    key: str = ""
    quiet_at: datetime | None = None
    told: Mapping[str, int] | None = None
    over_at: datetime | None = None  # the read that showed the scheduler's word that it ended it

    @classmethod
    def of(cls, state: State) -> "Memory":
        """From its JSON."""
        return cls(
            since=moment(state.get("since")),
            witness=state.get("witness", ""),
            witness_at=moment(state.get("witness_at")),
            key=state.get("key", ""),
            quiet_at=moment(state.get("quiet_at")),
            told=dict(state.get("told", {})),
            over_at=moment(state.get("over_at")),
        )

    def no_later_than(self, now: datetime) -> "Memory":
        """The same, when the clock was set back since: what it holds was not later than now."""
        read = (self.since, self.witness_at, self.quiet_at, self.over_at)
        since, witness_at, quiet_at, over_at = (at and min(at, now) for at in read)
        return replace(self, since=since, witness_at=witness_at, quiet_at=quiet_at, over_at=over_at)

    def state(self) -> State:
        """As JSON."""
        return {
            "since": stored(self.since),
            "witness": self.witness,
            "witness_at": stored(self.witness_at),
            "key": self.key,
            "quiet_at": stored(self.quiet_at),
            "told": dict(self.told or {}),
            "over_at": stored(self.over_at),
        }


def fold(state: State, readings: Sequence[Reading], known: Known, context: Context, now: datetime) -> Step:
    """A finding when the attempt has just been found silent for too long; its key again when it moved after all."""
    memory = _witnessed(Memory.of(state).no_later_than(now), readings, context)
    rhythm = known.rhythm
    quiet_at = _quiet_at(rhythm, context)
    memory = _looked(memory, quiet_at, readings, context, now)
    ended: tuple[str, ...] = ()
    if memory.key and (quiet_at != memory.quiet_at or _is_done(rhythm)):
        ended, memory = (memory.key,), replace(memory, key="", quiet_at=None)
    if context.state is not JobState.RUNNING:
        memory = replace(memory, since=now)
    if memory.key or not _judged(context) or quiet_at is None or _is_done(rhythm):
        return Step(memory.state(), known, ended=ended)
    start = max(quiet_at, memory.since) if memory.since is not None else quiet_at
    seen_until = min(now, context.last_read_at or now)
    silence = (seen_until - start).total_seconds()
    limit = allowance(rhythm, context.limits)
    witness = memory.witness if memory.witness_at is not None and memory.witness_at >= start else ""
    witness = witness or _of_metrics(context, start)
    unsaid = context.listed_at is not None and context.listed_at < start
    over = memory.over_at is not None and not witness and quiet_at <= memory.over_at >= now - OVER
    if unsaid or over or silence <= (limit.seconds if witness else limit.alone):
        return Step(memory.state(), known, ended=ended)
    told = dict(memory.told or {})
    key = _key(rhythm, told)
    memory = replace(memory, key=key, quiet_at=quiet_at, told=told)
    return Step(
        memory.state(),
        known,
        (_finding(key, rhythm, Silence(quiet_at, seen_until, silence, witness, limit), context.known),),
        ended,
    )


def allowance(rhythm: Rhythm, limits: Mapping[str, float]) -> Allowance:
    """The limits of silence in seconds for an attempt with this rhythm.

    A pause that has a phase line is measured against the longest one of its kind, or, the first time, against the
    start-up limit: nobody knows yet how long this job saves or evaluates.
    """
    own = limits["hang_factor"] * rhythm.gap if rhythm.gap is not None else 0.0
    own = max(own, OWN_LONGEST * rhythm.burst)
    if rhythm.phase in PAUSES or _at_its_last_step(rhythm):
        seen = rhythm.worst.get(rhythm.phase)
        pause = limits["startup_seconds"] if seen is None else limits["hang_factor"] * seen
        seconds = max(limits["phase_floor_seconds"], pause, own)
        return Allowance(seconds, ALONE * seconds, f"while {rhythm.phase}")
    if rhythm.step is None or rhythm.gap is None or rhythm.lines <= GAPS_KNOWN:
        seconds = max(limits["startup_seconds"], own)
        return Allowance(seconds, ALONE * seconds, "before its rhythm is known")
    if rhythm.lines < LINES_KNOWN:
        seconds = max(limits["hang_cold_seconds"], own)
        return Allowance(seconds, ALONE * seconds, f"with only {rhythm.lines} step lines known")
    seconds = max(limits["hang_floor_seconds"], own)
    alone = max(ALONE * seconds, OWN_LONGEST * (rhythm.longest or 0.0))
    return Allowance(seconds, alone, f"with a step line every {spoken(rhythm.gap)}")


def _looked(
    memory: Memory, quiet_at: datetime | None, readings: Sequence[Reading], context: Context, now: datetime
) -> Memory:
    """From when on a silence counts, as far as somebody looked.

    A movement that this turn shows came after the look before, whatever another machine's clock stamped on the
    file or on the start of the job; and what nobody looked at is left out.
    """
    looked_at = context.looked_at
    if quiet_at is None or looked_at is None:
        return memory
    since = max(quiet_at, memory.since or quiet_at)
    moved = looked_at == now or any(reading.record.read_at == quiet_at for reading in readings)
    if moved and (min(looked_at, now) - quiet_at).total_seconds() > CLOCKS_DIFFER:
        since = max(since, min(looked_at, now))
    if context.missed_seconds:
        since = min(now, since + timedelta(seconds=context.missed_seconds))
    return memory if since == quiet_at else replace(memory, since=since)


def _judged(context: Context) -> bool:
    """Only what is known to run, can be read and was read."""
    if context.blind or context.unseen:
        return False
    return context.state is JobState.RUNNING and context.last_read_at is not None


def _is_done(rhythm: Rhythm) -> bool:
    """Whether its log says that training is done: what still stands then is idle, and no hang."""
    return rhythm.phase == "ended" or rhythm.done_at is not None


def _quiet_at(rhythm: Rhythm, context: Context) -> datetime | None:
    """Since when it is silent. Before the first step any line is a sign of life: its format may be unknown."""
    if rhythm.step is not None:
        return rhythm.quiet_at
    known = [at for at in (rhythm.quiet_at, rhythm.line_at, context.started_at) if at is not None]
    return max(known) if known and context.started_at is not None else None


def _at_its_last_step(rhythm: Rhythm) -> bool:
    return rhythm.total is not None and rhythm.step is not None and rhythm.step >= rhythm.total


def _witnessed(memory: Memory, readings: Sequence[Reading], context: Context) -> Memory:
    """The newest line that is a second witness: it names a hang, or a root of something.

    That somebody ends or requeues the job says nothing of why it stood still, least of all when we are that
    somebody; it says that it is over.
    """
    for reading in readings:
        fault = reading.fault
        if fault is None or fault.signature.layer is Layer.SCHEDULER:
            if fault is not None and fault.role is Role.ROOT:
                memory = replace(memory, over_at=reading.record.read_at)
            continue
        if context.command_at is not None and reading.record.read_at >= context.command_at:
            continue
        if fault.signature.kind == "hang" or fault.role is Role.ROOT:
            at = max(memory.witness_at or reading.record.read_at, reading.record.read_at)
            memory = replace(memory, witness=fault.signature.id, witness_at=at)
    return memory


def _of_metrics(context: Context, start: datetime) -> str:
    """What the GPUs tell of this silence: that they spin, or that nothing is carried between them."""
    use = context.use
    return use.witness if use is not None and use.witness and use.seen_at >= start else ""


def _key(rhythm: Rhythm, told: dict[str, int]) -> str:
    """`hang:4200`, and `hang:4200:2` when it hangs at the same step again after it had moved."""
    name = f"hang:{rhythm.step if rhythm.step is not None else 'start'}"
    told[name] = told.get(name, 0) + 1
    while len(told) > 16:
        del told[next(iter(told))]
    return name if told[name] == 1 else f"{name}:{told[name]}"


def _finding(key: str, rhythm: Rhythm, silence: Silence, entries: Catalogue) -> Finding:
    happened_at = rhythm.step_at if rhythm.step is not None and rhythm.step_at is not None else silence.since
    layer = entries.signature(silence.witness).layer if entries.knows(silence.witness) else Layer.UNKNOWN
    return Finding(
        key=key,
        kind=AnomalyKind.HANG,
        sentence=_sentence(rhythm, silence),
        happened_at=happened_at,
        basis="step" if rhythm.step is not None else "state" if rhythm.line_at is None else "file",
        signature=SIGNATURE,
        layer=layer if layer is Layer.FRAMEWORK_COMM else Layer.UNKNOWN,
        role=Role.CANDIDATE,
        fingerprint=fingerprint(Layer.UNKNOWN, SIGNATURE, silence.witness, phase=rhythm.phase),
        step=rhythm.step,
        evidence=(rhythm.last,) if rhythm.last is not None else (),
        confidence=SURE if silence.witness else LIKELY,
    )


def _sentence(rhythm: Rhythm, silence: Silence) -> str:
    limit, witness = silence.limit, silence.witness
    where = f"No step after step {rhythm.step}" if rhythm.step is not None else "No step and no line"
    allowed = limit.seconds if witness else limit.alone
    words = f"{where} for {spoken(silence.seconds)}; {spoken(allowed)} are allowed {limit.because}"
    words += f"; '{witness}' is a second witness" if witness else "; no second witness"
    if rhythm.step is not None and rhythm.line_at is not None:
        alive_for = (rhythm.line_at - silence.since).total_seconds()
        if alive_for > limit.seconds / 2:
            ago = max(0.0, (silence.until - rhythm.line_at).total_seconds())
            words += f"; the log is alive, its last line came {spoken(ago)} ago"
    return f"{words}."
