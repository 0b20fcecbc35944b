"""A private, real Slurm on one machine: for tests, and for trying things without a cluster of one's own."""
