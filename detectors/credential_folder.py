"""Which credential does a row name? The door between the site's folder of credentials and whoever asks outside."""

from pathlib import Path

from django.conf import settings

from detectors.stores.credentials import Credential, Secret, read_credential, read_secret


def credential_named(name: str) -> Credential:
    """Read anew each time, so that a changed file holds at once. Raises `StoreTrouble`."""
    return read_credential(_folder(), name)


def secret_named(name: str, kind: str) -> Secret:
    """What signs (`secret`) or where to send (`address`); read anew as well. Raises `StoreTrouble`."""
    return read_secret(_folder(), name, kind)


def _folder() -> Path:
    folder = settings.REKINDLE["REKINDLE_CREDENTIALS_DIR"]
    return Path(folder) if folder else Path(settings.STATE_DIR) / "credentials"
