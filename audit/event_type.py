"""What kinds of event does the trail know?"""

from schedulers.words import Word


class EventType(Word):
    """Type of an audit event."""

    ATTEMPT_SEEN = "attempt_seen", "Attempt seen", "secondary"
    ATTEMPT_STATE = "attempt_state", "State changed", "secondary"
    CHECKPOINT_SAVED = "checkpoint_saved", "Checkpoint saved", "secondary"
    CHECKPOINT_LOADED = "checkpoint_loaded", "Checkpoint loaded", "secondary"
    OPT_IN_REFUSED = "opt_in_refused", "Opt-in comment not understood", "warning"
    CANNOT_SEE = "cannot_see", "Cannot see the scheduler", "warning"
    SEES_AGAIN = "sees_again", "Sees the scheduler again", "info"
    BLIND = "blind", "Blind", "warning"
    SIGHT_REGAINED = "sight_regained", "Sees the log again", "info"
    ANOMALY = "anomaly", "Anomaly", "danger"
    HEALTH = "health", "Node health told", "warning"
    VERDICT = "verdict", "Verdict", "primary"
    INCIDENT = "incident", "Incident", "warning"
    ADVICE = "advice", "Advice", "primary"
    NO_ADVICE = "no_advice", "Left alone", "secondary"
    ADVICE_STATE = "advice_state", "Advice moved", "secondary"
    LEASE = "lease", "Controller lease", "secondary"
    INTENT = "intent", "Action announced", "info"
    ACTION = "action", "Action done", "info"
    ALLOCATION_RESTARTED = "allocation_restarted", "Allocation restarted", "info"
    PROGRESS_RESUMED = "progress_resumed", "Training progress resumed", "success"
    TRAINING_COMPLETED = "training_completed", "Training completed", "success"
    RECOVERY_FAILED = "recovery_failed", "Recovery failed", "danger"
    CORRECTION = "correction", "Verdict corrected", "warning"
    MODE_CHANGED = "mode_changed", "Mode changed", "warning"
    PAUSE = "pause", "Pause", "warning"
    EXCLUSION = "exclusion", "Node exclusion", "warning"
    CONFIGURATION = "configuration", "Configuration changed", "warning"
    SIGN_IN = "sign_in", "Sign-in", "secondary"
    TOKEN = "token", "API token", "warning"  # a kind of event, not a secret
    CLIENT = "client", "Reported by a client", "secondary"
