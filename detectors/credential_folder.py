"""Which credential does a row name? The door between the site's folder of credentials and whoever asks outside."""

from pathlib import Path

from django.conf import settings

from detectors.stores.credentials import Credential, read_credential


def credential_named(name: str) -> Credential:
    """Read anew each time, so that a changed file holds at once. Raises `StoreTrouble`."""
    folder = settings.REKINDLE["REKINDLE_CREDENTIALS_DIR"]
    return read_credential(Path(folder) if folder else settings.STATE_DIR / "credentials", name)
