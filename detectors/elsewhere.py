"""What else happened in the cluster, as far as it bears on one attempt? Seven queries at most, each bounded."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from django.db.models import Count, Q, QuerySet, Sum

from detectors.attribution.action import VerdictAction
from detectors.attribution.classes import ONE_OR_ALL
from detectors.attribution.facts import NodeFacts, Symptom
from detectors.attribution.following import EARLY_SECONDS
from detectors.attribution.sharing import CASCADE, FAILURE_KINDS, SAME_IMAGE
from detectors.attribution.surroundings import Death, Exposure, Neighbour, Surroundings, Usual
from detectors.catalogue.layer import Layer
from detectors.fate import Fate
from detectors.models import Stay, Verdict
from workloads.models import Attempt, Job

LOOKED_BACK = timedelta(days=30)
NEIGHBOURS = 64  # failures of other jobs that are looked at
DEATHS = 64  # on the attempt's own nodes
NODES = 16  # of those on which something died, the worst
OF_WORKS = 2000  # stays of the same works that are searched for other hosts
USUAL_OF = 2000  # stays that tell what is usual
DAY = timedelta(days=1)


def surroundings_of(attempt: Attempt, symptoms: Sequence[Symptom], nodes: Sequence[NodeFacts]) -> Surroundings:
    """Failures at the same time, and the past of the attempt's nodes. Reads `attempt.job`."""
    moments = [s.happened_at for s in symptoms if not s.refuted]
    until = attempt.ended_at or max(moments, default=attempt.last_step_at or attempt.started_at)
    if until is None:
        return Surroundings()
    since = max(min([until, *moments]), until - SAME_IMAGE)
    near = _neighbours(attempt, symptoms, since, until)
    died = _died(attempt, nodes, until)
    deaths = _deaths(died, attempt, until)
    worst = _worst(deaths)
    failures = _failures(attempt.job).filter(happened_at__gt=until - DAY, happened_at__lte=until)
    return Surroundings(
        work=_work(attempt.job.user, attempt.job.name),
        neighbours=near,
        deaths=deaths,
        exposures=_exposures(attempt, worst, nodes, until),
        usual=_usual([attempt.pk, *died], attempt, worst, until, failures.count() if near else 0),
    )


def _failures(job: Job) -> QuerySet[Verdict]:
    kinds = [kind.value for kind in FAILURE_KINDS]
    newest = Verdict.objects.filter(attempt__job__cluster_id=job.cluster_id, newer=None, kind__in=kinds)
    return newest.exclude(action=VerdictAction.NONE.value)


def _neighbours(
    attempt: Attempt, symptoms: Sequence[Symptom], since: datetime, until: datetime
) -> tuple[Neighbour, ...]:
    others = _failures(attempt.job).exclude(attempt__job_id=attempt.job_id).order_by("-happened_at", "-pk")
    others = others.select_related("attempt__job").defer("body")
    at_once = others.filter(happened_at__range=(since - CASCADE, until + CASCADE))
    found = {row.pk: row for row in at_once[:NEIGHBOURS]}
    marks = [s.fingerprint for s in symptoms if s.action == ONE_OR_ALL and s.fingerprint][:NEIGHBOURS]
    if marks:
        alike = others.filter(fingerprint__in=marks, happened_at__range=(since - SAME_IMAGE, until + SAME_IMAGE))
        found.update({row.pk: row for row in alike[:NEIGHBOURS]})
    return tuple(_neighbour(row, set(attempt.nodes)) for row in found.values())


def _neighbour(row: Verdict, own: Collection[str]) -> Neighbour:
    job = row.attempt.job
    blaming = [one for one in row.implicated if one["role"] in ("culprit", "suspect") or row.shared]
    return Neighbour(
        label=row.attempt.label,
        job=f"{job.number}/{job.epoch}",
        happened_at=row.happened_at,
        layer=Layer(row.layer),
        signature=row.signature,
        fingerprint=row.fingerprint,
        hosts=tuple(one["host"] for one in blaming)[:NEIGHBOURS],
        common=tuple(node for node in row.attempt.nodes if node in own)[:NEIGHBOURS],
        sure=any(one["excludable"] for one in row.implicated),
    )


def _unexplained(attempt: Attempt, until: datetime) -> QuerySet[Stay]:
    return Stay.objects.filter(
        cluster_id=attempt.job.cluster_id,
        fate=Fate.UNEXPLAINED.value,
        ended_at__gt=until - LOOKED_BACK,
        ended_at__lt=until,
    ).exclude(attempt=attempt)


