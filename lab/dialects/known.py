"""Which dialects are there?"""

from lab.dialects.composer import Composer
from lab.dialects.deepspeed import DeepSpeed
from lab.dialects.dialect import Dialect
from lab.dialects.huggingface import HuggingFace
from lab.dialects.megatron import Megatron
from lab.dialects.nemo import Nemo
from lab.dialects.plain import Plain
from lab.dialects.torchtitan import Torchtitan

DIALECTS: dict[str, Dialect] = {
    "megatron": Megatron(),
    "nemo": Nemo(),
    "deepspeed": DeepSpeed(),
    "huggingface": HuggingFace(),
    "torchtitan": Torchtitan(),
    "composer": Composer(),
    "plain": Plain(),
}
