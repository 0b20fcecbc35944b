"""The simulated cluster and everything else that only tests and demonstrations need."""
