"""A stand-in for a training job: several real processes that step together, save, load and break on order."""
