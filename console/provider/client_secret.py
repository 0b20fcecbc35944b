"""What is the secret that the site shows to the OpenID provider? It stands in a file that nobody else may read."""

import os
import stat
from pathlib import Path

LARGEST_SECRET = 4096  # bytes; what providers give out has some dozens


class SecretNotUsable(OSError):
    """The file of the client secret cannot be used; the message is the end of a sentence."""


def client_secret(path: Path) -> str:
    """What is in the file. Raises `SecretNotUsable`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        # stays English: for the log
        raise SecretNotUsable(getattr(error, "strerror", None) or "is no path") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise SecretNotUsable("it is not a file")  # stays English: for the log
        if status.st_uid not in {0, os.geteuid()} or status.st_mode & 0o077:
            raise SecretNotUsable("it must belong to the site's user with mode 600")  # stays English: for the log
        raw = os.read(descriptor, LARGEST_SECRET + 1)
    finally:
        os.close(descriptor)
    secret = raw.decode("utf-8", "replace").strip()
    if not secret or len(raw) > LARGEST_SECRET or not secret.isprintable():
        raise SecretNotUsable("it must hold the secret in one line and nothing else")  # stays English: for the log
    return secret
