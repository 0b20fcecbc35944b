"""What stands on the pages?

A panel is a function in `contexts/` that gives a context, a line in `PANELS`, and a template of the same name. The
address of a panel returns the panel and nothing else.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from audit.in_sight import hidden_now
from console.asking import Asked, Scope, key_of, topics_of, version_of
from console.contexts import Context, audit, cluster, incidents, job, job_picture, job_questions, jobs, nodes, site
from console.delivery_lines import SEE_WHOM
from console.incident_lines import incidents_now
from console.rendering import Body, bodies


@dataclass(frozen=True)
class Panel:
    """One panel: its function, what it speaks of, the permissions that change its look."""

    function: Callable[[Asked], Context]
    scope: Scope
    title: Promise
    permissions: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Its name in addresses, and that of its template."""
        return self.function.__name__

    def body(self, asked: Asked, version: str) -> Body:
        """The rendered panel, rendered at most once per version, permission set and what is hidden."""
        may = asked.may & self.permissions
        key = (self.name, key_of(self.scope, asked), version, may, hidden_now().names, get_language() or "")
        return bodies.get(key, lambda: self._render(asked))

    def _render(self, asked: Asked) -> str:
        context = {"now": asked.now, "panel": self.name, **self.function(asked)}
        return render_to_string(f"console/panels/{self.name}.html", context)


PANELS: tuple[Panel, ...] = (
    Panel(site.at_a_glance, Scope.SITE, _("At a glance")),
    Panel(site.coming_steps, Scope.SITE, _("What happens next by itself"), frozenset({site.MAY_HOLD})),
    Panel(site.clusters, Scope.SITE, _("Clusters"), frozenset({"workloads.add_cluster"})),
    Panel(incidents_now, Scope.SITE, _("Incidents of now")),
    Panel(incidents.incident_table, Scope.LIST, _("Incidents")),
    Panel(
        incidents.incident_summary,
        Scope.LIST,
        _("Now"),
        frozenset(
            {incidents.MAY_ANSWER, incidents.MAY_NOTE, incidents.MAY_REGROUP, incidents.MAY_SILENCE},
        ),
    ),
    Panel(incidents.incident_members, Scope.LIST, _("Attempts")),
    Panel(incidents.incident_notes, Scope.LIST, _("Remarks"), frozenset({incidents.MAY_NOTE})),
    Panel(incidents.incident_story, Scope.LIST, _("What happened, and what was done")),
    Panel(incidents.incident_places, Scope.LIST, _("Nodes")),
    Panel(incidents.incident_choices, Scope.LIST, _("Joined and split"), frozenset({incidents.MAY_REGROUP})),
    Panel(incidents.incident_told, Scope.LIST, _("Notifications")),
    Panel(incidents.silence_table, Scope.LIST, _("Silences"), frozenset({incidents.MAY_END_SILENCE})),
    Panel(site.advice_now, Scope.SITE, _("Open advice")),
    Panel(site.newest_events, Scope.SITE, _("Newest events")),
    Panel(site.approvals, Scope.SITE, _("Waiting for approval"), frozenset({site.MAY_HOLD})),
    Panel(site.deliveries, Scope.SITE, _("Sent and to be sent"), frozenset({SEE_WHOM})),
    Panel(jobs.job_table, Scope.JOBS, _("Jobs")),
    Panel(job.job_summary, Scope.JOB, _("Now")),
    Panel(job_questions.job_questions, Scope.JOB, _("Five questions before it acts by itself")),
    Panel(job_picture.job_lanes, Scope.JOB, _("Timeline")),
    Panel(job_picture.job_curves, Scope.JOB, _("Step time and throughput")),
    Panel(job.job_recovery, Scope.JOB, _("What happened, and why")),
    Panel(job.job_attempts, Scope.JOB, _("Attempts and nodes")),
    Panel(job.job_events, Scope.JOB, _("Events")),
    Panel(cluster.cluster_table, Scope.LIST, _("Clusters")),
    Panel(
        cluster.cluster_health, Scope.CLUSTER, _("Health"), frozenset({"workloads.switch_mode", cluster.MAY_PAUSE})
    ),
    Panel(cluster.cluster_sources, Scope.CLUSTER, _("Sources, over the last hour")),
    Panel(cluster.cluster_advice, Scope.CLUSTER, _("Open advice")),
    Panel(cluster.cluster_nodes, Scope.CLUSTER, _("Nodes")),
    Panel(nodes.node_table, Scope.LIST, _("Nodes")),
    Panel(nodes.node_standing, Scope.NODE, _("Now"), frozenset({nodes.MAY_EXCLUDE})),
    Panel(nodes.node_exclusions, Scope.NODE, _("Left out of restarts")),
    Panel(nodes.node_history, Scope.NODE, _("History")),
    Panel(nodes.node_events, Scope.NODE, _("Events")),
    Panel(audit.audit_events, Scope.LIST, _("Events")),
    Panel(audit.audit_chains, Scope.SITE, _("Does the trail hold?")),
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
        number, epoch = asked.the_job.number, asked.the_job.epoch
        return reverse("job-panel", args=[panel.name, asked.the_cluster.name, number, epoch]) + asked.window.query
    if panel.scope is Scope.CLUSTER:
        chosen = f"?nodes={asked.standing}" if asked.standing else ""
        return reverse("cluster-panel", args=[panel.name, asked.the_cluster.name]) + chosen
    if panel.scope is Scope.NODE:
        return reverse("node-panel", args=[panel.name, asked.the_cluster.name, asked.node])
    if panel.scope is Scope.LIST:
        return reverse("panel", args=[panel.name]) + (f"?{asked.query}" if asked.query else "")
    return reverse("panel", args=[panel.name]) + (key_of(panel.scope, asked) if panel.scope is Scope.JOBS else "")


def panel_named(name: str) -> Panel | None:
    """The panel of that name."""
    return next((panel for panel in PANELS if panel.name == name), None)
