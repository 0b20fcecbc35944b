"""Did one cause strike several hosts or jobs, so that no node is to blame? Attribution 6.2, point 4.

The first row that holds says what is shared. What other jobs suffered comes with the facts: the verdict can be
computed again.
"""

from collections.abc import Callable
from datetime import timedelta

from detectors.attribution.candidates import Case, hosts_showing
from detectors.attribution.chance import at_least
from detectors.attribution.classes import ONE_OR_ALL, akin
from detectors.attribution.facts import Facts
from detectors.attribution.following import unexplained
from detectors.attribution.judgement import RuleOutcome, Shared
from detectors.attribution.naming import Cause
from detectors.attribution.surroundings import Neighbour
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer

AT_ONCE = timedelta(seconds=60)
CASCADE = timedelta(seconds=90)  # how long one cause goes on striking
SAME_IMAGE = timedelta(hours=1)
OTHERS_AT_ONCE = 2  # jobs beside this one
BY_CHANCE = 0.001  # below it several failures within a minute are one
STORAGE_ERROR = 5  # tier
OF_THEIR_OWN = frozenset({Layer.APPLICATION, Layer.USER, Layer.DATA, Layer.SCHEDULER})
"""Other jobs' failures of these layers have a cause of their own: they say nothing of one that nobody explains."""
FAILURE_KINDS = frozenset({AnomalyKind.CRASH, AnomalyKind.HANG})


def shared_cause(case: Case, cause: Cause) -> tuple[Shared | None, tuple[RuleOutcome, ...]]:
    """The first row that holds, and what every row said."""
    found: Shared | None = None
    said = []
    for rule in RULES:
        now = rule(case, cause) if found is None and cause.kind in FAILURE_KINDS else None
        name = f"shared.{rule.__name__.strip('_')}"
        words = (rule.__doc__ or "").strip().rstrip(".")
        found = found or now
        said.append(RuleOutcome(name, now is not None, now.because if now else f"not so: {words}"))
    return found, tuple(said)


def _fabric(case: Case, cause: Cause) -> Shared | None:
    """Connections broke between more than a quarter of the hosts."""
    if cause.named.by != "network.fabric":
        return None
    return Shared("shared.fabric", "more than a quarter of the hosts lost connections: the fabric, not a host")


def _storage_of_hosts(case: Case, cause: Cause) -> Shared | None:
    """Several hosts of the job tell of the same file system."""
    if cause.layer is not Layer.SYSTEM_FILESYSTEM or cause.tier != STORAGE_ERROR:
        return None
    hosts = {*cause.named.hosts, *hosts_showing(cause.signature, case)}
    if len(hosts) <= 1:
        return None
    return Shared("shared.storage_of_hosts", "several hosts tell of the same trouble with storage")


def _storage(case: Case, cause: Cause) -> Shared | None:
    """Other jobs on other hosts tell of the same trouble with storage at the same time."""
    return _of_layer("storage", Layer.SYSTEM_FILESYSTEM, case, cause)


def _network(case: Case, cause: Cause) -> Shared | None:
    """Other jobs on other hosts tell of the same trouble with the network at the same time."""
    return _of_layer("network", Layer.HARDWARE_NETWORK, case, cause)


def _of_layer(name: str, layer: Layer, case: Case, cause: Cause) -> Shared | None:
    """What other causes of that layer strike is chance: a full disk explains no read-only one."""
    if cause.layer is not layer:
        return None
    near = (one for one in _near(case.facts, cause, CASCADE) if one.layer is layer)
    others = tuple(one for one in near if akin(one.signature, cause.signature))
    return Shared(f"shared.{name}", f"other jobs suffered from {name} at the same time", others) if others else None


def _environment(case: Case, cause: Cause) -> Shared | None:
    """Another job lacks the same on another host: not one host's environment."""
    if cause.action != ONE_OR_ALL or not cause.named.hosts:
        return None
    others = _alike(_near(case.facts, cause, SAME_IMAGE), cause)
    others = tuple(one for one in others if one.hosts)
    return Shared("shared.environment", "other jobs lacked the same on other hosts", others) if others else None


def _same_cause(case: Case, cause: Cause) -> Shared | None:
    """Other jobs failed by the same within a minute."""
    if cause.candidate is None or unexplained(cause):
        return None
    others = _alike(_near(case.facts, cause, AT_ONCE), cause)
    wanted = OTHERS_AT_ONCE if _broken_hardware(cause) else 1
    if len({one.job for one in others}) < wanted:
        return None
    return Shared("shared.same_cause", "other jobs failed by the same within a minute", others)


def _at_once(case: Case, cause: Cause) -> Shared | None:
    """Several jobs failed within a minute without a cause of their own, more than can be chance."""
    if not unexplained(cause):
        return None
    near = (one for one in _near(case.facts, cause, AT_ONCE) if not one.sure and not one.common)
    others = tuple(one for one in near if one.layer not in OF_THEIR_OWN)
    jobs = len({one.job for one in others})
    usual = case.facts.around.usual.failures_a_day * (2 * AT_ONCE / timedelta(days=1))
    if jobs < OTHERS_AT_ONCE or at_least(jobs, usual) >= BY_CHANCE:
        return None
    return Shared("shared.at_once", "other jobs failed within the same minute", others)


def _near(facts: Facts, cause: Cause, reach: timedelta) -> tuple[Neighbour, ...]:
    """Failures of other jobs about that time that are not one named host's doing."""
    own = set(cause.named.hosts)
    return tuple(
        one
        for one in facts.around.neighbours
        if abs(one.happened_at - cause.happened_at) <= reach and not own & {*one.hosts, *one.common}
    )


def _alike(others: tuple[Neighbour, ...], cause: Cause) -> tuple[Neighbour, ...]:
    symptom = cause.candidate.symptom if cause.candidate else None
    wanted = symptom.fingerprint if symptom else ""
    return tuple(one for one in others if wanted and one.fingerprint == wanted)


def _broken_hardware(cause: Cause) -> bool:
    return bool(cause.named.hosts) and (cause.tier <= 2 or cause.counted)


RULES: tuple[Callable[[Case, Cause], Shared | None], ...] = (
    _fabric,
    _storage_of_hosts,
    _storage,
    _network,
    _environment,
    _same_cause,
    _at_once,
)
