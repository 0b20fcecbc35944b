"""Which moves of which tables need which event, and which need none, why?"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import Model

from advisor_api.models import (
    Advice,
    ApiToken,
    ControllerLease,
    Exclusion,
    JobReport,
    LeftAlone,
    Milestone,
    Pause,
    PolicyActivation,
    PolicyVersion,
    Sequence,
)
from advisor_api.notification_models import Delivery, NotificationRoute
from advisor_api.repair_models import RepairRecord, RepairSystem
from advisor_api.silence_models import Silence
from audit.event_type import EventType as E
from detectors.choice_models import IncidentChoice, IncidentNote
from detectors.models import Anomaly, HealthEvent, Incident, SiteSignature, Verdict
from detectors.provider_models import AttributionProvider, ProviderQuestion
from workloads.models import Attempt, Cluster

Says = Callable[[Any], Mapping[str, Any]]
SAYS = "sentence"  # which must contain the value; every other column must be equal to it


@dataclass(frozen=True)
class Move:
    """A move of a table: one of `columns` changes, or a row is `new`. `types`: which events may speak of it.

    A change for which the SQL condition `unless` holds is none. `says` gives what the
    columns of the event must hold for a row.
    """

    model: type[Model]
    columns: tuple[str, ...]
    types: tuple[E, ...]
    says: Says
    new: bool = False
    unless: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """`Model.column`, and `Model` for a new row."""
        own = (self.model.__name__,) if self.new else ()
        return (*own, *(f"{self.model.__name__}.{column}" for column in self.columns))


def _attempt(row: Any) -> Mapping[str, Any]:
    return {"heimdall_job_id": row.heimdall_id}


def _its_attempt(row: Any) -> Mapping[str, Any]:
    return _attempt(row.attempt)


def _its_advice(row: Any) -> Mapping[str, Any]:
    return _attempt(row.advice.attempt) | {"advice_generation": row.advice.generation}


def _cluster(row: Any) -> Mapping[str, Any]:
    return {"cluster": row.cluster.name if row.cluster_id else ""}


def _node(row: Any) -> Mapping[str, Any]:
    return _cluster(row) | {"node": row.node}


def _told_by_people(model: type[Model], *but: str) -> tuple[str, ...]:
    """The columns that a person fills in."""
    columns = [str(one.column) for one in model._meta.concrete_fields if one.editable and not one.primary_key]
    return tuple(column for column in columns if column not in but)


MOVES = (
    Move(Attempt, (), (E.ATTEMPT_SEEN,), _attempt, new=True),
    Move(Attempt, ("state",), (E.ATTEMPT_STATE,), _attempt),
    Move(Attempt, ("blind_since",), (E.BLIND, E.SIGHT_REGAINED), _attempt),
    Move(Attempt, ("command_at",), (E.INTENT, E.ACTION), _attempt),
    Move(Attempt, ("last_checkpoint_step",), (E.CHECKPOINT_SAVED,), _attempt),
    Move(Attempt, ("loaded_checkpoint_step",), (E.CHECKPOINT_LOADED,), _attempt),
    Move(Cluster, ("mode", "mode_version"), (E.MODE_CHANGED, E.CONFIGURATION), lambda row: {"cluster": row.name}),
    Move(
        Cluster,
        _told_by_people(Cluster, "name", "mode"),
        (E.CONFIGURATION,),
        lambda row: {"cluster": row.name},
    ),
    Move(Cluster, ("cannot_see_since",), (E.CANNOT_SEE, E.SEES_AGAIN), lambda row: {"cluster": row.name}),
    Move(
        Cluster,
        ("log_store_unseen_since", "metrics_unseen_since"),
        (E.BLIND, E.SIGHT_REGAINED),
        lambda row: {"cluster": row.name},
    ),
    Move(Anomaly, ("refuted_at",), (E.ANOMALY, E.BLIND, E.SIGHT_REGAINED), _its_attempt, new=True),
    Move(HealthEvent, ("cleared_at",), (E.HEALTH,), _node),
    Move(Verdict, (), (E.VERDICT,), lambda row: _its_attempt(row) | {"verdict_id": row.uuid}, new=True),
    Move(Verdict, ("incident_id",), (E.INCIDENT,), _its_attempt),
    Move(
        Incident, ("ended_at", "open_key", "acknowledged_at", "merged_into_id"), (E.INCIDENT,), _cluster, new=True
    ),
    Move(IncidentNote, (), (E.INCIDENT,), lambda row: _cluster(row.incident), new=True),
    Move(IncidentChoice, ("undone_at",), (E.INCIDENT,), _cluster, new=True),
    Move(Silence, ("ended_at",), (E.NOTIFICATION,), _cluster, new=True),
    Move(ProviderQuestion, ("outcome",), (E.PROVIDER,), _its_attempt),
    Move(SiteSignature, (), (E.CONFIGURATION,), lambda row: {"pattern": row.name}, new=True),
    Move(
        AttributionProvider,
        _told_by_people(AttributionProvider, "name", "cluster_id"),
        (E.CONFIGURATION,),
        _cluster,
        new=True,
    ),
    Move(
        Advice,
        (),
        (E.ADVICE,),
        lambda row: _its_attempt(row) | {"advice_generation": row.generation},
        new=True,
    ),
    Move(
        Advice, ("state",), (E.ADVICE_STATE,), lambda row: _its_attempt(row) | {"advice_generation": row.generation}
    ),
    Move(LeftAlone, (), (E.NO_ADVICE,), _its_attempt, new=True),
    Move(Sequence, (), (E.ADVICE,), _its_advice, new=True),
    Move(Sequence, ("commanded_at",), (E.ACTION,), _its_advice),
    Move(Sequence, ("restarted_at",), (E.ALLOCATION_RESTARTED,), _its_advice),
    Move(Sequence, ("resumed_at",), (E.PROGRESS_RESUMED,), _its_advice),
    Move(Sequence, ("completed_at",), (E.TRAINING_COMPLETED,), _its_advice),
    Move(Milestone, (), (E.ACTION,), lambda row: _its_advice(row.sequence), new=True),
    Move(Exclusion, ("lifted_at",), (E.EXCLUSION,), _node, new=True),
    Move(
        Pause,
        ("until",),
        (E.PAUSE,),
        lambda row: _cluster(row) | ({"job_number": int(row.value)} if row.scope == "job" else {}),
        new=True,
    ),
    Move(ControllerLease, ("holder", "fence"), (E.LEASE,), _cluster, new=True),
    Move(
        ApiToken,
        ("digest", "revoked_at", "role", "name"),
        (E.TOKEN,),
        lambda row: {SAYS: row.name.partition(" (until")[0]},
        new=True,
    ),
    Move(PolicyVersion, (), (E.CONFIGURATION,), lambda row: {SAYS: f"policy {row.pk}"}, new=True),
    Move(
        PolicyActivation,
        (),
        (E.CONFIGURATION,),
        lambda row: {SAYS: f"policy {row.version_id}" if row.version_id else "withdrew the policy"},
        new=True,
    ),
    Move(RepairSystem, _told_by_people(RepairSystem, "name", "cluster_id"), (E.CONFIGURATION,), _cluster, new=True),
    Move(RepairRecord, (), (E.EXCLUSION,), lambda row: _node(row.exclusion), new=True),
    Move(
        RepairRecord,
        ("outcome",),
        (E.EXCLUSION,),
        lambda row: _node(row.exclusion),
        unless="OLD.outcome IN ('waiting', 'busy') AND NEW.outcome IN ('waiting', 'busy')",  # told when it is over
    ),
    Move(NotificationRoute, _told_by_people(NotificationRoute, "name"), (E.CONFIGURATION,), _cluster, new=True),
    Move(Delivery, ("outcome",), (E.NOTIFICATION,), lambda row: {"cluster": row.cluster}),
    Move(
        User,
        ("is_active", "is_staff", "is_superuser", "username", "password"),
        (E.CONFIGURATION,),
        lambda row: {SAYS: row.username},
        new=True,
    ),
    Move(User.groups.through, (), (E.CONFIGURATION,), lambda row: {SAYS: row.user.username}, new=True),
    Move(User.user_permissions.through, (), (E.CONFIGURATION,), lambda row: {SAYS: row.user.username}, new=True),
    Move(Group.permissions.through, (), (E.CONFIGURATION,), lambda row: {SAYS: row.group.name}, new=True),
    Move(
        JobReport,
        ("gpu_count_per_node", "node_constraints", "additional_properties"),
        (E.ATTEMPT_SEEN, E.CLIENT),
        _its_attempt,
        new=True,
    ),
)


ONCE = "written with the row and never again"
READING = "what the scheduler, the log or the metrics say: what is concluded from it has its own event"
WORK = "when something is to be done or was done last: no state of a subject"
BESIDE = "moves in the same statement as a column that is watched, and the event tells it"
SPAN = "how far a stored fault reaches so far; its first and its last word have their events"
GATHERED = "what a message speaks of, read off the trail's own events"

STILL: dict[type[Model], dict[str, str]] = {
    Cluster: {
        ONCE: "name",
        WORK: "log_store_due_at log_store_retry_at log_store_read_at metrics_due_at metrics_read_at observe_due_at "
        "seen_at limits_asked_at changed_at pushed_sequence pushed_clock_at",
        BESIDE: "log_store_unseen_reason metrics_unseen_reason cannot_see_reason",
        READING: "raw_answer scheduler_version scheduler_tested min_job_age_seconds",
    },
    Attempt: {
        ONCE: "job index heimdall_id first_seen_at",
        READING: "scheduler_word reason nodes exit_code exit_signal submitted_at started_at ended_at last_step "
        "last_step_at first_step baseline_step_seconds phase",
        BESIDE: "blind_reason",
        WORK: "read_due_at judge_due_at thin_due_at settled_at looked_at changed_at",
    },
    AttributionProvider: {ONCE: "name cluster"},
    ProviderQuestion: {
        ONCE: "provider name kind attempt verdict phase own_hash asked_at ends_at",
        WORK: "tries due_at",
        BESIDE: "answered_at said answer",
    },
    HealthEvent: {
        ONCE: "uuid cluster node check_name component entity fatal healthy codes message advised source agent key "
        "happened_at received_at received_from"
    },
    SiteSignature: {
        ONCE: "name version cluster kind layer role action confidence says pattern unless names example must_not "
        "outranks enabled note created_at created_by"
    },
    Anomaly: {
        ONCE: "uuid attempt key kind signature layer role fingerprint detected_at",
        SPAN: "sentence step nodes ranks evidence confidence count happened_at basis",
    },
    Incident: {
        ONCE: "uuid cluster",
        BESIDE: "fingerprint layer sentence shared acknowledged_by version",
        SPAN: "first_seen_at last_seen_at attempt_count job_count user_count",
    },
    Verdict: {
        ONCE: "uuid attempt supersedes speed kind layer signature fingerprint sentence evidence_status confidence "
        "action implicated body shared input_hash happened_at judged_at",
        WORK: "decide_due_at",
    },
    IncidentNote: {ONCE: "incident text author at"},
    IncidentChoice: {
        ONCE: "uuid cluster deed source target source_key target_key reason made_by made_at",
        BESIDE: "undone_by undone_because",
    },
    Silence: {
        ONCE: "uuid cluster fingerprint signature node partition reason owner since until made_by",
        BESIDE: "ended_by end_reason",
    },
    RepairSystem: {ONCE: "name cluster"},
    RepairRecord: {
        ONCE: "system name exclusion node deed key body made_at",
        WORK: "due_at tries",
        BESIDE: "again_at over_at said",
    },
    NotificationRoute: {ONCE: "name", BESIDE: "since"},
    Delivery: {
        ONCE: "route name kind whom key topic level cluster would path made_at silence",
        GATHERED: "count items first_at last_at title text",
        WORK: "due_at tries unclear",
        BESIDE: "again_at over_at said",
    },
    PolicyVersion: {ONCE: "cluster partition user values note created_at created_by"},
    PolicyActivation: {ONCE: "place number cluster version reason activated_at activated_by"},
    Advice: {
        ONCE: "attempt generation verdict policy judged_by operation excluded_nodes rule because facts trace "
        "mode_at_decision not_before hold_until expires_at created_at",
        BESIDE: "state_reason state_at",
    },
    LeftAlone: {ONCE: "key attempt policy judged_by operation excluded_nodes rule because facts decided_at"},
    Sequence: {
        ONCE: "uuid advice trace_id happened_at detected_at advised_at",
        WORK: "closed_at",  # nothing more is waited for; how it ended has its own event
    },
    Milestone: {ONCE: "sequence idempotency_key operation action done_at received_at"},
    Exclusion: {
        ONCE: "uuid cluster node reason owner verdict_id confidence user by_log_alone half_life_seconds since "
        "until",
        BESIDE: "lifted_by",
    },
    Pause: {ONCE: "cluster scope value reason owner since"},
    ControllerLease: {ONCE: "cluster", WORK: "until"},  # renewed every few seconds; who holds it is told
    ApiToken: {ONCE: "created_at created_by", BESIDE: "expires_at", WORK: "last_used_at"},
    JobReport: {ONCE: "attempt", BESIDE: "reported_by reported_at"},
}
"""Columns of the tables in `MOVES` that move without an event, and why."""

UNMOVED: dict[str, str] = {
    "workloads.Node": READING,
    "workloads.RemovedCluster": "comes when a cluster is removed, goes when its trail is opened: each is told",
    "workloads.Job": READING,
    "workloads.ProgressPoint": READING,
    "workloads.Checkpoint": READING,
    "detectors.ToldLine": READING,
    "detectors.Feed": WORK,
    "detectors.Watch": WORK,
    "detectors.Observation": READING,
    "detectors.Excerpt": READING,
    "detectors.IncidentNode": "the nodes that the verdicts of an incident name; each verdict has its event",
    "detectors.ChosenPlace": "where later failures go by a person's choice, which has its event",
    "detectors.Stay": READING,
    "advisor_api.ToldSubject": "what a message speaks of; the message has its event",
    "advisor_api.TrailPosition": WORK,
    "console.ProviderIdentity": "written with the account, whose event tells it",
    "console.SignInLink": "the sign-in itself is told",
    "console.SavedView": "what a person likes to see; the trail tells of what is shared",
    "console.SignInTry": "the sign-in itself is told",
}
"""Tables in which no move needs an event, and why. Those of the trail are the events."""
