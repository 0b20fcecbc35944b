"""Are the samples in `deploy/` right: units, configuration, container, sudoers?"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from controller.advice import Mode
from controller.config import read_config

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
HARDENED = {
    "NoNewPrivileges": "yes",
    "CapabilityBoundingSet": "",
    "ProtectSystem": "strict",
    "PrivateTmp": "yes",
    "PrivateDevices": "yes",
    "ProtectKernelTunables": "yes",
    "ProtectControlGroups": "yes",
    "RestrictSUIDSGID": "yes",
    "LockPersonality": "yes",
    "SystemCallArchitectures": "native",
    "UMask": "0077",
    "KillMode": "mixed",  # whoever is told to stop ends its tasks and commands; they are not ended behind its back
}


def entries(unit: Path) -> dict[str, str]:
    lines = [line for line in unit.read_text().splitlines() if "=" in line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def test_every_process_of_the_guide_has_its_unit() -> None:
    assert [unit.stem.removeprefix("rekindle-") for unit in UNITS] == [
        "beat",
        "controller",
        "push",
        "sockets",
        "watchdog",
        "web",
        "worker",
    ]
    page = (ROOT / "docs" / "production.md").read_text()
    for unit in UNITS:
        command = entries(unit)["ExecStart"].removeprefix("/opt/rekindle/.venv/bin/")
        assert re.sub(r"--config \S+", "--config FILE", command) in page, unit.name


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_is_hardened_and_has_an_account_of_its_own(unit: Path) -> None:
    of = entries(unit)
    assert {name: of.get(name) for name in HARDENED} == HARDENED
    assert of["User"] in {"rekindle", "rekindle-controller"}
    assert f"u {of['User']} " in (DEPLOY / "systemd" / "rekindle.sysusers").read_text()


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_keeps_its_state_where_it_may_write(unit: Path) -> None:
    of = entries(unit)  # everything but the state folder is read-only, the checkout's `var/` too
    assert of["StateDirectory"] == of["User"]
    if "EnvironmentFile" in of:
        assert of["Environment"] == f"REKINDLE_STATE_DIR=%S/{of['StateDirectory']}"


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_finds_no_mistake_and_little_exposure(unit: Path, tmp_path: Path) -> None:
    known = tmp_path / unit.name  # systemd looks for the program, which is not where the sample has it
    known.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", unit.read_text(), flags=re.MULTILINE))
    verified = subprocess.run(
        ["systemd-analyze", "verify", str(known)], capture_output=True, timeout=180, check=False
    )
    assert (verified.returncode, verified.stderr) == (0, b"")
    security = ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(known)]
    assert subprocess.run(security, capture_output=True, timeout=180, check=False).returncode == 0


def test_what_the_pages_have_one_copy_can_be_copied() -> None:
    text = "\n".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))
    # In a file that systemd reads, a comment behind a value is part of the value.
    assert re.findall(r"^REKINDLE_\w+=.*[ \t]#.*$", text, re.MULTILINE) == []
    named = set(re.findall(r"\bdeploy/[\w./-]*\w", text))
    assert named and [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_a_command_by_hand_runs_as_the_units_do() -> None:
    """Else it makes a database of its own in the checkout, or files that the site may not read."""
    text = (DEPLOY / "rekindle-manage").read_text()
    of = entries(DEPLOY / "systemd" / "rekindle-worker.service")
    said = dict(re.findall(r"-p (\w+)=(\S+)", text))
    assert said.pop("EnvironmentFile") == f'"${{REKINDLE_VARIABLES:-{of["EnvironmentFile"]}}}"'
    # Of %S nothing is made in what `systemd-run` is told.
    assert said == {name: of[name].replace("%S", "/var/lib") for name in said}
    assert {
        "User",
        "Group",
        "WorkingDirectory",
        "StateDirectory",
        "StateDirectoryMode",
        "Environment",
        "UMask",
    } <= set(said)
    assert subprocess.run(["sh", "-n", DEPLOY / "rekindle-manage"], timeout=60, check=False).returncode == 0
    assert (DEPLOY / "rekindle-manage").stat().st_mode & 0o111


def test_the_sample_configuration_is_read_and_does_nothing_yet(tmp_path: Path) -> None:
    path = tmp_path / "controller.toml"
    path.write_text((DEPLOY / "controller.toml").read_text().replace("/var/lib/rekindle-controller", str(tmp_path)))
    settings = read_config(path)
    assert settings.controller.mode is settings.watchdog.mode is Mode.MONITOR
    assert not settings.controller.acknowledge_scheduler_actions


def test_the_container_holds_all_that_the_program_needs(tmp_path: Path) -> None:
    text = (DEPLOY / "Containerfile").read_text()
    for name, place in re.findall(r"^COPY (\S+) /opt/rekindle/(\S+)$", text, re.MULTILINE):
        shutil.copytree(ROOT / name, tmp_path / place, ignore=shutil.ignore_patterns("__pycache__"))
    python = shutil.which("python3", path="/usr/bin:/bin")
    assert python, "a Python without any package of ours"
    for words in (["keys"], ["run", "--help"], ["push", "--help"], ["watchdog", "--help"], ["hand-over", "--help"]):
        command = [python, "-S", "-B", "-m", "controller", *words]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=180, check=False)
        assert run.returncode == 0, run.stderr


def test_sudo_lets_nothing_be_added_to_a_command() -> None:
    rules = [line for line in (DEPLOY / "sudoers").read_text().splitlines() if not line.startswith("#")]
    assert len(rules) == 2
    # `python -m` takes the program from the folder in which it starts: that of the checkout, and not the caller's.
    assert all(" CWD=/opt/rekindle NOPASSWD: " in rule for rule in rules)
    keep, check = (re.compile(rule.split("python ", 1)[1]) for rule in rules)
    good = "-m controller keep --config /etc/rekindle/controller.toml 12"
    assert keep.match(good) and check.match("-m controller check --config /etc/rekindle/controller.toml")
    for more in (f"{good} --config /tmp/x", good.replace(" 12", ""), f"-i {good}", good.replace(".toml", "Xtoml")):
        assert not keep.match(more)
