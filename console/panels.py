"""What stands on the pages?

A panel is a function that gives a context, a line in `PANELS`, and a template of the same name. The address of a
panel returns the panel and nothing else.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.template.loader import render_to_string
from django.urls import reverse

from advisor_api.models import Exclusion
from advisor_api.policy.advice_state import AdviceState
from audit.models import AuditEvent
from console.advice_lines import advice_on, excluded_on, open_advice, rules_said
from console.asking import Asked, Scope, key_of, topics_of, version_of
from console.cluster_rows import blind_attempts, cluster_rows, lease_of, left_out_of, sources_of
from console.delivery_lines import SEE_WHOM, newest_deliveries
from console.evidence import judgement_of, quotes_from
from console.in_short import in_short
from console.incident_lines import incidents_now, incidents_open, incidents_over
from console.job_list import job_page
from console.job_rows import (
    anomalies_of,
    attempts_of,
    checkpoint_times,
    corrections_of,
    end_of,
    events_of,
    excerpts_of,
    left_alone,
    place_of,
    points_of,
    questions_on,
    run_time,
    state_of,
    throughput_of,
    verdicts_of,
    wishes_of,
)
from console.job_timeline import event_anchor, job_timeline
from console.mark_kind import MARKED, MarkKind
from console.node_health import node_page
from console.recovery import failure_before, sequence_of, sequences_of, stations_of
from console.rendering import Body, bodies
from console.sparkline import sparkline
from console.topics import QUIET
from detectors.catalogue.kind import AnomalyKind
from workloads.phase import Phase

EVENTS_READ = 300
EVENTS_SHOWN = 25

Context = dict[str, Any]


def clusters(asked: Asked) -> Context:
    """Every cluster: mode, sight, counts."""
    return {"rows": cluster_rows(asked.now)}


def advice_now(asked: Asked) -> Context:
    """Open advice of all clusters."""
    return {"lines": open_advice(asked.now)}


def newest_events(asked: Asked) -> Context:
    """The newest events of all clusters, without those that come by the hundred."""
    newest = AuditEvent.objects.order_by("-id").defer("payload")[:EVENTS_READ]
    return {"events": [event for event in newest if event.type not in QUIET][:EVENTS_SHOWN]}


def approvals(asked: Asked) -> Context:
    """Advice that waits for a person."""
    return {"lines": open_advice(asked.now, state=AdviceState.AWAITING_APPROVAL)}


def deliveries(asked: Asked) -> Context:
    """What was told to whom, the newest first, and what came of it."""
    return {"rows": newest_deliveries(), "may_see_whom": SEE_WHOM in asked.may}


def job_table(asked: Asked) -> Context:
    """One page of the list of jobs."""
    page = job_page(asked.wanted)
    older = asked.wanted.address(before=page.next_before) if page.next_before else ""
    return {"page": page, "wanted": asked.wanted, "older": older, "newest": asked.wanted.address()}


def job_summary(asked: Asked) -> Context:
    """State, progress and owner of a job at a glance."""
    attempts = attempts_of(asked.the_job)
    newest = attempts[-1] if attempts else None
    points = points_of(newest) if newest else []
    seconds = [point.step_seconds for point in points if point.step_seconds is not None]
    return {
        "job": asked.the_job,
        "cluster": asked.the_cluster,
        "attempts": attempts,
        "newest": newest,
        "state": state_of(newest) if newest else None,
        "phase": Phase(newest.phase) if newest else None,
        "ended_at": end_of(newest) if newest else None,
        "run_time": run_time(newest, asked.now) if newest else None,
        "best_checkpoint": max((a.last_checkpoint_step or 0 for a in attempts), default=0),
        "throughput": throughput_of(points),
        "place": place_of(newest) if newest else "",
        "sparkline": sparkline(seconds, newest.baseline_step_seconds if newest else None),
        "wishes": [] if asked.the_job.opt_in_error else wishes_of(asked.the_job),
        "short": in_short(
            attempts,
            advice_on(asked.the_job, asked.now),
            verdicts_of(attempts),
            left_alone(asked.the_job, asked.the_cluster),
        ),
    }


def job_lanes(asked: Asked) -> Context:
    """The picture of a job: attempts as lanes on one time axis."""
    job, cluster = asked.the_job, asked.the_cluster
    attempts = attempts_of(job)
    picture = job_timeline(attempts, events_of(job, cluster), checkpoint_times(job, cluster), asked.now)
    return {"timeline": picture, "kinds": list(MarkKind)}


def job_recovery(asked: Asked) -> Context:
    """What was found, concluded, advised and reached, attempt by attempt, the newest first."""
    job = asked.the_job
    attempts = attempts_of(job)
    verdicts, anomalies, excerpts = verdicts_of(attempts), anomalies_of(attempts), excerpts_of(attempts)
    lines = advice_on(job, asked.now)
    asked_outside = questions_on(attempts)
    alone, corrected = left_alone(job, asked.the_cluster), corrections_of(job, asked.the_cluster)
    stories = []
    for attempt in reversed(attempts):
        copies = excerpts.get(attempt.pk, [])
        seen = anomalies.get(attempt.pk, [])
        verdict = verdicts.get(attempt.pk)
        advice = [line for line in lines if line.advice.attempt_id == attempt.pk]
        sequences = [sequence for line in advice if (sequence := sequence_of(line.advice))]
        why_not = None if advice else alone.get(attempt.index)
        if not (seen or verdict or advice or why_not):
            continue
        stories.append(
            {
                "attempt": attempt,
                "anomalies": [(a, AnomalyKind(a.kind), quotes_from(a.evidence, copies)) for a in seen],
                "judgement": judgement_of(verdict, seen, copies) if verdict else None,
                "advice": advice[::-1],
                "corrections": corrected.get(attempt.index, []),
                "outside": asked_outside.get(attempt.pk, []),
                "why_not": why_not,
                "why_not_rules": rules_said(why_not.payload.get("trace")) if why_not else (),
                "recoveries": [stations_of(sequence) for sequence in sequences],
            }
        )
    blind = bool(attempts and attempts[-1].blind_since)
    return {"stories": stories, "job": job, "cluster": asked.the_cluster, "blind": blind}


def job_attempts(asked: Asked) -> Context:
    """Nodes, times and ends of each attempt; what was excluded and why; where a log cannot be read."""
    job = asked.the_job
    attempts = attempts_of(job)
    excluded = excluded_on(job)
    nodes = {node for names in excluded.values() for node in names}
    exclusions = Exclusion.objects.filter(cluster=asked.the_cluster, node__in=nodes, lifted_at=None)
    copies = excerpts_of(attempts)
    rows = [
        {
            "attempt": attempt,
            "state": state_of(attempt),
            "ended_at": end_of(attempt),
            "run_time": run_time(attempt, asked.now),
            "excluded": excluded.get(attempt.pk, []),
            "copies": copies.get(attempt.pk, []),
        }
        for attempt in reversed(attempts)
    ]
    return {"rows": rows, "exclusions": list(exclusions[:50]), "job": job, "cluster": asked.the_cluster}


def job_events(asked: Asked) -> Context:
    """Everything that happened to a job, in order, with who did it and how long after the failure."""
    job, cluster = asked.the_job, asked.the_cluster
    sequences = sequences_of(job)
    rows = [
        {
            "event": event,
            "anchor": event_anchor(event),
            "failed_at": failure_before(event.at, sequences),
            "mark": _MARKS.get(event.type),
        }
        for event in events_of(job, cluster)
    ]
    return {"rows": rows}


def cluster_health(asked: Asked) -> Context:
    """What Rekindle sees of a cluster, and what it may do there."""
    cluster = asked.the_cluster
    return {
        "row": cluster_rows(asked.now, cluster)[0],
        "sources": sources_of(cluster),
        "left_out": left_out_of(cluster),
        "blind": blind_attempts(cluster),
        "lease": lease_of(cluster),
        "may_switch": "workloads.switch_mode" in asked.may,
    }


def cluster_advice(asked: Asked) -> Context:
    """Open advice of one cluster."""
    return {"lines": open_advice(asked.now, asked.the_cluster)}


def cluster_nodes(asked: Asked) -> Context:
    """How the nodes stand, in four counts, and the nodes themselves: all of them, or those of one count."""
    return {"page": node_page(asked.the_cluster, asked.standing, asked.now), "cluster": asked.the_cluster}


_MARKS = {event_type.value: kind for event_type, kind in MARKED.items()}


@dataclass(frozen=True)
class Panel:
    """One panel: its function, what it speaks of, the permissions that change its look."""

    function: Callable[[Asked], Context]
    scope: Scope
    title: str
    permissions: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Its name in addresses, and that of its template."""
        return self.function.__name__

    def body(self, asked: Asked, version: str) -> Body:
        """The rendered panel, rendered at most once per version and permission set."""
        may = asked.may & self.permissions
        key = (self.name, key_of(self.scope, asked), version, may)
        return bodies.get(key, lambda: self._render(asked))

    def _render(self, asked: Asked) -> str:
        context = {"now": asked.now, "panel": self.name, **self.function(asked)}
        return render_to_string(f"console/panels/{self.name}.html", context)


