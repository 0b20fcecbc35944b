"""Which addresses does the console have?"""

from django.urls import path, register_converter

from console.views import (
    api,
    approval,
    approval_together,
    audit,
    clusters,
    holding,
    incident_acts,
    incidents,
    jobs,
    mode,
    node_acts,
    nodes,
    notifications,
    pages,
    panel,
    panels_together,
    pausing,
    policy,
    policy_versions,
    regrouping,
    saved_views,
    sign_in,
    signals,
    silences,
    still,
)
from console.views.job_curves import job_curves
from console.views.job_log import job_log, job_logs, log_copy
from console.views.texts import texts


class ClusterName:
    """The name of a cluster in an address (the same rule as on the model)."""

    regex = r"[a-z0-9][a-z0-9_.-]{0,63}"

    def to_python(self, value: str) -> str:
        """As it is."""
        return value

    def to_url(self, value: str) -> str:
        """As it is."""
        return value


class WholeNumber(ClusterName):
    """A number that fits into a column; Django's own `int` takes any length."""

    regex = r"[0-9]{1,18}"

    def to_python(self, value: str) -> int:  # type: ignore[override]
        """Decimal."""
        return int(value)

    def to_url(self, value: int) -> str:  # type: ignore[override]
        """Decimal."""
        return str(value)


class NodeName(ClusterName):
    """The name of a node in an address: whatever the scheduler said it was, a slash or a line end too."""

    regex = r"[\s\S]{1,255}"


register_converter(ClusterName, "cluster")
register_converter(NodeName, "node")
register_converter(WholeNumber, "whole")

_JOB = "<cluster:cluster>/<whole:number>/<whole:epoch>"

urlpatterns = [
    path("", pages.overview, name="overview"),
    path("texts.js", texts, name="texts"),
    path("sign-in", sign_in.SignIn.as_view(), name="sign-in"),
    path("sign-in/once/<str:token>", sign_in.once, name="sign-in-once"),
    path("sign-out", sign_in.sign_out, name="sign-out"),
    path("jobs", jobs.jobs, name="jobs"),
    path("jobs/export.csv", jobs.export, name="jobs-export"),
    path("views", saved_views.views, name="views"),
    path("views/new", saved_views.new, name="view-new"),
    path("views/<whole:view>", saved_views.change_one, name="view"),
    path(f"jobs/{_JOB}", pages.job, name="job"),
    path(f"jobs/{_JOB}/curves.json", job_curves, name="job-curves"),
    path("jobs/<cluster:cluster>/<whole:number>", pages.newest_job, name="newest-job"),
    path(f"jobs/{_JOB}/log/<whole:excerpt>", log_copy, name="log-copy"),
    path(f"jobs/{_JOB}/attempts/<whole:index>/logs", job_logs, name="job-logs"),
    path(f"jobs/{_JOB}/attempts/<whole:index>/logs/<slug:key>", job_log, name="job-log"),
    path("clusters", clusters.clusters, name="clusters"),
    path("clusters/<cluster:cluster>", pages.cluster, name="cluster"),
    path("clusters/<cluster:cluster>/pause", pausing.begin, name="cluster-pause"),
    path("clusters/<cluster:cluster>/pauses/<whole:pause>/end", pausing.end, name="pause-end"),
    path("clusters/<cluster:cluster>/mode", mode.switch, name="cluster-mode"),
    path("clusters/<cluster:cluster>/signals", signals.signals, name="cluster-signals"),
    path("clusters/<cluster:cluster>/signals/report", signals.report, name="cluster-signals-report"),
    path("clusters/<cluster:cluster>/exclude/<node:node>", node_acts.exclude_node, name="node-exclude"),
    path("clusters/<cluster:cluster>/lift/<node:node>", node_acts.lift_node, name="node-lift"),
    path(
        "clusters/<cluster:cluster>/exclusions/<whole:exclusion>/undo",
        node_acts.undo_exclusion,
        name="exclusion-undo",
    ),
    path("nodes", nodes.nodes, name="nodes"),
    path("nodes/export.csv", nodes.export, name="nodes-export"),
    path("nodes/<cluster:cluster>/<node:node>", nodes.node, name="node"),
    path("audit", audit.trail, name="audit"),
    path("audit/verify", audit.verify, name="audit-verify"),
    path("audit/<uuid:uuid>", audit.event, name="audit-event"),
    path("incidents", incidents.incidents, name="incidents"),
    path("incidents/<uuid:uuid>", incidents.incident, name="incident"),
    path("incidents/<uuid:uuid>/acknowledge", incident_acts.answer, name="incident-answer"),
    path("incidents/<uuid:uuid>/acknowledge/undo", incident_acts.unanswer, name="incident-unanswer"),
    path("incidents/<uuid:uuid>/remark", incident_acts.note, name="incident-note"),
    path("incidents/<uuid:uuid>/join", regrouping.join, name="incident-join"),
    path("incidents/<uuid:uuid>/split", regrouping.part, name="incident-split"),
    path("incidents/choices/<uuid:choice>/undo", regrouping.take_back, name="incident-undo"),
    path("silences", silences.silences, name="silences"),
    path("silences/new", silences.new, name="silence-new"),
    path("silences/<uuid:uuid>/end", silences.end, name="silence-end"),
    path("approvals", pages.approvals, name="approvals"),
    path("approvals/several", approval_together.decide_together, name="approvals-together"),
    path("approvals/<whole:advice>", approval.decide, name="approval"),
    path("steps/<whole:advice>/hold", holding.hold, name="step-hold"),
    path("notifications", notifications.notifications, name="notifications"),
    path("notifications/<whole:delivery>", notifications.delivery, name="notification"),
    path("api", api.described, name="api"),
    path("policy", policy.effective, name="policy"),
    path("policy/versions", policy_versions.listed, name="policy-versions"),
    path("policy/compare", policy_versions.compared, name="policy-compare"),
    path("policy/replay", policy.replayed, name="policy-replay"),
    path("forms/still", still.still, name="form-still"),
    path("panels", panels_together.panels_together, name="panels"),
    path("panels/<slug:name>", panel.panel, name="panel"),
    path("panels/<slug:name>/<cluster:cluster>", panel.panel, name="cluster-panel"),
    path(f"panels/<slug:name>/{_JOB}", panel.panel, name="job-panel"),
    path("panels/<slug:name>/<cluster:cluster>/node/<node:node>", panel.panel, name="node-panel"),
]
