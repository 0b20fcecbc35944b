"""Do the waiting tasks of an array leave out what its failed task is restarted without, as long as that holds?

A bad node that is free again is where the next waiting task starts. So, once the list of a restarted task stands,
the tasks of its array that have never begun get the same nodes on theirs: in one command for all that share a list,
and nobody's hold is touched. What was put there is remembered, and taken off when its exclusion is over, or when
the scheduler gives up on the tasks because of it. Level-triggered: what the scheduler shows is compared each time.
"""

from dataclasses import dataclass, replace

from controller.client import AdvisorError
from controller.config import Settings
from controller.entries import Spread
from controller.gates import Gate, carry_gate, own_gate
from controller.means import Means
from controller.view import MOST_TRIES, Missing, View
from schedulers.port import NoSuchJob, SchedulerError, WaitingTasks

REST_SECONDS = 30.0  # between two looks at one array
LOOK_AFTER_SECONDS = 5.0  # a command; a hung scheduler carries it out late
OLDEST_LOOK = 1.0  # seconds between the look and the command
SURE_GONE = 2  # looks in a row that find no waiting task
MOST_ARRAYS = 1000  # remembered; more are not told
Key = tuple[int, str]


@dataclass(frozen=True)
class Change:
    """One command: these tasks, with this list instead of theirs."""

    group: WaitingTasks
    nodes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """For people."""
        waiting = len(self.group.tasks)
        of = f"{waiting} waiting task{'s' * (waiting != 1)} of array {self.group.array_job}"
        return f"exclude nodes for {of}: {','.join(self.nodes) or 'none'}"


