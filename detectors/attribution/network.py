"""Which host could the others not reach? A vote over broken connections. Attribution section 6.4."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from detectors.attribution.facts import Facts
from detectors.attribution.witnesses import Edge, Port

FLAP_SECONDS = 300.0  # two failures of one port within it are a broken port
TWO = 2
OF_ALL_HOSTS = 0.25  # so many hosts at once are the fabric's trouble, not a host's
SUSPECT = 0.5


@dataclass(frozen=True)
class Vote:
    """Who is named, how surely, and whether leaving the host out may help. `because` is a sentence."""

    rule: str
    hosts: tuple[str, ...]
    confidence: float
    excludable: bool
    because: str


@dataclass(frozen=True)
class Graph:
    """Who reports whom. An address whose host is not known stands for itself."""

    reports: dict[str, set[str]]
    reported_by: dict[str, set[str]]
    nodes: tuple[str, ...]
    ports: tuple[Port, ...]


def vote_of(facts: Facts) -> Vote | None:
    """The first rule that applies; `None` when nothing was reported or nobody can be named."""
    witnesses = facts.witnesses
    if not witnesses.edges and not witnesses.ports:
        return None
    graph = _graph(witnesses.edges, facts)
    return next((vote for rule in RULES if (vote := rule(graph)) is not None), None)


def _graph(edges: tuple[Edge, ...], facts: Facts) -> Graph:
    nodes = facts.attempt.nodes
    reports, reported_by = defaultdict(set), defaultdict(set)
    for edge in edges:
        target = edge.peer or edge.said
        if edge.reporter in nodes and target != edge.reporter:
            reports[edge.reporter].add(target)
            reported_by[target].add(edge.reporter)
    ports = tuple(port for port in facts.witnesses.ports if port.host in nodes)
    return Graph(dict(reports), dict(reported_by), nodes, ports)


def _port_down(graph: Graph) -> Vote | None:
    """A port that is down at the end explains every connection of its host."""
    hosts = tuple(sorted({port.host for port in graph.ports if port.down}))
    if not hosts or len(hosts) > TWO:
        return None
    adapters = ", ".join(sorted({port.nic for port in graph.ports if port.down and port.nic}))
    words = f"a port of {' and '.join(hosts)} failed and did not come back{f' ({adapters})' if adapters else ''}"
    return Vote("network.port_down", hosts, 0.9, True, words)


def _port_flaps(graph: Graph) -> Vote | None:
    """Twice within five minutes is a broken port, once is not."""
    flapping = [port for port in graph.ports if port.failures >= TWO and port.at - port.first <= FLAP_SECONDS]
    hosts = tuple(sorted({port.host for port in flapping}))
    if not hosts or len(hosts) > TWO:
        return None
    return Vote(
        "network.port_flaps", hosts, 0.85, True, f"a port of {' and '.join(hosts)} failed twice in five minutes"
    )


def _port_came_back(graph: Graph) -> Vote | None:
    """Connections that broke with a port which is well again: a flap, and no reason to leave the host out."""
    healed = {port.host for port in graph.ports if not port.down and port.failures}
    concerned = {host for host in healed if host in graph.reports or host in graph.reported_by}
    explained = all(reporter in healed or targets <= healed for reporter, targets in graph.reports.items())
    if not concerned or not explained or len(concerned) > TWO:
        return None
    hosts = tuple(sorted(concerned))
    return Vote(
        "network.port_came_back", hosts, SUSPECT, False, f"a port of {' and '.join(hosts)} failed and came back"
    )


def _reported_by_several(graph: Graph) -> Vote | None:
    """Several hosts could not reach one, which reports nobody but perhaps them."""
    named = [
        target
        for target, reporters in graph.reported_by.items()
        if len(reporters) >= TWO and graph.reports.get(target, set()) <= reporters
    ]
    if len(named) != 1:
        return None
    (target,) = named
    words = f"{len(graph.reported_by[target])} hosts could not reach {target}"
    known = target in graph.nodes
    return Vote("network.reported_by_several", (target,) if known else (), 0.85, known, words)


def _reports_several(graph: Graph) -> Vote | None:
    """One host could not reach several, and nobody else reports anything."""
    if len(graph.reports) != 1:
        return None
    ((reporter, targets),) = graph.reports.items()
    if len(targets) < TWO:
        return None
    words = f"{reporter} could not reach {len(targets)} hosts, which reach each other"
    return Vote("network.reports_several", (reporter,), 0.85, True, words)


def _fabric(graph: Graph) -> Vote | None:
    """Many hosts at once: the fabric, not a host."""
    concerned = {*graph.reports, *(target for target in graph.reported_by if target in graph.nodes)}
    if len(graph.reports) <= TWO or len(concerned) <= OF_ALL_HOSTS * len(graph.nodes):
        return None
    return Vote("network.fabric", (), SUSPECT, False, f"{len(concerned)} hosts could not reach each other")


def _one_connection(graph: Graph) -> Vote | None:
    """One connection only, or one in both directions: either end may be at fault."""
    ends = {*graph.reports, *graph.reported_by}
    hosts = tuple(sorted(end for end in ends if end in graph.nodes))
    if not hosts or len(ends) > TWO:
        return None
    return Vote("network.one_connection", hosts, SUSPECT, False, f"only {' and '.join(sorted(ends))} are concerned")


RULES: tuple[Callable[[Graph], Vote | None], ...] = (
    _port_down,
    _port_flaps,
    _port_came_back,
    _reported_by_several,
    _reports_several,
    _fabric,
    _one_connection,
)
