"""Do the pages about the controller say what its configuration really takes?"""

import re
import subprocess
import sys
from pathlib import Path

from controller.advice import Mode
from controller.config import read_config
from controller.keys_page import page

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_keys_is_the_declared_one() -> None:
    assert (ROOT / "docs" / "controller.md").read_text() == page()


def test_the_command_prints_the_page_and_needs_no_configuration() -> None:
    words = [sys.executable, "-m", "controller", "keys"]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=180, check=True)
    assert run.stdout == page()


def test_the_sample_of_the_guide_has_no_mistake(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "operators-guide.md").read_text()
    (sample,) = re.findall(r"^```toml\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    file = tmp_path / "controller.toml"
    file.write_text(
        re.sub(r'^journal = ".*"$', f'journal = "{tmp_path}/journal.jsonl"', sample, flags=re.MULTILINE)
    )
    settings = read_config(file)
    assert settings.controller.mode is settings.watchdog.mode is Mode.ACTION
    assert settings.controller.acknowledge_scheduler_actions
    assert settings.controller.environment_pattern == settings.watchdog.environment_pattern == settings.environment
