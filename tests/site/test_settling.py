"""What is loaded once is not looked through again and again while people wait."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOADED = 50_000
"""Objects that modules, models and signatures are made of, and more: some 170,000 were seen."""


@pytest.mark.parametrize("server", ["asgi", "wsgi"])
def test_a_web_server_collects_no_garbage_in_what_it_has_loaded(server: str, tmp_path: Path) -> None:
    script = f"import gc, recovery_site.{server}; print(gc.get_freeze_count(), len(gc.get_objects()))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "REKINDLE_STATE_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "recovery_site.settings"},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    frozen, looked_at = map(int, done.stdout.split())
    assert frozen > LOADED > 10 * looked_at
