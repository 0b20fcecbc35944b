"""Which single actions does a recovery take on the scheduler?"""

from schedulers.words import Word


class SchedulerAction(Word):
    """One completed scheduler action; on the wire with the prefix RECOVERY_SCHEDULER_ACTION_."""

    SLURM_REQUEUE_HOLD = "SLURM_REQUEUE_HOLD", "Requeued and held"
    SLURM_UPDATE_CONSTRAINTS = "SLURM_UPDATE_CONSTRAINTS", "Exclusions set"
    SLURM_RELEASE = "SLURM_RELEASE", "Released"
    SLURM_CANCEL = "SLURM_CANCEL", "Cancelled"
