"""Which port of the loopback is free, and stays ours until somebody listens on it?

Who asks the kernel for any port and gives it back has it no longer: until the server listens, another process may
have got it. So a number is claimed for as long as the process lives, by a name that only one process can have.
"""

import random
import socket

PORTS = range(5_000, 10_000)  # below the blocks of private Slurms and below what the kernel hands out
_OURS: set[int] = set()


def claim(port: int) -> bool:
    """Whether the number is ours: from now on, or since before."""
    if port in _OURS:
        return True
    with socket.socket(socket.AF_UNIX) as mark:
        try:
            mark.bind(f"\0rekindle-port-{port}")  # of the abstract kind: gone with the process, and no file
        except OSError:
            return False
        mark.detach()  # open as long as the process lives
    _OURS.add(port)
    return True


def claimed() -> frozenset[int]:
    """What is ours."""
    return frozenset(_OURS)


def free_port() -> int:
    """A port of the loopback on which nobody listens, and which nobody else is given who asks here."""
    for port in random.sample(PORTS, k=len(PORTS)):
        if port not in _OURS and claim(port) and _bindable(port):
            return port
    raise RuntimeError("no port is free")


def _bindable(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
