"""What does a health event prove? Its code or, where it has none that the catalogue knows, its component.

An event is somebody else's judgement: it is believed with what its sender says of it, never derived again. Only
what its sender calls fatal may be a cause; everything else confirms what a log says.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.layer import Layer
from detectors.catalogue.metric_signals import SIGNALS, SOURCE
from detectors.catalogue.role import Role

BASIS = "event"
"""What the time of a symptom was read from, when somebody outside the job told of it."""
FOLLOWED = "nvsentinel"
"""The form in which a checker of nodes reports; the other one (`alertmanager`) carries rules of a site."""
SURE, LESS_SURE = 0.85, 0.75
"""Of a fatal event without a known code. A site's own rule is not enough to leave a node out (decisions 20): it
takes a second witness."""
HARMLESS = frozenset({"NONE", "RESTART_APP"})  # what is advised where the node is not at fault
_XID = re.compile(r"\A(?:xid)?[\s_:#-]{0,3}(\d{1,4})\Z", re.IGNORECASE)
_NO_WORD = re.compile(r"[^a-z0-9]+")
LONG = 6  # letters of a word that is found inside of others, too: GpuNvLinkDown
_WORDS = re.compile(r"[a-z]+[0-9]*")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
COMPONENTS: tuple[tuple[Layer, frozenset[str]], ...] = (
    (Layer.HARDWARE_NVLINK, frozenset({"nvlink", "nvswitch", "fabric", "fabricmanager", "sxid"})),
    (Layer.HARDWARE_GPU, frozenset({"gpu", "gpus", "xid", "dcgm", "nvml"})),
    (
        Layer.HARDWARE_NETWORK,
        frozenset({"nic", "network", "infiniband", "ib", "rdma", "roce", "mlx5", "hca", "ethernet"}),
    ),
    (
        Layer.HARDWARE_HOST,
        frozenset(
            {"node", "host", "cpu", "memory", "dimm", "edac", "mce", "pcie", "disk", "nvme", "syslog", "power"}
        ),
    ),
)
"""Words of a component, the first row with one of them tells the layer; what has none is no hardware."""
SHORT = {
    Layer.HARDWARE_NVLINK: "nvlink",
    Layer.HARDWARE_GPU: "gpu",
    Layer.HARDWARE_NETWORK: "network",
    Layer.HARDWARE_HOST: "host",
}


@dataclass(frozen=True)
class Proof:
    """What a health event stands for in the search for a cause: the words of a signature."""

    signature: str
    layer: Layer
    role: Role
    confidence: float
    action: str

    @property
    def of_hardware(self) -> bool:
        """Whether broken hardware is told, surely enough to be a cause by itself."""
        return self.role is Role.ROOT and (self.layer in SHORT or self.layer is Layer.SYSTEM_DRIVER)


def proof_of(
    *, check: str, component: str, fatal: bool, codes: Sequence[str], advised: str = "", source: str = FOLLOWED
) -> Proof:
    """What an event with these fields proves. An event that is not fatal only confirms."""
    if source == SOURCE and check in SIGNALS and not codes:
        return _by_signal(check, fatal=fatal)
    layer = layer_of(component) or layer_of(check)
    known = _by_code(codes) if layer in (None, Layer.HARDWARE_GPU, Layer.HARDWARE_NVLINK) else None
    if known is not None:
        return known if fatal else Proof(known.signature, known.layer, Role.CONFIRM, known.confidence, "none")
    sure = SURE if source == FOLLOWED else LESS_SURE
    if layer is None:
        return Proof("health.other", Layer.UNKNOWN, Role.CONFIRM, sure, "none")
    signature = f"health.{SHORT[layer]}"
    if not fatal or advised in HARMLESS:
        return Proof(signature, layer, Role.CONFIRM, sure, "none")
    return Proof(signature, layer, Role.ROOT, sure, "restart_exclude")


def _by_signal(check: str, *, fatal: bool) -> Proof:
    told = SIGNALS[check]
    root = fatal and told.fatal
    action = "restart_exclude" if root else "none"
    return Proof(told.id, told.layer, Role.ROOT if root else Role.CONFIRM, told.confidence, action)


def layer_of(text: str) -> Layer | None:
    """The hardware that words such as `GpuXidError` or `InfiniBand` speak of; `None` for anything else."""
    words = set(_WORDS.findall(_CAMEL.sub(" ", text[:255]).lower()))
    words |= set(_WORDS.findall(text[:255].lower()))
    run_together = _NO_WORD.sub("", text[:255].lower())
    for layer, known in COMPONENTS:
        if words & known or any(len(word) >= LONG and word in run_together for word in known):
            return layer
    return None


def _by_code(codes: Sequence[str]) -> Proof | None:
    """The strongest of the codes that are GPU codes of the catalogue."""
    found = []
    for code in codes:
        match = _XID.match(code)
        name = f"xid.{int(match[1])}" if match else ""
        if name and catalogue().knows(name):
            entry = catalogue().signature(name)
            found.append(Proof(name, entry.layer, entry.role, entry.confidence, entry.action))
    return max(found, key=lambda one: (one.role is Role.ROOT, one.confidence, one.signature), default=None)
