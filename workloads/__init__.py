"""What runs where: clusters, nodes, jobs, attempts and their progress."""