PANELS: tuple[Panel, ...] = (
    Panel(clusters, Scope.SITE, "Clusters"),
    Panel(incidents_now, Scope.SITE, "Incidents of now"),
    Panel(incidents_open, Scope.SITE, "Open"),
    Panel(incidents_over, Scope.SITE, "Over within the last week"),
    Panel(advice_now, Scope.SITE, "Open advice"),
    Panel(newest_events, Scope.SITE, "Newest events"),
    Panel(approvals, Scope.SITE, "Waiting for approval"),
    Panel(deliveries, Scope.SITE, "Sent and to be sent", frozenset({SEE_WHOM})),
    Panel(job_table, Scope.JOBS, "Jobs"),
    Panel(job_summary, Scope.JOB, "Now"),
    Panel(job_lanes, Scope.JOB, "Timeline"),
    Panel(job_recovery, Scope.JOB, "What happened, and why"),
    Panel(job_attempts, Scope.JOB, "Attempts and nodes"),
    Panel(job_events, Scope.JOB, "Events"),
    Panel(cluster_health, Scope.CLUSTER, "Health", frozenset({"workloads.switch_mode"})),
    Panel(cluster_advice, Scope.CLUSTER, "Open advice"),
    Panel(cluster_nodes, Scope.CLUSTER, "Nodes"),
)


