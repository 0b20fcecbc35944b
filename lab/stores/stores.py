"""How do a private MariaDB and Redis start and stop?"""

import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lab.parts.ports import free_port
from lab.slurm.processes import Processes, wait_for

USER = "rekindle"


class StoreError(RuntimeError):
    """A store cannot start; the sentence says why and where to look."""


class Stores:
    """Both stores of one folder. A context manager: started on entry, stopped and removed on exit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes = Processes(folder)
        self.password = secrets.token_hex(16)
        self.database_port = 0
        self.redis_port = 0

    def __enter__(self) -> "Stores":
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    @property
    def environment(self) -> dict[str, str]:
        """The variables that point the site at them."""
        redis = f"redis://:{self.password}@127.0.0.1:{self.redis_port}"
        return {
            "REKINDLE_DATABASE_URL": f"mysql://{USER}:{self.password}@127.0.0.1:{self.database_port}/rekindle",
            "REKINDLE_BROKER_URL": f"{redis}/0",
            "REKINDLE_CHANNEL_URL": f"{redis}/1",
        }

    def start(self) -> None:
        """Start both on free ports of the loopback, with a password of their own."""
        for name in ("run", "log", "jobs", "db"):
            (self.folder / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        missing = [name for name in ("mariadbd", "redis-server") if not _found(name)]
        if missing:
            raise StoreError(
                f"Missing commands: {', '.join(missing)}. `./run test` lists and installs the packages."
            )
        self._start_database()
        self._start_redis()

    def down(self) -> None:
        """End both by recorded process id; what they hold on the disk stays."""
        for name in ("redis", "mariadbd"):
            self.processes.halt(name)

    def up(self) -> None:
        """Start both again where they were."""
        self._spawn_database()
        self._spawn_redis()

    def stop(self) -> None:
        """End both and remove the folder."""
        self.down()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start_database(self) -> None:
        self.database_port = free_port()
        own = self.folder / "my.cnf"
        own.write_text(f"""[mariadbd]
datadir={self.folder}/db
tmpdir={self.folder}/run
socket={self.folder}/run/mysql.sock
pid-file={self.folder}/run/mysql.own.pid
port={self.database_port}
bind-address=127.0.0.1
skip-name-resolve
user={_user()}
character-set-server=utf8mb4
collation-server=utf8mb4_bin
innodb_buffer_pool_size=128M
innodb_flush_log_at_trx_commit=0
innodb_doublewrite=0
sync_binlog=0
performance_schema=off
""")
        install = ["mariadb-install-db", f"--defaults-file={own}", "--auth-root-authentication-method=normal"]
        _run([*install, "--skip-test-db"], 60)
        self._spawn_database()
        account = f"{USER}@'127.0.0.1'"
        for statement in (
            "create database rekindle",
            f"create user {account} identified by '{self.password}'",
            f"grant all on *.* to {account} with grant option",  # the tests create databases and accounts
        ):
            _run([*self._sql(), statement], 30)

    def _spawn_database(self) -> None:
        self.processes.spawn("mariadbd", [_found("mariadbd"), f"--defaults-file={self.folder / 'my.cnf'}"])
        if not wait_for(lambda: _run([*self._sql(), "select 1"], 30), 120, 0.1):
            raise StoreError(f"MariaDB did not start; see {self.folder}/log/mariadbd.out.")

    def _sql(self) -> list[str]:
        return ["mariadb", "--no-defaults", "-S", f"{self.folder}/run/mysql.sock", "-u", "root", "-e"]

    def _start_redis(self) -> None:
        self.redis_port = free_port()
        own = self.folder / "redis.conf"
        own.touch(mode=0o600)
        own.write_text(
            f"port {self.redis_port}\nbind 127.0.0.1\nrequirepass {self.password}\nsave ''\nappendonly no\n"
            f"dir {self.folder}/run\n"
        )
        self._spawn_redis()

    def _spawn_redis(self) -> None:
        self.processes.spawn("redis", [_found("redis-server"), str(self.folder / "redis.conf")])
        if not wait_for(lambda: _answers(self.redis_port), 60, 0.05):
            raise StoreError(f"Redis did not start; see {self.folder}/log/redis.out.")


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _run(command: Sequence[str], seconds: float) -> bool:
    run = subprocess.run(list(command), capture_output=True, timeout=seconds, check=False)
    return run.returncode == 0


def _user() -> str:
    return "root" if os.geteuid() == 0 else os.environ.get("USER", "nobody")


def _found(name: str) -> str:
    return shutil.which(name, path=f"/usr/sbin:/sbin:{os.environ.get('PATH', '/usr/bin:/bin')}") or ""
