"""What do the NVIDIA driver and CUDA say when a GPU breaks?"""

from lab.texts.struck import Spoken, Struck, Text, say

NEWER = "torch.AcceleratorError"  # as PyTorch names errors of CUDA from 2.8 on


def xid(struck: Struck, code: int, says: str, gpu: int | None = None) -> str:
    """One line of the driver as the kernel log of the node shows it."""
    gone = gpu is not None and gpu != struck.gpu
    by = "pid='<unknown>', name=<unknown>" if gone else f"pid={struck.process}, name=python3"
    return f"{struck.host}: NVRM: Xid (PCI:{struck.bus_of(gpu)}): {code}, {by}, {says}"


def cuda_error(struck: Struck, error: str, after: float, kind: str = "RuntimeError") -> tuple[Spoken, ...]:
    """The traceback that ends the rank: the driver's error reaches Python at the next CUDA call."""
    says = f"[rank{struck.rank}]:"
    return say(
        after,
        f"{says} Traceback (most recent call last):",
        f'{says}   File "/opt/train/pretrain.py", line 214, in <module>',
        f"{says}     main(arguments)",
        f'{says}   File "/opt/train/loop.py", line 96, in step',
        f"{says}     loss = self.model(tokens, labels)",
        f"{says} {kind}: CUDA error: {error}",
        f"{says} CUDA kernel errors might be asynchronously reported at some other API call, "
        "so the stacktrace below might be incorrect.",
        f"{says} For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
    )


def ecc(struck: Struck) -> tuple[Spoken, ...]:
    """A double-bit error that the driver remaps: Xid 48, 63 and 95, then the rank's own error."""
    dbe = "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer."
    return (
        *say(0, xid(struck, 48, dbe)),
        *say(0, xid(struck, 63, "Row Remapper: New row (0x000000001a4c7f20) marked for remapping.")),
        *say(0.1, xid(struck, 95, "Uncontained ECC error detected. Reset of the GPU is required.")),
        *cuda_error(struck, "uncorrectable ECC error encountered", 0.4),
    )


def off_the_bus(struck: Struck) -> tuple[Spoken, ...]:
    """The GPU no longer answers on PCI Express: Xid 79."""
    number = f"GPU-5d0c1f0e-{struck.rank:04x}-8c1a-{struck.job:012x}"
    return (
        *say(0, f"{struck.host}: NVRM: GPU at PCI:{struck.bus_of()}: {number}"),
        *say(0, xid(struck, 79, "GPU has fallen off the bus.")),
        *say(0, f"{struck.host}: NVRM: GPU {struck.bus_of()}.0: GPU has fallen off the bus."),
        *cuda_error(struck, "unspecified launch failure", 0.6),
    )


def illegal_access(struck: Struck) -> tuple[Spoken, ...]:
    """A kernel of the program reads where nothing is: Xid 31, and 43 and 45 as its consequences."""
    fault = "Ch 00000016, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_4 faulted @ 0x7e31_8fa04000."
    return (
        *say(0, xid(struck, 31, f"{fault} Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ")),
        *cuda_error(struck, "an illegal memory access was encountered", 0.3),
        *say(1.2, xid(struck, 43, "Ch 00000016")),
        *say(1.3, *(xid(struck, 45, f"Ch 000000{16 + gpu:02x}", gpu) for gpu in range(struck.gpus))),
    )


def graphics_exception(struck: Struck) -> tuple[Spoken, ...]:
    """A burst of Xid 13 from one kernel of the program, on one GPU."""
    burst = [
        xid(
            struck,
            13,
            f"Graphics SM Warp Exception on (GPC {group}, TPC {unit}, SM {unit % 2}): Out Of Range Address",
        )
        for group in (1, 4)
        for unit in (0, 2, 5)
    ]
    register = "Graphics Exception: ESR 0x52f730=0x201000e 0x52f734=0x20 0x52f728=0xc81eb60"
    return (
        *say(0, *burst, xid(struck, 13, register)),
        *cuda_error(struck, "an illegal memory access was encountered", 0.5),
        *say(1.4, xid(struck, 43, "Ch 0000001e")),
    )


def contained_memory_error(struck: Struck) -> tuple[Spoken, ...]:
    """Xid 94: only the process that touched the page dies, and the node may be used again."""
    return (
        *say(0, xid(struck, 94, "Contained: SM (0x1). RST: No, D-RST: No")),
        *say(0.1, xid(struck, 63, "Row Remapper: New row (0x0000000007d0e1c4) marked for remapping.")),
        *cuda_error(struck, "uncorrectable ECC error encountered", 0.5, NEWER),
    )


def remapping_failure(struck: Struck) -> tuple[Spoken, ...]:
    """Xid 64: no spare row is left for a broken one."""
    return (
        *say(
            0, xid(struck, 64, "Row Remapper Error: (0x0000000114b82a60) - All reserved rows for bank are remapped")
        ),
        *say(0, xid(struck, 154, "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")),
        *cuda_error(struck, "uncorrectable ECC error encountered", 0.7),
    )


