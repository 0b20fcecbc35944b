"""Do processes that look for free ports at the same moment get different ones?"""

import socket
import subprocess
import sys

from lab.parts.ports import PORTS, claim, claimed, free_port
from lab.parts.running import ROOT
from lab.slurm.layout import free_base_port

ASKS = """
import sys
from lab.parts.ports import free_port
from lab.slurm.layout import free_base_port
print(free_base_port(), *[free_port() for _ in range(10)], flush=True)
sys.stdin.read()
"""


def test_nobody_gets_what_another_has_though_nobody_listens_yet() -> None:
    asking = [
        subprocess.Popen(
            [sys.executable, "-c", ASKS], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    got = []
    for one in asking:
        assert one.stdout
        got += one.stdout.readline().split()
    assert len(got) == len(set(got)) == 33
    assert not claim(int(got[0]))
    for one in asking:
        one.communicate("", timeout=180)
    assert claim(int(got[0])), "what a process had is free when it has ended"


def test_a_port_is_given_once_and_not_while_somebody_listens() -> None:
    given = [free_port() for _ in range(50)]
    assert len(set(given)) == 50 and all(port in PORTS for port in given)
    with socket.create_server(("127.0.0.1", given[0])):
        pass


def test_one_cluster_after_the_other_takes_what_is_ours_and_none_that_somebody_listens_in() -> None:
    first = free_base_port()
    ours = claimed()  # this process may have had several clusters at once
    assert {free_base_port() for _ in range(60)} <= ours
    assert claimed() == ours
    with socket.create_server(("127.0.0.1", first)):
        assert free_base_port() != first
