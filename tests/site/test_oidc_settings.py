"""Does the site refuse to start on half a configuration of the provider, with a sentence?"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recovery_site.environment import BASE_DIR, read_environment
from recovery_site.oidc_settings import halves

PLACES = {
    f"REKINDLE_OIDC_{name}_URL": f"https://login.example.org/{name}"
    for name in ("AUTHORIZE", "TOKEN", "USERINFO", "JWKS")
}


def whole(folder: Path) -> dict[str, str]:
    secret = folder / "secret"
    secret.touch(mode=0o600)
    secret.write_text("a secret\n")
    return {
        "REKINDLE_OIDC_ISSUER": "https://login.example.org/realms/hpc",
        "REKINDLE_OIDC_CLIENT_ID": "rekindle",
        "REKINDLE_OIDC_CLIENT_SECRET_FILE": str(secret),
        "REKINDLE_OIDC_GROUPS": "ops=operator",
    }


def numbers(variables: dict[str, str]) -> list[int]:
    values, mistakes = read_environment(variables)
    assert mistakes == []
    return [row.number for row, _sentence in halves(values)]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, []),
        (PLACES, []),
        ({"REKINDLE_OIDC_ISSUER": ""}, [201]),
        ({"REKINDLE_OIDC_CLIENT_ID": ""}, [202]),
        ({"REKINDLE_OIDC_CLIENT_SECRET_FILE": ""}, [203]),
        ({"REKINDLE_OIDC_CLIENT_SECRET_FILE": "/nowhere/at/all"}, [204]),
        ({"REKINDLE_OIDC_CLIENT_SECRET_FILE": "/"}, [204]),
        ({"REKINDLE_OIDC_GROUPS": ""}, [205]),
        ({"REKINDLE_OIDC_ISSUER": "http://login.example.org"}, [206]),
        ({"REKINDLE_OIDC_ISSUER": "http://127.0.0.1:8080"}, []),
        ({**PLACES, "REKINDLE_OIDC_TOKEN_URL": "http://login.example.org/token"}, [206]),
        ({**PLACES, "REKINDLE_OIDC_JWKS_URL": ""}, [207]),
        ({"REKINDLE_OIDC_SCOPES": "profile"}, [208]),
        ({"REKINDLE_OIDC_SITE_GROUPS": "physics=Physics"}, []),
    ],
)
def test_half_a_configuration(changes: dict[str, str], found: list[int], tmp_path: Path) -> None:
    assert numbers(whole(tmp_path) | changes) == found


def test_nothing_is_no_half() -> None:
    assert numbers({}) == []
    assert numbers({"REKINDLE_OIDC_SITE_GROUPS": "physics=Physics"}) == [201]


@pytest.mark.parametrize("text", ["", " \n", "two\nlines", "x" * 5000])
def test_a_file_without_a_secret(text: str, tmp_path: Path) -> None:
    variables = whole(tmp_path)
    Path(variables["REKINDLE_OIDC_CLIENT_SECRET_FILE"]).write_text(text)
    assert numbers(variables) == [204]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_a_secret_that_others_may_read_stops_the_start(mode: int, tmp_path: Path) -> None:
    variables = whole(tmp_path)
    Path(variables["REKINDLE_OIDC_CLIENT_SECRET_FILE"]).chmod(mode)
    run = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=BASE_DIR,
        env={"PATH": os.environ["PATH"], "REKINDLE_STATE_DIR": str(tmp_path / "state"), **variables},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert run.returncode == 1
    assert "(rekindle.E204) The file of REKINDLE_OIDC_CLIENT_SECRET_FILE cannot be used" in run.stderr
    assert "with mode 600" in run.stderr


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("GROUPS", "ops"),
        ("GROUPS", "ops=root"),
        ("GROUPS", "=admin"),
        ("GROUPS", "ops=viewer; ops=admin"),
        ("SITE_GROUPS", "physics"),
        ("SITE_GROUPS", "=Physics"),
        ("SITE_GROUPS", "physics="),
        ("SITE_GROUPS", "physics=Physics; physics = Physics"),
        ("SITE_GROUPS", "physics=Operators"),
        ("SITE_GROUPS", "physics=Administrators"),
        ("SITE_GROUPS", "phy\x1bsics=Physics"),
        ("SITE_GROUPS", f"physics={'x' * 151}"),
        ("ISSUER", "login.example.org"),
        ("ISSUER", "https://"),
        ("ISSUER", "https://user:word@login.example.org"),
        ("ISSUER", "https://login.example.org/?realm=1"),
        ("ISSUER", "https://[::1"),
        ("ALGORITHM", "HS256"),
        ("ALGORITHM", "none"),
        ("GROUPS_CLAIM", " "),
        ("SESSION_HOURS", "0"),
    ],
)
def test_a_setting_that_cannot_be_used(name: str, raw: str) -> None:
    _, mistakes = read_environment({f"REKINDLE_OIDC_{name}": raw})
    assert [mistake.name for mistake in mistakes] == [f"REKINDLE_OIDC_{name}"]


def test_names_of_directories_are_groups() -> None:
    values, _ = read_environment({"REKINDLE_OIDC_GROUPS": "cn=a,ou=b=operator;c d = admin ;"})
    assert values["REKINDLE_OIDC_GROUPS"] == {"cn=a,ou=b": "operator", "c d": "admin"}


def test_groups_lead_into_several_and_several_into_one() -> None:
    raw = "cn=a,ou=b=Physics; cn=a,ou=b=Night shift ;c = Physics;"
    values, _ = read_environment({"REKINDLE_OIDC_SITE_GROUPS": raw})
    assert values["REKINDLE_OIDC_SITE_GROUPS"] == {
        "cn=a,ou=b": frozenset({"Physics", "Night shift"}),
        "c": frozenset({"Physics"}),
    }