def controller_halt(struck: Struck) -> tuple[Spoken, ...]:
    """Xid 62: the micro-controller of the GPU stopped."""
    words = "2027(0x1b04) 00000000 00000000"
    return (*say(0, xid(struck, 62, words)), *cuda_error(struck, "unspecified launch failure", 2.1))


def firmware_timeout(struck: Struck) -> tuple[Spoken, ...]:
    """Xid 119 again and again: the firmware of the GPU does not answer; every call into the driver hangs."""
    asked = ("76 (GSP_RM_CONTROL) (0x20800a4c 0x4)", "103 (GSP_RM_ALLOC) (0x0 0x6c)", "10 (FREE) (0xa55a0020 0x0)")
    lines = [
        Spoken(
            45.0 * place,
            xid(
                struck,
                119,
                f"Timeout after 45s of waiting for RPC response from GPU{struck.gpu} GSP! Expected {what}.",
            ),
        )
        for place, what in enumerate(asked)
    ]
    crash = f"{struck.host}: NVRM: GPU{struck.gpu} GSP RPC buffer contains function {asked[0][:2]} and no reply."
    return (*lines, *say(90.0, crash))


def firmware_error(struck: Struck) -> tuple[Spoken, ...]:
    """Xid 120: the firmware of the GPU crashed, and the driver says what would help."""
    task = "GSP task exception: illegal load (cause:0x5) @ pc:0x1a8f12e, partition:4#0, task:3"
    return (
        *say(0, xid(struck, 120, task)),
        *say(0, xid(struck, 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")),
        *cuda_error(struck, "unknown error", 1.5),
    )


def lost_in_listing(struck: Struck) -> tuple[Spoken, ...]:
    """A health check that runs nvidia-smi finds the GPU gone; the program only sees a failure."""
    address = struck.bus_of().upper()
    return (
        *cuda_error(struck, "unspecified launch failure", 0),
        *say(
            4.0,
            f"{struck.host}: Unable to determine the device handle for GPU{address}.0: GPU is lost.  "
            "Reboot the system to recover this GPU",
        ),
    )


def link_error(struck: Struck) -> tuple[Spoken, ...]:
    """Xid 74 from both ends of an NVLink, then CUDA's own word for it."""
    peer = (struck.gpu + 1) % struck.gpus
    registers = "0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0"
    return (
        *say(0, xid(struck, 74, f"NVLink: fatal error detected on link 11({registers})")),
        *say(0.1, xid(struck, 74, f"NVLink: fatal error detected on link 4({registers})", peer)),
        *cuda_error(struck, "uncorrectable NVLink error detected during the execution", 0.5),
    )


def switch_fatal(struck: Struck) -> tuple[Spoken, ...]:
    """An NVSwitch gives up: a fatal SXid, its register words, and the fabric manager's line."""
    at = f"{struck.host}: nvidia-nvswitch2: SXid (PCI:0000:c4:00.0):"
    return (
        *say(
            0,
            f"{at} 22003, Fatal, Link 41 ingress response data parity error",
            f"{at} 22003, Severity 1 Engine instance 41 Sub-engine instance 00",
            f"{at} 22003, Data {{0x00000400, 0x00000000, 0x00000000, 0x00000000}}",
            f"{struck.host}: [ERROR] [tid 8841] detected NVSwitch fatal error 22003 on fid 0 on NVSwitch pci "
            "bus id 00000000:c4:00.0 physical id 2 port 41",
        ),
        *say(0.2, *(xid(struck, 45, f"Ch 000000{8 + gpu:02x}", gpu) for gpu in range(struck.gpus))),
        *cuda_error(struck, "uncorrectable NVLink error detected during the execution", 0.6),
    )


def blackwell_link(struck: Struck) -> tuple[Spoken, ...]:
    """Xid 149 with sub-code 4: the signal of this end's link is bad (attribution.md 4.1b)."""
    words = "(0x004a0cc6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)"
    return (
        *say(0, xid(struck, 149, f"NETIR_LINK_EVT Link Fatal XC0 i0 Link 13 {words}")),
        *say(0.2, xid(struck, 45, "Ch 0000000d")),
        *cuda_error(struck, "uncorrectable NVLink error detected during the execution", 0.7),
    )


TEXTS: dict[str, Text] = {
    "ecc": ecc,
    "off_the_bus": off_the_bus,
    "illegal_access": illegal_access,
    "graphics_exception": graphics_exception,
    "contained_memory_error": contained_memory_error,
    "remapping_failure": remapping_failure,
    "controller_halt": controller_halt,
    "firmware_timeout": firmware_timeout,
    "firmware_error": firmware_error,
    "lost_in_listing": lost_in_listing,
    "link_error": link_error,
    "switch_fatal": switch_fatal,
    "blackwell_link": blackwell_link,
}
