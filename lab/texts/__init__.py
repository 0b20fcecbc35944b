"""What do broken hardware, networks, hosts and programs write into a log?"""

from lab.texts import gpu
from lab.texts.struck import Text

GROUPS: tuple[dict[str, Text], ...] = (gpu.TEXTS,)
