"""Does the demo leave anything behind when it does not end as it should?"""

import signal
from pathlib import Path

import pytest

from lab.parts.running import Running, until
from tests.e2e.demo_parts import goes_on, parts_of


def demo_in(folder: Path, **settings: str) -> Running:
    """`./run demo` that keeps its files in a folder of the test's."""
    return Running(["./run", "demo"], {"TMPDIR": str(folder), "REKINDLE_LISTEN": "127.0.0.1:0", **settings})


def test_a_wrong_setting_is_named_and_leaves_no_folder(tmp_path: Path) -> None:
    demo = demo_in(tmp_path, REKINDLE_SHARDS="x")
    assert demo.process.wait(180) == 1
    assert demo.end() == 1
    assert "REKINDLE_SHARDS must be a whole number from 1 to 256, not 'x'." in demo.text()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("cause", ["the terminal is closed", "the site is killed"])
def test_nothing_goes_on_without_the_site(tmp_path: Path, cause: str) -> None:
    demo = demo_in(tmp_path)
    folder = Path(demo.said(r"Logs: (\S+)\.", 180))
    parts = parts_of(demo.process.pid, folder)
    everything = [*parts.values(), *parts["shell"].children(recursive=True)]
    if cause == "the site is killed":
        parts["site"].kill()
        assert demo.process.wait(180) == 128 + signal.SIGKILL
    demo.end(signal.SIGHUP)
    until(lambda: not any(goes_on(one) for one in everything), 180, "every process has ended")
    assert list(tmp_path.iterdir()) == []
