"""Cases on a real Slurm, with the product's own processes: what was put on, and what the product said of it."""
