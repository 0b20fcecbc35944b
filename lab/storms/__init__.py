"""Runs by chance on the simulated cluster, in which nothing may be done that must not be done."""
