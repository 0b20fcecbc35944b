"""What does each metric signal prove? (reference, 4.18)

A signal that is fatal proves broken hardware by itself. All others only confirm what a log or the scheduler tells;
those that `warn` are told of while an attempt trains, and those that `slow` name who holds up a slow attempt.
"""

from dataclasses import dataclass

from detectors.catalogue.layer import Layer

SOURCE = "prometheus"
"""As `HealthEvent.source` of what metrics tell."""
XID = "m.xid"
SPIN, RDMA_ZERO = "m.spin", "m.rdma_zero"


@dataclass(frozen=True)
class MetricSignal:
    """A row. `confidence`: of the reference; below 0.8 where a node may not be left out for it alone."""

    id: str
    says: str
    layer: Layer
    confidence: float
    fatal: bool = False
    warns: bool = False
    slows: bool = False


SIGNALS = {
    one.id: one
    for one in (
        # Its meaning is that of its code; this row speaks for a code that nobody knows.
        MetricSignal(XID, "reports XID", Layer.HARDWARE_GPU, 0.75),
        MetricSignal("m.dbe", "uncorrectable ECC errors rise", Layer.HARDWARE_GPU, 0.97, fatal=True, warns=True),
        MetricSignal("m.remap_fail", "memory rows break", Layer.HARDWARE_GPU, 0.95, fatal=True, warns=True),
        MetricSignal("m.recovery", "the driver wants a reset", Layer.HARDWARE_GPU, 0.97, fatal=True, warns=True),
        MetricSignal("m.gone", "fewer GPUs than usual", Layer.HARDWARE_GPU, 0.75),
        MetricSignal("m.throttle", "the clock is held down", Layer.HARDWARE_GPU, 0.75, warns=True, slows=True),
        MetricSignal("m.sm_clock", "slower than its peers", Layer.HARDWARE_GPU, 0.75, slows=True),
        MetricSignal("m.pcie_replay", "the PCIe link repeats", Layer.HARDWARE_HOST, 0.7, warns=True, slows=True),
        MetricSignal("m.nvlink_err", "NVLink errors rise", Layer.HARDWARE_NVLINK, 0.7, warns=True, slows=True),
        MetricSignal("m.nic_err", "errors of the port rise", Layer.HARDWARE_NETWORK, 0.75, warns=True, slows=True),
        MetricSignal("m.nic_down", "the port is down", Layer.HARDWARE_NETWORK, 0.92, fatal=True, warns=True),
        MetricSignal("m.host_mem", "the memory is full", Layer.SYSTEM_MEMORY, 0.75),
    )
}
"""By id. Those of a whole attempt (`m.spin`, `m.rdma_zero`) are a fact of it: `detectors.catalogue.gpu_use`."""
