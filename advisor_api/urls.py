"""Which path of the API leads where? Mounted at the root of the site."""

from django.urls import URLPattern, path, re_path

from advisor_api.views import (
    advice,
    attempts,
    audit_events,
    clusters,
    health_events,
    incidents,
    jobs,
    limits,
    meta,
    nodes,
    observation,
    progress,
    recovery,
    signals,
    trail,
    watch,
)

ADVICE = "v1/advice/<uuid:heimdall_id>"
ATTEMPT = "v1/attempts/<uuid:heimdall_id>"

urlpatterns: list[URLPattern] = [
    # layer A: the public reference's gateway
    path("v1/jobs", jobs.Jobs.as_view()),
    path("v1/jobs/by-scheduler-id/<str:number>", jobs.JobsOfNumber.as_view()),
    path("v1/jobs/<str:job_id>", jobs.OneJob.as_view()),
    path("v1/workflows", jobs.Workflows.as_view()),
    path("v1/workflows:lookup", jobs.WorkflowLookup.as_view()),
    path("v1/advice", advice.AdviceList.as_view()),
    path(f"{ADVICE}/reconciliation-status", advice.ReconciliationStatus.as_view()),
    path("v1/recovery/sequences", recovery.Sequences.as_view()),
    path("v1/recovery/milestones", recovery.Milestones.as_view()),
    path("v1/audit/events", audit_events.AuditEvents.as_view()),
    # layer B: what Rekindle adds
    path("v1/clusters", clusters.Clusters.as_view()),
    path("v1/clusters/<str:name>", clusters.OneCluster.as_view()),
    path("v1/clusters/<str:name>/signals", signals.SignalsOfCluster.as_view()),
    path("v1/clusters/<str:name>/lease", recovery.LeaseOfCluster.as_view()),
    path("v1/clusters/<str:name>/observation", observation.ObservationOfCluster.as_view()),
    path(f"{ATTEMPT}/timeline", attempts.Timeline.as_view()),
    path(f"{ATTEMPT}/verdict", attempts.VerdictOfAttempt.as_view()),
    path(f"{ATTEMPT}/decision", attempts.DecisionOnAttempt.as_view()),
    path("v1/advice:watch", watch.AdviceWatch.as_view()),
    path(f"{ADVICE}:approve", advice.Approve.as_view()),
    path(f"{ADVICE}:reject", advice.Reject.as_view()),
    path(f"{ADVICE}:expire", advice.Expire.as_view()),
    path("v1/exclusions", limits.Exclusions.as_view()),
    path("v1/exclusions/<int:number>", limits.OneExclusion.as_view()),
    path("v1/pauses", limits.Pauses.as_view()),
    path("v1/pauses/<int:number>", limits.OnePause.as_view()),
    path("v1/progress", progress.Progress.as_view()),
    path("v1/progress:key", progress.ProgressKey.as_view()),
    path("v1/health-events", health_events.HealthEvents.as_view()),
    path("v1/incidents", incidents.Incidents.as_view()),
    path("v1/incidents/<uuid:uuid>", incidents.OneIncident.as_view()),
    path("v1/trail", trail.Trail.as_view()),
    path("v1/trail:export", trail.TrailExport.as_view()),
    path("v1/nodes", nodes.Nodes.as_view()),
    path("v1/nodes/<str:name>", nodes.OneNode.as_view()),
    path("v1/schema", meta.Schema.as_view()),
    re_path(r"^v1(?:/.*)?$", meta.Unknown.as_view()),
]