@dataclass(frozen=True)
class Placed:
    """A panel as it stands on a page."""

    panel: Panel
    body: Body
    topics: tuple[str, ...]
    address: str


def place(names: Iterable[str], asked: Asked) -> list[Placed]:
    """The named panels for a page, in that order; one version query set per scope."""
    known = {panel.name: panel for panel in PANELS}
    wanted = [known[name] for name in names]
    versions = {scope: version_of(scope, asked) for scope in {panel.scope for panel in wanted}}
    return [
        Placed(
            panel,
            panel.body(asked, versions[panel.scope]),
            topics_of(panel.scope, asked),
            address_of(panel, asked),
        )
        for panel in wanted
    ]


def address_of(panel: Panel, asked: Asked) -> str:
    """Where the panel is fetched from again."""
    if panel.scope is Scope.JOB:
        job = asked.the_job
        return reverse("job-panel", args=[panel.name, asked.the_cluster.name, job.number, job.epoch])
    if panel.scope is Scope.CLUSTER:
        chosen = f"?nodes={asked.standing}" if asked.standing else ""
        return reverse("cluster-panel", args=[panel.name, asked.the_cluster.name]) + chosen
    return reverse("panel", args=[panel.name]) + (key_of(panel.scope, asked) if panel.scope is Scope.JOBS else "")


def panel_named(name: str) -> Panel | None:
    """The panel of that name."""
    return next((panel for panel in PANELS if panel.name == name), None)
