"""How do the ranks wait for each other? As in a collective: nobody goes on before everybody has arrived."""

import socket
import struct
import time

FRAME = struct.Struct("!q")


class Collective:
    """A barrier over TCP: rank 0 gathers everybody's step and answers with the smallest.

    A rank that is stopped, dead or late keeps all others waiting, exactly as an all-reduce does.
    """

    def __init__(self, rank: int, world: int, address: tuple[str, int], wait_seconds: float = 30.0) -> None:
        self._rank = rank
        self._peers: list[socket.socket] = []
        if world == 1:
            return
        if rank == 0:
            self._gather(world, address, wait_seconds)
        else:
            self._peers = [_connect(address, wait_seconds)]

    def meet(self, step: int) -> int:
        """Wait for all ranks; returns the smallest step of all. `ConnectionError` when one has gone."""
        if self._rank == 0:
            smallest = min([step, *(_receive(peer) for peer in self._peers)])
            for peer in self._peers:
                peer.sendall(FRAME.pack(smallest))
            return smallest
        self._peers[0].sendall(FRAME.pack(step))
        return _receive(self._peers[0])

    def _gather(self, world: int, address: tuple[str, int], wait_seconds: float) -> None:
        with socket.create_server((address[0], address[1]), reuse_port=False) as listen:
            listen.settimeout(wait_seconds)
            while len(self._peers) < world - 1:
                peer, _ = listen.accept()
                peer.settimeout(None)
                self._peers.append(peer)


def _connect(address: tuple[str, int], wait_seconds: float) -> socket.socket:
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            peer = socket.create_connection(address, timeout=2)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            peer.settimeout(None)
            return peer


def _receive(peer: socket.socket) -> int:
    answer = b""
    while len(answer) < FRAME.size:
        piece = peer.recv(FRAME.size - len(answer))
        if not piece:
            raise ConnectionError("Connection closed by peer")
        answer += piece
    return int(FRAME.unpack(answer)[0])
