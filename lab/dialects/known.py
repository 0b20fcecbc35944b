"""Which dialects are there?"""

from lab.dialects.dialect import Dialect
from lab.dialects.megatron import Megatron

DIALECTS: dict[str, Dialect] = {"megatron": Megatron()}
