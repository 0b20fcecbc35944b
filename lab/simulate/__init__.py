"""A simulated cluster: a deterministic model of Slurm 22.05 in virtual time, and a process that serves it."""
