"""Slurm behind the scheduler port: its commands, their answers, and what its refusals mean."""
