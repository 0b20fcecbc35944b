"""What do NCCL and the kernel say when a port, a cable or a peer is broken?"""

from collections.abc import Sequence

from lab.dialects.dialect import steady
from lab.texts.ends import torn_down
from lab.texts.struck import Spoken, Struck, Text, say

EXITED = "Exited with exit code 1"
REPORTERS = 6  # hosts that speak of a dead peer; the others only see their own collectives fail


def warns(struck: Struck, rank: int, source: str, says: str) -> tuple[str, str]:
    """A warning of NCCL as a rank prints it: NCCL puts an empty line before it."""
    process = struck.process_of(rank)
    who = f"{struck.host_of(rank)}:{process}:{process + 91} [{struck.gpu_of(rank)}]"
    return "", f"{who} {source} NCCL WARN {says}"


def informs(struck: Struck, rank: int, says: str) -> str:
    """A line of NCCL at level INFO."""
    process = struck.process_of(rank)
    return f"{struck.host_of(rank)}:{process}:{process + 91} [{struck.gpu_of(rank)}] NCCL INFO {says}"


def card(rank: int, gpus: int) -> str:
    """The network card beside a GPU."""
    return f"mlx5_{rank % gpus}"


def addresses(struck: Struck) -> tuple[Spoken, ...]:
    """One more communicator is set up: the first rank of every node tells its address."""
    return tuple(
        line
        for host in struck.nodes
        for line in say(
            0, informs(struck, struck.first_rank(host), f"Bootstrap: Using ib0:{struck.address(host)}<0>")
        )
    )


def failed_calls(struck: Struck, ranks: Sequence[int], after: float, version: str = "2.26.2") -> tuple[Spoken, ...]:
    """What PyTorch makes of it in the ranks that noticed: a cause is not among the words."""
    lines: list[Spoken] = []
    for place, rank in enumerate(ranks):
        head = f"[rank{rank}]: torch.distributed.DistBackendError: NCCL error in: "
        says = "/pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:3384, remote process exited or there "
        lines += say(
            after + 0.03 * place,
            f"{head}{says}was a network error, NCCL version {version}",
            f"[rank{rank}]: ncclRemoteError: A call failed possibly due to a network error or a remote process "
            f"exiting prematurely. (rank {rank})",
        )
    return tuple(lines)


def _elsewhere(struck: Struck, most: int) -> list[int]:
    """One rank of each of up to `most` other nodes, with the same card as the struck one."""
    hosts = [host for host in struck.nodes if host != struck.host][:most]
    return [struck.first_rank(host) + struck.gpu for host in hosts]


def _completion(struck: Struck, rank: int, peer: str) -> tuple[str, str]:
    port = 34_000 + int(steady(struck.job, rank, peer) * 20_000)
    says = (
        f"NET/IB: Got completion from peer {struck.address(peer)}<{port}> with status=IBV_WC_RETRY_EXC_ERR(12) "
        f"opcode=IBV_WC_RDMA_WRITE(1) vendor_err=129 localGid fe80::{rank:x} remoteGids fe80::{port:x} "
        f"hca {card(rank, struck.gpus)}"
    )
    return warns(struck, rank, "transport/net_ib.cc:2061", says)


def _completion_in_218(struck: Struck, rank: int, peer: str) -> tuple[str, str]:
    port = 34_000 + int(steady(struck.job, rank, peer) * 20_000)
    says = f"NET/IB : Got completion from peer {struck.address(peer)}<{port}> with error 12, opcode 0, len 0, "
    return warns(struck, rank, "transport/net_ib.cc:1295", f"{says}vendor err 129 (Send)")


def completion_errors(struck: Struck) -> tuple[Spoken, ...]:
    """Several hosts report status 12 to one peer, the struck node, which itself says nothing."""
    reporters = _elsewhere(struck, REPORTERS)
    lines = list(addresses(struck))
    for place, rank in enumerate(reporters):
        lines += say(7.1 + 0.2 * place, *_completion(struck, rank, struck.host))
        flushed = (
            f"NET/IB: Got completion from peer {struck.address(struck.host)}<51{place:03d}> with "
            "status=IBV_WC_WR_FLUSH_ERR(5) opcode=IBV_WC_SEND(0) vendor_err=249"
        )
        lines += say(7.2 + 0.2 * place, *warns(struck, rank, "transport/net_ib.cc:2061", flushed))
    return (*lines, *failed_calls(struck, reporters, 9.5), *torn_down(struck, reporters, EXITED, 11.0))


