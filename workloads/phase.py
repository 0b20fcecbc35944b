"""What is a running attempt doing?"""

from schedulers.words import Word


class Phase(Word):
    """Phase of an attempt; each has its own limit of silence."""

    STARTING = "starting", "Starting up", "info"
    TRAINING = "training", "Training", "success"
    SAVING = "saving", "Saving a checkpoint", "info"
    LOADING = "loading", "Loading a checkpoint", "info"
    EVALUATING = "evaluating", "Evaluating", "info"
    ENDED = "ended", "Ended", "secondary"
