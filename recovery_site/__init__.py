"""Puts the site together: settings, addresses, the beat schedule, checks, probes and metrics."""