def port_down(struck: Struck) -> tuple[Spoken, ...]:
    """The port of the struck node goes down for good: it reports all of its peers."""
    hca = card(struck.rank, struck.gpus)
    others = [struck.host_of(rank) for rank in _elsewhere(struck, REPORTERS)]
    lines = [
        *addresses(struck),
        *say(2.0, f"{struck.host}: mlx5_core 0000:{struck.gpu + 0x41:02x}:00.0 ib{struck.gpu}: Link down"),
        *say(
            2.1,
            *warns(struck, struck.rank, "transport/net_ib.cc:92", f"NET/IB : {hca}:1 Got async event : port error"),
        ),
    ]
    for place, peer in enumerate(others):
        lines += say(9.2 + 0.1 * place, *_completion(struck, struck.rank, peer))
    return (*lines, *failed_calls(struck, [struck.rank, *_elsewhere(struck, REPORTERS)], 10.5))


def port_flap(struck: Struck) -> tuple[Spoken, ...]:
    """The port of the struck node goes down and comes up again, too late for what was on its way."""
    hca = card(struck.rank, struck.gpus)
    others = [struck.host_of(rank) for rank in _elsewhere(struck, 3)]
    event = f"NET/IB : {hca}:1 Got async event : port"
    lines = [
        *addresses(struck),
        *say(1.5, *warns(struck, struck.rank, "transport/net_ib.cc:101", f"{event} error")),
    ]
    for place, peer in enumerate(others):
        lines += say(8.6 + 0.1 * place, *_completion_in_218(struck, struck.rank, peer))
    lines += say(9.4, *warns(struck, struck.rank, "transport/net_ib.cc:101", f"{event} active"))
    return (*lines, *failed_calls(struck, [struck.rank, *_elsewhere(struck, 3)], 10.0, "2.18.1"))


def card_broken(struck: Struck) -> tuple[Spoken, ...]:
    """The network card itself fails: a fatal event in NCCL and the driver's health poll in the kernel log."""
    pci = f"0000:{struck.gpu + 0x51:02x}:00.0"
    hca = card(struck.rank, struck.gpus)
    event = f"NET/IB : {hca}:1 async fatal event: device fatal"
    return (
        *say(0, f"{struck.host}: mlx5_core {pci}: poll_health:1052:(pid 0): device's health compromised"),
        *say(
            0, f"{struck.host}: mlx5_core {pci}: print_health_info:431:(pid 0): synd 0x1: firmware internal error"
        ),
        *say(0.4, *warns(struck, struck.rank, "transport/net_ib.cc:131", event)),
        *failed_calls(struck, [struck.rank, *_elsewhere(struck, 4)], 7.9),
    )


def remote_exited(struck: Struck) -> tuple[Spoken, ...]:
    """One process dies of a segmentation fault; everybody else only sees the connection to it close."""
    died = f"[{struck.host}:{struck.process}:0:{struck.process + 44}] Caught signal 11 (Segmentation fault: "
    others = [rank for rank in struck.others() if struck.host_of(rank) != struck.host][: 4 * struck.gpus]
    lines = [*say(0, f"{died}address not mapped to object at address 0x28)")]
    for place, rank in enumerate(others[:: struck.gpus]):
        closed = f"socketProgress: Connection closed by remote peer {struck.host}<{40_000 + rank}>"
        lines += say(0.8 + 0.1 * place, *warns(struck, rank, "misc/socket.cc:58", closed))
    return (*lines, *failed_calls(struck, others, 1.6))


TEXTS: dict[str, Text] = {
    "completion_errors": completion_errors,
    "port_down": port_down,
    "port_flap_late": port_flap,
    "card_broken": card_broken,
    "remote_exited": remote_exited,
}
