"""Is a broken driver, adapter or launcher told by the words of its own library, and a healthy one left alone?"""

import pytest

from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from tests.detectors.diagnosing.test_folding import judged

NCCL = "gpu-05:983:1261 [3] "
FLUSHED = (
    NCCL
    + "NCCL WARN NET/IB : Got completion from peer 10.4.1.22<55921> with status=5 opcode=0 len=0 vendor err 249"
)

BROKEN: dict[str, tuple[Layer, list[str]]] = {
    "a GPU's processor without a heartbeat": (
        Layer.SYSTEM_DRIVER,
        ["NVRM: GPU3 _kgspIsHeartbeatTimedOut: Heartbeat timed out, currentTimeMs 90210 heartbeat 80000"],
    ),
    "channels removed after an error of NVLink": (
        Layer.HARDWARE_NVLINK,
        ["NVRM: Xid (PCI:0000:4e:00): 45, pid=90112, name=train, Ch 00000007 caused by previous Xid 145"],
    ),
    "channels removed after an error of the program": (
        Layer.APPLICATION,
        ["NVRM: Xid (PCI:0000:4e:00): 45, pid=90112, name=train, Ch 00000007 caused by previous Xid 31"],
    ),
    "a fabric manager that does not start": (
        Layer.SYSTEM_DRIVER,
        ["May  1 10:00:00 gpu-03 systemd[1]: nvidia-fabricmanager.service: Failed with result 'exit-code'."],
    ),
    "multicast over NVLink refused": (
        Layer.SYSTEM_DRIVER,
        [
            "ncclUnhandledCudaError: Call to CUDA function failed.",
            "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 4096 : CUDA error 401 'not permitted'.",
        ],
    ),
    "memory that ran out while multicast was set up": (
        Layer.APPLICATION,
        [NCCL + "transport/nvls.cc:301 NCCL WARN Cuda failure 2 'out of memory'"],
    ),
    "an error that NCCL passes on from CUDA": (
        Layer.SYSTEM_DRIVER,
        [NCCL + "init.cc:263 NCCL WARN Cuda failure 3 'initialization error'"],
    ),
    "libfabric without a domain": (
        Layer.SYSTEM_DRIVER,
        [NCCL + "component:459 NCCL WARN NET/OFI Couldn't open domain. RC: -22, ERROR: Invalid argument"],
    ),
    "UCX that cannot register memory, in the words of a file that cannot be read": (
        Layer.SYSTEM_DRIVER,
        [
            "[1790000000.10] [gpu-03:4711:0] ib_md.c:282 UCX  ERROR ibv_reg_mr(address=0x3) failed: Bad address",
            "[1790000000.11] [gpu-03:4711:0] req.c:5 UCX  ERROR failed to register user buffer: Input/output error",
        ],
    ),
    "nothing but flushed work": (Layer.HARDWARE_NETWORK, [FLUSHED, FLUSHED]),
    "MPI that passes on an error of the network": (
        Layer.HARDWARE_NETWORK,
        [
            "MPICH ERROR [Rank 3] [job id 7.0] [Fri May  1 10:00:00 2026] [gpu-03] - Abort(8) (rank 3 in comm 0): "
            "Fatal error in PMPI_Init: Other MPI error, error stack:",
            "MPIDI_OFI_mpi_init_hook(599): OFI fi_open domain failed (ofi_init.c:599:MPIDI_OFI_mpi_init_hook:no)",
        ],
    ),
    "MPI that says no more": (Layer.FRAMEWORK_COMM, ["[gpu-03:11363] *** An error occurred in MPI_Allreduce"]),
    "a launcher's daemon of Open MPI 5": (
        Layer.HARDWARE_HOST,
        ["  Remote daemon: [prterun-gpu-01-4711@0,1] on node gpu-03"],
    ),
    "a kernel of an AMD GPU": (Layer.APPLICATION, ["RuntimeError: HIP error: unspecified launch failure"]),
    "a machine check": (
        Layer.HARDWARE_HOST,
        ["mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 7: be00000000800400"],
    ),
    "a machine check of an AMD processor": (
        Layer.HARDWARE_HOST,
        ["[Hardware Error]: CPU:6 (19:1:1) MC14_STATUS[Over|UE|MiscV|AddrV|PCC|-|-]: 0xfea00000000c0135"],
    ),
}
HEALTHY = {
    "a corrected machine check": [
        "mce: [Hardware Error]: Machine check events logged",
        "mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 7: 8c00004000010091",
        "mce: [Hardware Error]: TSC 0 ADDR 4a0d75900 MISC 21405cdc86",
        "mce: [Hardware Error]: PROCESSOR 0:50654 TIME 1790000000 SOCKET 0 APIC 0 microcode 2006906",
    ],
    "an error that firmware corrected": [
        "{4}[Hardware Error]: It has been corrected by h/w and requires no further action",
        "{4}[Hardware Error]: event severity: corrected",
    ],
    "an older form of a corrected machine check": ["CPU 0: Machine Check Exception: 0 Bank 5: 8c00004000010090"],
    "a fabric manager that starts": [
        "May  1 10:00:00 gpu-03 systemd[1]: Started nvidia-fabricmanager.service - NVIDIA fabric manager service."
    ],
    "multicast that is used": [NCCL + "NCCL INFO NVLS multicast support is available on dev 3"],
    "a link that is up": ["bnxt_en 0000:c1:00.0 ens3f0np0: NIC Link is Up, 200000 Mbps full duplex"],
    "UCX that looks for a transport": [
        "[1790000000.12] [gpu01:33110:0] ucp.c:9 UCX  INFO connect(fd=57) in progress"
    ],
}


@pytest.mark.parametrize(("layer", "lines"), BROKEN.values(), ids=BROKEN)
def test_the_layer_is_told(layer: Layer, lines: list[str]) -> None:
    _found, diagnosis = judged(lines)
    assert not diagnosis.nothing
    assert diagnosis.judgement.layer is layer


@pytest.mark.parametrize("lines", HEALTHY.values(), ids=HEALTHY)
def test_what_is_healthy_is_quiet(lines: list[str]) -> None:
    _found, diagnosis = judged(lines)
    assert diagnosis.nothing
    assert diagnosis.judgement.kind is not AnomalyKind.HANG
