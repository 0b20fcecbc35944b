"""Can another user of the machine read what the site keeps, or choose its key?"""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from recovery_site.environment import BASE_DIR
from recovery_site.state_folder import NotPrivate, close_to_others, kept_key


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def settings_loaded(state: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A fresh process that opens the site's database."""
    program = "import django; django.setup(); from django.db import connection; connection.cursor()"
    return subprocess.run(
        [sys.executable, "-c", f"import os; os.umask(0o022); {program}"],
        cwd=BASE_DIR,
        env={
            "PATH": os.environ["PATH"],
            "DJANGO_SETTINGS_MODULE": "recovery_site.settings",
            "REKINDLE_STATE_DIR": str(state),
            **environment,
        },
        check=False,
        capture_output=True,
        text=True,
        timeout=180,
    )


@pytest.mark.parametrize("environment", [{}, {"REKINDLE_SECRET_KEY": "k" * 60}], ids=["own key", "given key"])
def test_the_state_folder_is_made_for_its_owner_alone(tmp_path: Path, environment: dict[str, str]) -> None:
    assert settings_loaded(tmp_path / "state", **environment).returncode == 0
    assert mode(tmp_path / "state") == 0o700


def test_the_database_is_closed_to_others_in_an_open_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert settings_loaded(tmp_path).returncode == 0
    assert {path.name: mode(path) for path in tmp_path.glob("rekindle.sqlite3*")}["rekindle.sqlite3"] == 0o600


def test_a_database_of_an_older_version_is_closed_and_keeps_its_group(tmp_path: Path) -> None:
    path = tmp_path / "rekindle.sqlite3"
    path.touch()
    path.chmod(0o664)
    close_to_others(path)
    assert mode(path) == 0o660


def test_a_key_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "secret-key"
    key = kept_key(path)
    assert len(key) >= 50 and mode(path) == 0o600
    assert kept_key(path) == key
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("how", ["link", "open to others", "of another user", "folder"])
def test_a_key_that_somebody_else_could_know_is_refused(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secret-key"
    if how == "link":
        (tmp_path / "theirs").write_text("known")
        path.symlink_to("theirs")
    elif how == "folder":
        path.mkdir()
    else:
        path.write_text("known")
        path.chmod(0o644 if how == "open to others" else 0o600)
    if how == "of another user" and os.geteuid() == 0:
        os.chown(path, 12345, 12345)
    elif how == "of another user":  # only root can give files away
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(OSError, match=r"."):
        kept_key(path)


def test_the_refusal_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "secret-key").write_text("known")
    (tmp_path / "secret-key").chmod(0o644)
    with pytest.raises(NotPrivate, match="it must be a file of ours with mode 600"):
        kept_key(tmp_path / "secret-key")
    told = settings_loaded(tmp_path).stderr
    assert "REKINDLE_STATE_DIR cannot hold the generated key" in told and "known" not in told
