"""How do the ranks wait for each other? As in a collective: nobody goes on before everybody has arrived."""

import contextlib
import socket
import struct
import time
from typing import Protocol

FRAME = struct.Struct("!q")
PAIR = "[../third_party/gloo/gloo/transport/tcp/pair.cc:534]"
BUFFER = "[../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78]"


class Meeting(Protocol):
    """What every engine offers."""

    def meet(self, step: int) -> int:
        """Wait for all ranks; returns the smallest step of all. `RuntimeError` when one has gone or is too late."""


class Collective:
    """A barrier over TCP: rank 0 gathers everybody's step and answers with the smallest.

    A rank that is stopped, dead or late keeps all others waiting, exactly as an all-reduce does; after
    `timeout_seconds` (`None`: never) whoever waits gives up. Errors are worded as gloo words them.
    """

    def __init__(
        self,
        rank: int,
        world: int,
        address: tuple[str, int],
        wait_seconds: float = 30.0,
        timeout_seconds: float | None = None,
    ) -> None:
        self._rank = rank
        self._timeout = timeout_seconds
        self._peers: list[socket.socket] = []
        self._names: dict[socket.socket, str] = {}
        if world == 1:
            return
        if rank == 0:
            with listen(address) as server:
                self._gather(server, world, wait_seconds)
        else:
            self._peers = [_connect(address, wait_seconds)]
        for peer in self._peers:
            peer.settimeout(timeout_seconds)
            self._names[peer] = "[{}]:{}".format(*peer.getpeername()[:2])

    def meet(self, step: int) -> int:
        """Wait for all ranks; returns the smallest step of all."""
        if self._rank == 0:
            smallest = min([step, *(self._receive(peer) for peer in self._peers)])
            for peer in self._peers:
                self._send(peer, smallest)
            return smallest
        if not self._peers:
            return step
        self._send(self._peers[0], step)
        return self._receive(self._peers[0])

    def _gather(self, server: socket.socket, world: int, wait_seconds: float) -> None:
        server.settimeout(wait_seconds)
        while len(self._peers) < world - 1:
            try:
                self._peers.append(server.accept()[0])
            except TimeoutError:
                joined = f"{len(self._peers) + 1}/{world} clients joined"
                raise RuntimeError(
                    f"Timed out after {wait_seconds:.0f} seconds waiting for clients. {joined}."
                ) from None

    def _send(self, peer: socket.socket, step: int) -> None:
        with contextlib.suppress(ConnectionError):  # what is wrong is told by the next word that does not come
            peer.sendall(FRAME.pack(step))

    def _receive(self, peer: socket.socket) -> int:
        answer = b""
        while len(answer) < FRAME.size:
            try:
                piece = peer.recv(FRAME.size - len(answer))
            except TimeoutError:
                late = f"Timed out waiting {(self._timeout or 0) * 1000:.0f}ms for recv operation to complete"
                raise RuntimeError(f"{BUFFER} {late}") from None
            except ConnectionError:
                piece = b""
            if not piece:
                raise RuntimeError(f"{PAIR} Connection closed by peer {self._names[peer]}")
            answer += piece
        return int(FRAME.unpack(answer)[0])


def listen(address: tuple[str, int]) -> socket.socket:
    """The server socket of rank 0. `RuntimeError`, worded as torch words it, when somebody else has the port."""
    try:
        return socket.create_server(address, reuse_port=False)
    except OSError as error:
        raise RuntimeError(
            f"The server socket has failed to listen on any local network address. port: {address[1]}, "
            f"useIpv6: false, code: -{error.errno}, name: EADDRINUSE, message: address already in use"
        ) from error


def _connect(address: tuple[str, int], wait_seconds: float) -> socket.socket:
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            return socket.create_connection(address, timeout=2)
        except OSError:
            if time.monotonic() > deadline:
                where = f"({address[0]}, {address[1]})"
                raise RuntimeError(
                    f"The client socket has timed out after {wait_seconds:.0f}s while trying to connect to {where}."
                ) from None
            time.sleep(0.1)
