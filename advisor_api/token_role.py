"""What may the bearer of a token do?"""

from schedulers.words import Word


class TokenRole(Word):
    """Role of an API token."""

    VIEWER = "viewer", "Viewer: reads"
    OPERATOR = "operator", "Operator: approves, pauses, excludes"
    ADMIN = "admin", "Admin: changes modes and policies"
    CONTROLLER = "controller", "Controller: reads advice, reports what it did"
    INGEST = "ingest", "Ingest: pushes observations and progress"
