"""What does a log say about trouble that passes by itself?"""

from lab.texts.struck import Spoken, Struck, Text, say


def retries(struck: Struck) -> tuple[Spoken, ...]:
    """Reads and connections that fail, are tried again for 100 s, and succeed."""
    says = f"[rank{struck.rank}]:"
    return (
        Spoken(0, f"{says} s3 read of shard 00417: ConnectTimeoutError, Retrying (attempt 1) in 20.0 s"),
        Spoken(20, f"{says} s3 read of shard 00417: SlowDown (503), Retrying (attempt 2) in 30.0 s"),
        Spoken(50, f"{says} s3 read of shard 00417: Connection reset by peer, Retrying (attempt 3) in 50.0 s"),
        Spoken(100, f"{says} s3 read of shard 00417: Retry succeeded after 100.0 s"),
    )


def port_flap(struck: Struck) -> tuple[Spoken, ...]:
    """A port of the network goes away and comes back within two seconds; nothing is lost."""
    says = f"{struck.host}:{struck.process}:{struck.process + 81} [{struck.gpu}] NCCL WARN NET/IB :"
    return (
        Spoken(0, f"{says} mlx5_{struck.gpu}:1 Got async event : port error"),
        Spoken(2, f"{says} mlx5_{struck.gpu}:1 Got async event : port active"),
    )


def corrected(struck: Struck) -> tuple[Spoken, ...]:
    """Corrected errors of memory and PCI Express, some hundred in a minute, none of them lost."""
    host = struck.host
    lines = []
    for place in range(60):
        lines += [
            f"{host}: EDAC MC0: {place % 3 + 1} CE memory scrubbing error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 "
            f"(channel:1 page:0x{0x1F0000 + place:x} offset:0x0 grain:32 - Correctable)",
            f"{host}: pcieport 0000:3b:00.0: AER: Multiple Corrected error received: 0000:3c:00.0",
            f"{host}: nvidia 0000:3c:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Receiver ID)",
            f"{host}: nvidia 0000:3c:00.0:    [ 6] BadTLP",
        ]
    return tuple(Spoken(place * 0.25, line) for place, line in enumerate(lines))


def polled(struck: Struck) -> tuple[Spoken, ...]:
    """NCCL's RAS is asked every 15 s: one rank is a few operations late each time, and never stands still."""
    lines: list[Spoken] = []
    for poll in range(4):
        lines += say(
            15 * poll,
            "#0-0 (27a079b828ff1a75) MISMATCH",
            "  Communicator ranks have different AllReduce operation counts",
            f"  {struck.ranks - 1} ranks have launched up to operation {6650 + 90 * poll}",
            f"  Rank {struck.rank} has launched up to operation {6648 + 90 * poll} -- GPU {struck.gpu} managed by "
            f"process {struck.process} on node {struck.host}",
        )
    return tuple(lines)


def cancelled_everywhere(struck: Struck) -> tuple[Spoken, ...]:
    """XID 45 on every GPU of every node: the driver cleans up behind processes that were ended (trap 10)."""
    lines = []
    for rank in range(struck.ranks):
        bus, process = struck.bus_of(struck.gpu_of(rank)), struck.process_of(rank)
        lines.append(
            f"{struck.host_of(rank)}: NVRM: Xid (PCI:{bus}): 45, pid={process}, name=python3, "
            f"Ch {rank % 8 + 8:08x}, errorString CTX SWITCH TIMEOUT, Info 0x{rank:x}c002"
        )
    return tuple(Spoken(0.02 * place, line) for place, line in enumerate(lines))


TEXTS: dict[str, Text] = {
    "polled": polled,
    "retries": retries,
    "port_flap": port_flap,
    "corrected": corrected,
    "cancelled_everywhere": cancelled_everywhere,
}
