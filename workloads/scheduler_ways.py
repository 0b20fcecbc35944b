"""By which way does the site speak to a cluster's scheduler: its own commands, or those of a host over SSH?"""

from pathlib import Path

from django.conf import settings

from schedulers.opening import open_scheduler
from schedulers.port import Scheduler
from schedulers.ssh_transport import SshPlace, SshTransport, read_address
from schedulers.transport import Answer, NotConnected, Transport
from workloads.models import Cluster


class NoWay:
    """A transport for a way that is not described well enough: says so instead of running anything."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def run(self, argv: tuple[str, ...], seconds: float) -> Answer:
        """Raise `NotConnected`."""
        raise NotConnected(self._reason)


def scheduler_of(cluster: Cluster, seconds: float) -> Scheduler:
    """The cluster's scheduler, each command of which is given `seconds`. Nothing is asked yet.

    Raises `ValueError` for a kind that nobody knows; a way that cannot be used is `Unreachable` when it is used.
    """
    return open_scheduler(
        cluster.scheduler_kind, cluster.scheduler_path, cluster.scheduler_config, seconds, _way(cluster)
    )


def _way(cluster: Cluster) -> Transport | None:
    """`None`: the commands of this machine."""
    match cluster.scheduler_transport:
        case "ssh":
            return ssh_of(cluster)
        case "push":
            return NoWay(
                f"The scheduler of {cluster.name} is not asked from here: its controller pushes what it lists."
            )
    return None


def ssh_of(cluster: Cluster) -> Transport:
    """The way over SSH. Of a credential NAME the folder holds NAME, NAME.known_hosts, and NAME-cert.pub if any."""
    given = settings.REKINDLE["REKINDLE_CREDENTIALS_DIR"]
    folder = Path(given) if given else settings.STATE_DIR / "credentials"
    name = cluster.ssh_credential
    certificate = folder / f"{name}-cert.pub"
    missing = [file for file in (name, f"{name}.known_hosts") if not (folder / file).is_file()]
    if missing:
        return NoWay(f"The credentials folder holds no file '{missing[0]}', which SSH needs.")
    try:
        user, host, port = read_address(cluster.ssh_address)
        place = SshPlace(
            host,
            user,
            port,
            known_hosts=str(folder / f"{name}.known_hosts"),
            key=str(folder / name),
            certificate=str(certificate) if certificate.is_file() else "",
        )
    except ValueError as error:
        return NoWay(str(error))
    return SshTransport(place)
