"""What do broken hardware, networks, hosts and programs write into a log, and what only looks like that?"""

from lab.texts import cascades, gpu, host, lookalikes, network, passing, programs, rhythms, wanting
from lab.texts.struck import Text

BREAKING: tuple[dict[str, Text], ...] = (gpu.TEXTS, network.TEXTS, cascades.TEXTS, host.TEXTS, programs.TEXTS)
HARMLESS: tuple[dict[str, Text], ...] = (lookalikes.TEXTS, passing.TEXTS, rhythms.TEXTS, wanting.TEXTS)
GROUPS = BREAKING + HARMLESS
