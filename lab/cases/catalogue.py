"""Which cases does the lab know?"""

from lab.cases.case import Case
from lab.cases.faults import FAULTS
from lab.cases.traps import TRAPS

CASES: tuple[Case, ...] = FAULTS + TRAPS
