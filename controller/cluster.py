"""Which scheduler do we speak to?"""

from controller.config import SchedulerSettings
from schedulers.port import Scheduler
from schedulers.slurm.adapter import Slurm
from schedulers.transport import LocalTransport


def scheduler_of(settings: SchedulerSettings) -> Scheduler:
    """The scheduler that the configuration names, by the commands of this machine."""
    return Slurm(LocalTransport(settings.path, settings.config), settings.command_seconds)
