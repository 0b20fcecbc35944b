"""Does the demo keep its tokens from others, whatever waits in their place?"""

import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recovery_site.demo import controller_config, furnish

pytestmark = pytest.mark.django_db


def test_a_token_is_written_to_a_file_of_our_own(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    furnish(tmp_path, now)
    theirs = tmp_path / "theirs"
    theirs.touch(mode=0o666)
    os.link(theirs, tmp_path / "demo.token")
    (tmp_path / "demo.toml").symlink_to(theirs)
    path = controller_config(tmp_path, "demo", "http://127.0.0.1:1", now)
    assert theirs.read_bytes() == b""
    for file in (path, tmp_path / "demo.token"):
        assert stat.S_IMODE(file.lstat().st_mode) == 0o600 and not file.is_symlink()