class Arrays:
    """The waiting tasks of all arrays whose failed tasks were restarted without a node."""

    def __init__(self, settings: Settings, means: Means) -> None:
        self._settings = settings
        self._scheduler = means.scheduler
        self._advisor = means.advisor
        self._journal = means.journal
        self._clock = means.clock
        self._standing = means.standing
        self._voice = means.voice
        self._again: dict[Key, float] = {}
        self._not_found: dict[Key, int] = {}
        self._tries: dict[tuple[Key, Change], int] = {}
        self._stood: dict[Key, frozenset[tuple[int, str]]] = {}  # task and node, as once seen on its list

    def note(self, view: View) -> None:
        """Remember what the array should leave out, once the restarted task's own list is proved to stand."""
        advice = view.advice
        if advice.array_job is None or not advice.excluded_nodes or not _restarted_by_us(view):
            return
        known = self._journal.memory.arrays.get((advice.array_job, advice.user))
        nodes = {*advice.excluded_nodes, *(known.nodes if known else ())}
        full = known is None and len(self._journal.memory.arrays) >= MOST_ARRAYS
        if full or (known is not None and nodes == {*known.nodes}):
            return
        spread = Spread(advice, tuple(sorted(nodes)), known.ours if known else ())
        self._journal.spread(spread)
        self._again.pop(spread.key, None)

    def turn(self) -> bool:
        """A look at one array that is due, and one command at most; returns whether to look again at once."""
        arrays = self._journal.memory.arrays
        self._again = {key: at for key, at in self._again.items() if key in arrays}
        due = (key for key in sorted(arrays) if self._again.get(key, 0.0) <= self._clock.monotonic())
        key = next(due, None)
        if key is None:
            return False
        self._rest(key, REST_SECONDS)
        spread = arrays[key]
        if not (gate := self._gate(spread)).open:
            self._voice.once(
                (*key, "array"), f"array {key[0]}: its waiting tasks are left as they are: {gate.sentence}"
            )
            return False
        return self._look(key, spread)

    def _look(self, key: Key, spread: Spread) -> bool:
        try:
            excluded = self._advisor.excluded_nodes()
        except AdvisorError as error:
            self._voice.once((*key, "array"), f"array {key[0]}: it is not known what is excluded: {error}")
            return False
        looked_at = self._clock.monotonic()
        groups = self._waiting(key)
        if groups is None:
            return False
        if not groups:
            self._not_found[key] = self._not_found.get(key, 0) + 1
            if self._not_found[key] >= SURE_GONE:
                self._forget(key, spread)
            return False
        self._not_found.pop(key, None)
        spread = self._given_up(spread, groups)
        stood = self._stood.get(key, frozenset())
        change = next(iter(changes(spread, groups, excluded, stood)), None)
        shown = {(task, node) for group in groups for task in group.tasks for node in group.excluded_nodes}
        self._stood[key] = frozenset(pair for pair in stood | shown if pair[1] in excluded)
        if change is not None:
            return self._carry_out(key, spread, change, groups, looked_at)
        if excluded.isdisjoint(spread.nodes):
            self._forget(key, spread)
        return False

    def _carry_out(
        self, key: Key, spread: Spread, change: Change, groups: tuple[WaitingTasks, ...], looked_at: float
    ) -> bool:
        tries = self._tries.get((key, change), 0)
        if tries >= MOST_TRIES:
            return False
        if not self._announce(spread, change):
            return False
        if self._clock.monotonic() - looked_at > OLDEST_LOOK:
            self._rest(key, 0.0)
            return True
        theirs = {node for group in groups for node in group.excluded_nodes} - {*spread.ours}
        ours = tuple(sorted({*spread.ours, *change.nodes} - theirs))
        if ours != spread.ours:
            self._journal.spread(replace(spread, ours=ours))
        self._tries[key, change] = tries + 1
        self._voice.say(f"{spread.advice}: {change.sentence}")
        self._rest(key, LOOK_AFTER_SECONDS)
        try:
            self._scheduler.exclude_for_tasks(key[0], change.group.tasks, change.nodes)
        except SchedulerError as error:
            self._voice.say(f"{spread.advice}: it is not certain: {error.reason}")
        return True

    def _announce(self, spread: Spread, change: Change) -> bool:
        """On the trail before it is done, as everything (decisions 22)."""
        advice = spread.advice
        nodes = ",".join(change.nodes)
        key = f"{advice.sequence_id}:array:{advice.generation}:{nodes}"[:128]
        payload = {"action": "update_exclusions", "sentence": change.sentence, "array": str(spread.key[0])}
        try:
            self._advisor.record(advice, ("intent", "info"), payload, key=key, at=self._standing.now())
        except AdvisorError as error:
            self._voice.once((*spread.key, "array"), f"{advice}: the intent could not be stored: {error}")
            return False
        return True

    def _waiting(self, key: Key) -> tuple[WaitingTasks, ...] | None:
        """Those of the same user, for numbers come round; `None` when nobody can tell."""
        try:
            return tuple(group for group in self._scheduler.waiting_tasks(key[0]) if group.user == key[1])
        except NoSuchJob:
            return ()
        except SchedulerError as error:
            self._voice.once((*key, "array"), f"array {key[0]} cannot be seen: {error.reason}")
            return None

    def _given_up(self, spread: Spread, groups: tuple[WaitingTasks, ...]) -> Spread:
        """With nothing to leave out any more, where tasks are stuck: rather on a bad node than never."""
        if not spread.ours or not spread.nodes or not any(group.stuck for group in groups):
            return spread
        spread = replace(spread, nodes=())
        self._journal.spread(spread)
        self._voice.say(
            f"array {spread.key[0]}: the scheduler finds no nodes for its tasks; ours come off their lists"
        )
        return spread

    def _forget(self, key: Key, spread: Spread) -> None:
        self._journal.spread_over(spread)
        self._not_found.pop(key, None)
        self._stood.pop(key, None)
        self._tries = {tried: count for tried, count in self._tries.items() if tried[0] != key}

    def _rest(self, key: Key, seconds: float) -> None:
        self._again[key] = self._clock.monotonic() + seconds

    def _gate(self, spread: Spread) -> Gate:
        own = own_gate(self._settings.controller, self._settings.environment)
        cluster = None if self._standing.gone else self._standing.cluster
        if not own.open:
            return own
        if cluster is None:
            return Gate("the Advisor does not answer")
        gate = carry_gate(self._settings, cluster, spread.advice, self._standing.now())
        return self._standing.gate() if gate.open else gate


def changes(
    spread: Spread,
    groups: tuple[WaitingTasks, ...],
    excluded: frozenset[str],
    stood: frozenset[tuple[int, str]] = frozenset(),
) -> list[Change]:
    """What is to be done so that each group leaves out what is still excluded, and nothing else of ours. Pure.

    `stood`: tasks and nodes that were seen on their lists; where one is not there any more, somebody took it off.
    """
    wanted = excluded.intersection(spread.nodes)
    found = []
    for group in groups:
        off = {node for node in wanted if all((task, node) in stood for task in group.tasks)} - {
            *group.excluded_nodes
        }
        new = frozenset() if wanted.intersection(group.required_nodes) else wanted - off
        nodes = tuple(sorted(({*group.excluded_nodes} - {*spread.ours}) | new))
        if nodes != tuple(sorted(group.excluded_nodes)):
            found.append(Change(group, nodes))
    return found


def _restarted_by_us(view: View) -> bool:
    """Whether the task runs, or waits, once more by our doing, with the list that it should have."""
    if isinstance(view.shown, Missing) or view.another_job or view.entry is None or not view.entry.begun:
        return False
    task = view.row.array_job == view.advice.array_job and view.row.array_task is not None
    return task and view.ahead == 1 and view.exclusions_stand and not view.taken_off
