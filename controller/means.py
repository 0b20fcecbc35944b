"""What does whoever acts on the scheduler act with?"""

from dataclasses import dataclass

from controller.client import Advisor
from controller.clock import Clock
from controller.journal import Journal
from controller.plain import Voice
from controller.standing import Standing
from schedulers.port import Scheduler


@dataclass(frozen=True)
class Means:
    """The scheduler that is acted on, the Advisor that is told, the journal that remembers, and our standing."""

    scheduler: Scheduler
    advisor: Advisor
    journal: Journal
    clock: Clock
    standing: Standing
    voice: Voice
