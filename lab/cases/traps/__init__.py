"""Where is it right to do nothing? Situations that look like failures and are none."""

from lab.cases.case import Case
from lab.cases.traps.blindness import BLINDNESS
from lab.cases.traps.hostile import HOSTILE
from lab.cases.traps.pace import PACE
from lab.cases.traps.pauses import PAUSES
from lab.cases.traps.people import PEOPLE
from lab.cases.traps.words import WORDS

TRAPS: tuple[Case, ...] = PAUSES + WORDS + PEOPLE + BLINDNESS + HOSTILE + PACE
