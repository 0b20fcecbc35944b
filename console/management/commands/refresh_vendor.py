"""How are the committed front-end files fetched again? For developers: needs npm."""

import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from console.vendor import read_versions, sums, without_source_map

FETCH_SECONDS = 120
FOLDERS = ("static/vendor", "tests/vendor")


class Command(BaseCommand):
    """Fetches every file of each `vendor/VERSIONS` and writes `SHA256SUMS` beside it."""

    requires_system_checks = []
    # stays English: a command
    help = "Fetch the front-end files listed in static/vendor/VERSIONS and tests/vendor/VERSIONS again (needs npm)."

    def handle(self, *args: Any, **options: Any) -> None:
        """Fetch, unpack, write, list the sums."""
        for name in FOLDERS:
            self.stdout.write(f"{name}: {self._refresh(Path(settings.BASE_DIR) / name)} files")

    def _refresh(self, folder: Path) -> int:
        wanted = read_versions(folder)
        with tempfile.TemporaryDirectory() as scratch:
            for package in sorted({f"{file.package}@{file.version}" for file in wanted}):
                subprocess.run(["npm", "pack", "--silent", package], cwd=scratch, check=True, timeout=FETCH_SECONDS)
            for file in wanted:
                with tarfile.open(Path(scratch) / f"{file.package}-{file.version}.tgz") as archive:
                    member = archive.extractfile(f"package/{file.inside}")
                    content = member.read() if member else b""
                target = folder / file.here
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(without_source_map(content))
        lines = [f"{digest}  {name}\n" for name, digest in sums(folder).items()]
        (folder / "SHA256SUMS").write_text("".join(lines))
        return len(lines)
