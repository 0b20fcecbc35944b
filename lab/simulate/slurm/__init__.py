"""What each Slurm command prints about a simulated cluster, in the words of Slurm 22.05.8."""
