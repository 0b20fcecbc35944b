"""What do the NVIDIA driver and CUDA say when a GPU breaks?"""

from lab.texts.struck import Spoken, Struck, Text, say


def xid(struck: Struck, code: int, says: str, gpu: int | None = None) -> str:
    """One line of the driver as the kernel log of the node shows it."""
    gone = gpu is not None and gpu != struck.gpu
    by = "pid='<unknown>', name=<unknown>" if gone else f"pid={struck.process}, name=python3"
    return f"{struck.host}: NVRM: Xid (PCI:{struck.bus_of(gpu)}): {code}, {by}, {says}"


def cuda_error(struck: Struck, error: str, after: float) -> tuple[Spoken, ...]:
    """The traceback that ends the rank: the driver's error reaches Python at the next CUDA call."""
    says = f"[rank{struck.rank}]:"
    return say(
        after,
        f"{says} Traceback (most recent call last):",
        f'{says}   File "/opt/train/pretrain.py", line 214, in <module>',
        f"{says}     main(arguments)",
        f'{says}   File "/opt/train/loop.py", line 96, in step',
        f"{says}     loss = self.model(tokens, labels)",
        f"{says} RuntimeError: CUDA error: {error}",
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


TEXTS: dict[str, Text] = {"ecc": ecc, "off_the_bus": off_the_bus}
