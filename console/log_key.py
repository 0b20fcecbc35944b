"""What does an address call a log? A short key: no path ever comes from an address."""

from detectors.gathering import stream_key

KEY_LENGTH = 16  # characters that tell the logs of one attempt apart


def log_key(stream: str) -> str:
    """The beginning of the hash of what the detectors call it."""
    return stream_key(stream)[:KEY_LENGTH]
