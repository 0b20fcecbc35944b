"""Doors of the console: each fetches, calls one thing and answers."""