def _died(attempt: Attempt, nodes: Sequence[NodeFacts], until: datetime) -> dict[int, list[Stay]]:
    """What died without a word on the attempt's nodes, as they are: not before they were started (trap 14).

    By attempt, the newest first.
    """
    booted = _booted(nodes, until)
    on: dict[int, list[Stay]] = defaultdict(list)
    rows = _unexplained(attempt, until).filter(node__in=attempt.nodes).select_related("attempt__job")
    for stay in rows.order_by("-ended_at", "-pk")[: DEATHS * NODES]:
        if stay.ended_at >= booted.get(stay.node, stay.ended_at):
            on[stay.attempt_id].append(stay)
    return dict(list(on.items())[:DEATHS])


def _deaths(died: Mapping[int, list[Stay]], attempt: Attempt, until: datetime) -> tuple[Death, ...]:
    hosts_of = _hosts_of_works([stays[0] for stays in died.values()], _unexplained(attempt, until))
    return tuple(_death(stays, hosts_of) for stays in died.values())


def _hosts_of_works(stays: Iterable[Stay], died: QuerySet[Stay]) -> Mapping[str, Mapping[int, frozenset[str]]]:
    """Of each work the hosts on which each of its attempts died."""
    jobs = [stay.attempt.job for stay in stays]
    if not jobs:
        return {}
    of_works = died.filter(
        attempt__job__user__in={job.user for job in jobs}, attempt__job__name__in={job.name for job in jobs}
    )
    rows = of_works.order_by("-ended_at", "-pk").values_list(
        "attempt__job__user", "attempt__job__name", "attempt_id", "node"
    )
    found: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for user, name, attempt, node in rows[:OF_WORKS]:
        found[_work(user, name)][attempt].add(node)
    return {work: {key: frozenset(nodes) for key, nodes in of.items()} for work, of in found.items()}


def _death(stays: Sequence[Stay], hosts_of: Mapping[str, Mapping[int, frozenset[str]]]) -> Death:
    first = stays[0]
    job = first.attempt.job
    work, nodes = _work(job.user, job.name), {stay.node for stay in stays}
    return Death(
        label=first.attempt.label,
        job=f"{job.number}/{job.epoch}",
        work=work,
        nodes=tuple(sorted(nodes)),
        ended_at=first.ended_at,
        early=first.seconds < EARLY_SECONDS and first.attempt.started_at is not None,
        elsewhere=any(not nodes & hosts for hosts in hosts_of.get(work, {}).values()),
    )


def _worst(deaths: Sequence[Death]) -> list[str]:
    """The nodes on which most died."""
    counted: dict[str, int] = defaultdict(int)
    for death in deaths:
        for node in death.nodes:
            counted[node] += 1
    return sorted(counted, key=lambda node: (-counted[node], node))[:NODES]


def _exposures(
    attempt: Attempt, worst: Sequence[str], nodes: Sequence[NodeFacts], until: datetime
) -> tuple[Exposure, ...]:
    if not worst:
        return ()
    booted = _booted(nodes, until)
    wanted = Q()
    for node in worst:
        wanted |= Q(node=node, ended_at__gte=max(until - LOOKED_BACK, booted.get(node, until - LOOKED_BACK)))
    stays = Stay.objects.filter(wanted, cluster_id=attempt.job.cluster_id, ended_at__lt=until)
    harmed = ~Q(fate=Fate.UNHARMED.value)
    rows = (
        stays.exclude(attempt=attempt)
        .order_by()
        .values("node")
        .annotate(
            runs=Count("pk"),
            spent=Sum("seconds"),
            failures=Count("pk", filter=harmed),
            jobs=Count("attempt__job", filter=harmed, distinct=True),
        )
    )
    return tuple(
        Exposure(row["node"], row["runs"], round(row["spent"] / 3600, 3), row["failures"], row["jobs"])
        for row in rows
    )


def _usual(
    beside: Sequence[int], attempt: Attempt, worst: Sequence[str], until: datetime, failures_a_day: int
) -> Usual:
    """What became of the newest attempts on other nodes; those that died beside these nodes are not counted."""
    if not worst:
        return Usual(failures_a_day=failures_a_day)
    stays = Stay.objects.filter(
        cluster_id=attempt.job.cluster_id, ended_at__gt=until - LOOKED_BACK, ended_at__lt=until
    ).exclude(attempt__in=beside)
    others = stays.exclude(node__in=worst).order_by("-ended_at", "-pk").values_list("fate", "seconds")
    rows = list(others[:USUAL_OF])
    deaths = sum(fate == Fate.UNEXPLAINED.value for fate, _seconds in rows)
    hours = round(sum(seconds for _fate, seconds in rows) / 3600, 3)
    return Usual(len(rows), deaths, hours, failures_a_day)


def _booted(nodes: Iterable[NodeFacts], until: datetime) -> dict[str, datetime]:
    """When nodes were started, as far as it was before the failure: a broken node starts after it."""
    return {node.name: node.booted_at for node in nodes if node.booted_at is not None and node.booted_at <= until}


def _work(user: str, name: str) -> str:
    """The same for jobs of one user and name."""
    return hashlib.sha256(f"{user}\0{name}".encode("utf-8", "replace")).hexdigest()[:16]
