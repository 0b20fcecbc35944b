"""What breaks, and what is right to say and to do about it?"""

from lab.cases.case import Case
from lab.cases.faults.arrays import ARRAYS
from lab.cases.faults.hardware import HARDWARE
from lab.cases.faults.memory import MEMORY
from lab.cases.faults.network import NETWORK
from lab.cases.faults.numbers import NUMBERS
from lab.cases.faults.programs import PROGRAMS
from lab.cases.faults.scheduling import SCHEDULING
from lab.cases.faults.several import SEVERAL
from lab.cases.faults.signals import SIGNALS
from lab.cases.faults.silence import SILENCE
from lab.cases.faults.slowness import SLOWNESS
from lab.cases.faults.storage import STORAGE

FAULTS: tuple[Case, ...] = (
    PROGRAMS
    + SIGNALS
    + SILENCE
    + MEMORY
    + STORAGE
    + SCHEDULING
    + HARDWARE
    + NETWORK
    + SLOWNESS
    + NUMBERS
    + SEVERAL
    + ARRAYS
)
