"""How does a private sshd with the forced command stand before a cluster?"""

import contextlib
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil

from lab.parts.ports import free_port
from schedulers.ssh_transport import SshPlace, SshTransport

FORCED = Path(__file__).resolve().parents[2] / "deploy" / "forced_command.py"
PATIENCE = 120.0  # seconds
CONFIG = """Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
PidFile none
AuthorizedKeysFile {folder}/authorized_keys
TrustedUserCAKeys {folder}/ca.pub
AuthorizedPrincipalsFile {folder}/principals
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
UsePAM no
StrictModes no
PrintMotd no
UseDNS no
PermitUserEnvironment yes
AcceptEnv *
Subsystem sftp internal-sftp
MaxStartups 100
"""


class Sshd:
    """An sshd that would allow everything, were it not for what stands in `authorized_keys`."""

    def __init__(self, folder: Path, *, path: str = "/usr/bin", config: str = "", may: str = "act") -> None:
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        for name in ("host", "key", "stranger", "ca"):
            keygen("-t", "ed25519", "-N", "", "-f", str(folder / name))
        self.forced = f"{sys.executable} -I {FORCED} --may {may} --bin {path} --conf {config}".removesuffix(
            " --conf "
        )
        self.authorize(f'restrict,command="{self.forced}"')
        (folder / "principals").write_text("")
        kind, key = (folder / "host.pub").read_text().split()[:2]
        (folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {kind} {key}\n")
        (folder / "config").write_text(CONFIG.format(port=self.port, folder=folder))
        (folder / "run").mkdir(mode=0o700)
        self.place = SshPlace(
            "127.0.0.1",
            "root",
            self.port,
            known_hosts=str(folder / "known_hosts"),
            key=str(folder / "key"),
            folder=str(folder / "run"),
        )
        self.transports: list[SshTransport] = []

    def authorize(self, options: str) -> None:
        """What the key may do, as it stands before it in `authorized_keys`."""
        (self.folder / "authorized_keys").write_text(f"{options} {(self.folder / 'key.pub').read_text()}")

    def transport(self, **changes: str) -> SshTransport:
        made = SshTransport(replace(self.place, **changes))
        self.transports.append(made)
        return made

    def start(self) -> None:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # compiled into sshd
        program = shutil.which("sshd", path="/usr/sbin:/usr/bin") or "sshd"
        with (self.folder / "sshd.log").open("ab") as log:
            command = [program, "-D", "-e", "-f", str(self.folder / "config")]
            self.process = subprocess.Popen(command, stderr=log, start_new_session=True)
        ends = time.monotonic() + PATIENCE
        while not self.answers():
            assert time.monotonic() < ends, (self.folder / "sshd.log").read_text()
            time.sleep(0.05)

    def answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self) -> None:
        """End it and every connection that goes through it."""
        if self.process is None:
            return
        with contextlib.suppress(psutil.NoSuchProcess):
            top = psutil.Process(self.process.pid)
            top.suspend()  # so that it takes no connection while those that are there are looked up
            for one in top.children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.kill()
        self.process.kill()
        self.process.wait(PATIENCE)
        self.process = None

    def sessions(self) -> list[int]:
        """The processes of open connections: children of the listening one."""
        parent = self.process.pid if self.process else 0
        try:
            listed = Path(f"/proc/{parent}/task/{parent}/children").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return []
        return [int(number) for number in listed.split()]

    def ssh(self, *words: str, given: bytes = b"", key: str = "key") -> subprocess.CompletedProcess[bytes]:
        """Whatever an intruder with the key types behind `ssh`."""
        options = ["-F", "none", "-p", str(self.port), "-i", str(self.folder / key), "-o", "BatchMode=yes"]
        options += ["-o", f"UserKnownHostsFile={self.folder}/known_hosts", "-o", "StrictHostKeyChecking=yes"]
        options += ["-o", "IdentitiesOnly=yes", "-l", "root"]
        return subprocess.run(
            ["ssh", *options, *words], input=given, capture_output=True, timeout=PATIENCE, check=False
        )


@contextlib.contextmanager
def running(folder: Path, *, path: str = "/usr/bin", config: str = "", may: str = "act") -> Iterator[Sshd]:
    """An sshd until the end of the block; `folder` must be short."""
    folder.mkdir(exist_ok=True)
    sshd = Sshd(folder, path=path, config=config, may=may)
    with contextlib.ExitStack() as ending:  # each end is tried, whatever the ones before raise
        ending.callback(sshd.stop)
        sshd.start()
        ending.callback(lambda: [transport.close() for transport in sshd.transports])
        yield sshd


def keygen(*words: str) -> None:
    """Run ssh-keygen."""
    subprocess.run(["ssh-keygen", "-q", *words], capture_output=True, timeout=120, check=True)
