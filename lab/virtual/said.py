"""What did the product say and do on some clusters? Read from its rows, in a handful of queries.

Needs a configured Django whose database is that of the site: that of the lab's own process, or of a real run.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from advisor_api.deciding import NAMING
from advisor_api.models import Advice
from advisor_api.policy.operation import Operation
from detectors.catalogue.kind import AnomalyKind
from detectors.models import Anomaly, Verdict
from lab.cases.case import Did
from lab.score.said import Advised, Judged, Said, Symptom
from workloads.models import Attempt, Cluster, Job

SURE = {"culprit": 0, "suspect": 1}  # roles that implicate a host, the surest first
LOGS = "LOGS"  # stands for the folder of logs in what is hashed: every run has another one
PLAIN = {Operation.TERMINATE: Did.STOP, Operation.WAIT: Did.ASK, Operation.RELEASE: Did.NONE}


def said_of(names: Iterable[str], commands: Mapping[str, Sequence[str]] | None = None) -> dict[str, Said]:
    """By the cluster's name. `commands` are those that changed something, which no row tells of."""
    names, given = list(names), commands or {}
    roots = dict(Cluster.objects.filter(name__in=names).values_list("name", "log_roots"))
    symptoms, verdicts = _symptoms(names), _verdicts(names, roots)
    advice, states, tasks = _advice(names), _states(names), _tasks(names)
    return {
        name: Said(
            tuple(symptoms[name]),
            tuple(verdicts[name]),
            tuple(advice[name]),
            tuple(_by_number(command, tasks[name]) for command in given.get(name, ())),
            states[name],
        )
        for name in names
    }


def _symptoms(names: Sequence[str]) -> Mapping[str, list[Symptom]]:
    found: dict[str, list[Symptom]] = defaultdict(list)
    rows = Anomaly.objects.filter(attempt__job__cluster__name__in=names)
    rows = rows.exclude(kind=AnomalyKind.BLIND.value).select_related("attempt__job__cluster").defer("evidence")
    for row in rows.order_by("detected_at", "pk"):
        found[row.attempt.job.cluster.name].append(
            Symptom(
                job=row.attempt.job.number,
                attempt=row.attempt.index,
                kind=row.kind,
                signature=row.signature,
                layer=row.layer,
                role=row.role,
                basis=row.basis,
                happened_at=row.happened_at,
                detected_at=row.detected_at,
                nodes=tuple(row.nodes),
                refuted_at=row.refuted_at,
            )
        )
    return found


def _verdicts(names: Sequence[str], roots: Mapping[str, Sequence[str]]) -> Mapping[str, list[Judged]]:
    found: dict[str, list[Judged]] = defaultdict(list)
    rows = Verdict.objects.filter(attempt__job__cluster__name__in=names).select_related("attempt__job__cluster")
    for row in rows.order_by("judged_at", "pk"):
        name = row.attempt.job.cluster.name
        blamed = sorted(
            (one for one in row.implicated if one["role"] in SURE),
            key=lambda one: (SURE[one["role"]], -one["confidence"]),
        )
        found[name].append(
            Judged(
                job=row.attempt.job.number,
                attempt=row.attempt.index,
                kind=row.kind,
                layer=row.layer,
                signature=row.signature,
                confidence=row.confidence,
                action=row.action,
                hosts=_once(one["host"] for one in blamed),
                excludable=_once(one["host"] for one in blamed if one["excludable"]),
                judged_at=row.judged_at,
                body_hash=_hash(row.body, roots[name]),
                status=row.evidence_status,
                rule=_rule(row.body),
            )
        )
    return found


def _advice(names: Sequence[str]) -> Mapping[str, list[Advised]]:
    found: dict[str, list[Advised]] = defaultdict(list)
    rows = Advice.objects.filter(attempt__job__cluster__name__in=names).defer("facts", "trace")
    for row in rows.select_related("attempt__job__cluster", "sequence").order_by("created_at", "pk"):
        recovery = getattr(row, "sequence", None)
        found[row.attempt.job.cluster.name].append(
            Advised(
                job=row.attempt.job.number,
                attempt=row.attempt.index,
                did=_did(row),
                nodes=tuple(row.excluded_nodes),
                rule=row.rule,
                advised_at=row.created_at,
                acknowledged_at=recovery.commanded_at if recovery else None,
                resumed_at=recovery.resumed_at if recovery else None,
            )
        )
    return found


def _did(row: Advice) -> Did:
    """A restart that only keeps to an earlier exclusion blames nobody."""
    operation = Operation(row.operation)
    if operation is Operation.RESTART:
        return Did.RESTART_EXCLUDE if row.excluded_nodes and row.rule in NAMING else Did.RESTART
    return PLAIN[operation]


def _states(names: Sequence[str]) -> Mapping[str, dict[int, str]]:
    found: dict[str, dict[int, str]] = defaultdict(dict)
    rows = Attempt.objects.filter(job__cluster__name__in=names).order_by("job__epoch", "index")
    for name, number, state in rows.values_list("job__cluster__name", "job__number", "state"):
        found[name][number] = state
    return found


def _tasks(names: Sequence[str]) -> Mapping[str, dict[str, int]]:
    """The numbers of tasks of arrays, by what commands call them: `900_3`."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    rows = Job.objects.filter(cluster__name__in=names, array_task__isnull=False).order_by("epoch")
    for name, number, array, task in rows.values_list("cluster__name", "number", "array_job", "array_task"):
        found[name][f"{array}_{task}"] = number
    return found


def _by_number(command: str, tasks: Mapping[str, int]) -> str:
    return re.sub(r"\b\d+_\d+\b", lambda task: str(tasks.get(task[0], task[0])), command)


def _once(hosts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(host for host in hosts if host))


def _rule(body: Mapping[str, Any]) -> str:
    rules = (rule["id"] for rule in body.get("rules", ()) if rule["fired"])
    return next((name for name in rules if name.startswith("cause.")), "")


def _hash(body: Mapping[str, Any], roots: Sequence[str]) -> str:
    """Of the verdict as it is stored, but for what the folder of the run puts into it."""
    text = json.dumps({key: value for key, value in body.items() if key != "input_hash"}, sort_keys=True)
    for root in roots:
        text = text.replace(root, LOGS)
    return hashlib.sha256(text.encode()).hexdigest()
