"""Which states does the Flight Recorder give a collective? Its own words."""

SCHEDULED = "scheduled"
"""Given to the GPU's stream, not begun."""
STARTED = "started"
COMPLETED = "completed"
ALL = frozenset({SCHEDULED, STARTED, COMPLETED})
