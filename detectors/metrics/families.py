"""Which metrics are asked for, and in how many queries? A fixed number for a cluster, whatever its size.

A query takes one family and leaves out all labels but those that tell one place from another: a row of an answer
takes 120 bytes instead of 350.
"""

from collections.abc import Mapping
from dataclasses import dataclass

XID = "DCGM_FI_DEV_XID_ERRORS"
DBE = "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"
REMAP_FAILURE = "DCGM_FI_DEV_ROW_REMAP_FAILURE"
BROKEN_ROWS = "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS"
RECOVERY = ("DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION", "DCGM_FI_DEV_GPU_RECOVERY_ACTION")
REPLAYS = "DCGM_FI_DEV_PCIE_REPLAY_COUNTER"
THROTTLE = ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS")
NVLINK_ERRORS = (
    "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
    "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL",
    "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL",
    "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL",
)
UTIL, POWER, CLOCK = "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_SM_CLOCK"
TENSOR = "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"
PORT_STATE = "node_infiniband_state_id"
RECEIVED, SENT = (
    "node_infiniband_port_data_received_bytes_total",
    "node_infiniband_port_data_transmitted_bytes_total",
)
LINK_DOWNED = "node_infiniband_link_downed_total"
PORT_ERRORS = (
    "node_infiniband_link_error_recovery_total",
    "node_infiniband_symbol_error_total",
    "node_infiniband_port_errors_received_total",
    "node_infiniband_local_link_integrity_errors_total",
    "node_infiniband_excessive_buffer_overrun_errors_total",
)
MEMORY_LEFT, MEMORY = "node_memory_MemAvailable_bytes", "node_memory_MemTotal_bytes"
STATES = (XID, DBE, REMAP_FAILURE, BROKEN_ROWS, *RECOVERY, REPLAYS, *THROTTLE, *NVLINK_ERRORS)
ACTIVITY = (UTIL, POWER, CLOCK, TENSOR)
HOST = (PORT_STATE, RECEIVED, SENT, LINK_DOWNED, *PORT_ERRORS, MEMORY_LEFT, MEMORY)


@dataclass(frozen=True)
class Labels:
    """Which label holds what: the node of a GPU, its number, the node of an adapter or a host, adapter and port."""

    gpu_node: str
    gpu: str
    node: str
    device: str
    port: str

    @classmethod
    def of(cls, told: Mapping[str, str]) -> "Labels":
        """From stored settings, all present."""
        return cls(told["gpu_node"], told["gpu"], told["node"], told["device"], told["port"])


def queries(labels: Labels, selector: str) -> dict[str, str]:
    """The queries of one turn, by what they ask for: `states`, `activity`, `host`, and before them `ages`.

    `ages`, when it was true: series that carry time stamps of their own outlive their target by 5 minutes.
    """
    gpu, host = (labels.gpu_node, labels.gpu), (labels.node, labels.device, labels.port)
    ages = f"max by ({','.join(gpu)}) (timestamp({UTIL}{_braces('', selector)}))"
    of_hosts = f"max by ({labels.node}) (timestamp({MEMORY}{_braces('', selector)}))"
    return {
        "ages": f"{ages} or {of_hosts}",
        "states": _all_of(STATES, (*gpu, "UUID"), selector),
        "activity": _all_of(ACTIVITY, gpu, selector),
        "host": _all_of(HOST, host, selector),
    }


def _all_of(names: tuple[str, ...], by: tuple[str, ...], selector: str) -> str:
    matcher = f'__name__=~"{"|".join(names)}"'
    return f"max by ({','.join(('__name__', *by))}) ({_braces(matcher, selector)})"


def _braces(matcher: str, selector: str) -> str:
    inside = ",".join(part for part in (matcher, selector.strip().strip(",")) if part)
    return f"{{{inside}}}"
