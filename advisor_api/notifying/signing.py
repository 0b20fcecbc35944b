"""How does a receiver know that a message is ours, and of now? HMAC-SHA256 over its time and its bytes.

`Rekindle-Signature: t=1796000000,v1=HEX`, with HEX = HMAC-SHA256(secret, "1796000000." + body). The guide shows how
it is verified.
"""

import hashlib
import hmac
from datetime import datetime

HEADER = "Rekindle-Signature"


def signature(secret: str, body: bytes, at: datetime) -> str:
    """The value of the header for a body that is sent at `at`."""
    seconds = int(at.timestamp())
    mac = hmac.new(secret.encode(), f"{seconds}.".encode() + body, hashlib.sha256)
    return f"t={seconds},v1={mac.hexdigest()}"
