"""Which scheduler do we speak to, and by which way?"""

from controller.config import Settings
from schedulers.port import Scheduler
from schedulers.slurm.adapter import Slurm
from schedulers.ssh_transport import SshTransport
from schedulers.transport import LocalTransport, Transport


def transport_of(settings: Settings) -> Transport:
    """The way to the scheduler's commands: this machine's, or those of the host in [ssh]."""
    if settings.ssh is not None:
        return SshTransport(settings.ssh)
    return LocalTransport(settings.scheduler.path, settings.scheduler.config)


def scheduler_of(settings: Settings, transport: Transport | None = None) -> Scheduler:
    """The scheduler that the configuration names."""
    return Slurm(transport or transport_of(settings), settings.scheduler.command_seconds)
