"""Dumps of the Flight Recorder, one file for each rank: read without trust, cut down to what a verdict needs."""
