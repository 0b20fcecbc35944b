"""Does the site refuse to start where passwords and tokens could be read by others?"""

import subprocess
import sys
from pathlib import Path

import pytest

from recovery_site.environment import BASE_DIR, read_environment
from recovery_site.exposure import exposed, is_own

OUTSIDE = {"REKINDLE_BASE_URL": "https://rekindle.example.org", "REKINDLE_ALLOWED_HOSTS": "rekindle.example.org"}
PRODUCTION = {**OUTSIDE, "REKINDLE_HTTPS": "true", "REKINDLE_TRUSTED_PROXY": "true"}


@pytest.mark.parametrize(
    ("changes", "numbers"),
    [
        ({}, []),
        (PRODUCTION, []),
        ({"REKINDLE_BASE_URL": "http://[::1]:9"}, []),
        ({"REKINDLE_BASE_URL": "http://127.0.0.9", "REKINDLE_ALLOWED_HOSTS": "127.0.0.9"}, []),
        ({**PRODUCTION, "REKINDLE_ALLOWED_HOSTS": ".example.org"}, []),
        ({**PRODUCTION, "REKINDLE_BASE_URL": "https://Rekindle.Example.ORG:8443"}, []),
        (
            {"REKINDLE_BASE_URL": "http://rekindle.example.org", "REKINDLE_ALLOWED_HOSTS": "rekindle.example.org"},
            [101],
        ),
        ({"REKINDLE_BASE_URL": "http://10.0.0.7:8000", "REKINDLE_ALLOWED_HOSTS": "10.0.0.7"}, [101]),
        ({**PRODUCTION, "REKINDLE_BASE_URL": "http://rekindle.example.org"}, [101]),
        (OUTSIDE, [102]),
        ({"REKINDLE_HTTPS": "true", "REKINDLE_TRUSTED_PROXY": "true"}, [103]),
        ({**PRODUCTION, "REKINDLE_ALLOWED_HOSTS": "other.example.org"}, [104]),
        ({**PRODUCTION, "REKINDLE_ALLOWED_HOSTS": ".ample.org"}, [104]),
        ({**PRODUCTION, "REKINDLE_ALLOWED_HOSTS": "*"}, [105]),
        ({**OUTSIDE, "REKINDLE_HTTPS": "true"}, [106]),
        ({"REKINDLE_TRUSTED_PROXY": "true"}, [107]),
        ({"REKINDLE_LISTEN": "0.0.0.0:8000"}, [108]),
        ({"REKINDLE_LISTEN": "[::]:8000"}, [108]),
        ({**PRODUCTION, "REKINDLE_LISTEN": "0.0.0.0:8000"}, []),
    ],
)
def test_what_is_wrong_with_how_it_is_reached(changes: dict[str, str], numbers: list[int]) -> None:
    values, mistakes = read_environment(changes)
    assert mistakes == []
    assert [row.number for row, _sentence in exposed(values)] == numbers


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "a.localhost", "127.255.255.255"])
def test_what_is_the_machine_itself(host: str) -> None:
    assert is_own(host)


@pytest.mark.parametrize(
    "host", ["", "0.0.0.0", "::", "10.0.0.1", "localhost.example.org", "127.0.0.1.example.org"]
)
def test_what_is_not(host: str) -> None:
    assert not is_own(host)


@pytest.mark.parametrize("server", ["wsgi", "asgi"])
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"REKINDLE_BASE_URL": "http://10.0.0.7", "REKINDLE_ALLOWED_HOSTS": "10.0.0.7"}, "rekindle.E101"),
        ({"REKINDLE_SHARDS": "many"}, "REKINDLE_SHARDS must be a whole number"),
        ({}, ""),
    ],
    ids=["plain HTTP", "a wrong setting", "usable"],
)
def test_a_server_that_runs_no_checks_refuses_all_the_same(
    tmp_path: Path, server: str, changes: dict[str, str], says: str
) -> None:
    """gunicorn and uvicorn load the module and nothing else."""
    run = subprocess.run(
        [sys.executable, "-c", f"import recovery_site.{server}"],
        cwd=BASE_DIR,
        env={"PATH": "/usr/bin:/bin", "REKINDLE_STATE_DIR": str(tmp_path), **changes},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (run.returncode != 0) is bool(says), run.stderr
    assert says in run.stderr


def test_what_production_gets(tmp_path: Path) -> None:
    """Redirect, HSTS, secure cookies, the trusted header and the origin of forms hang on these settings alone."""
    told = (
        "from recovery_site import settings as s; print(s.SECURE_SSL_REDIRECT, s.SECURE_HSTS_SECONDS > 31000000,"
        " s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SECURE_PROXY_SSL_HEADER,"
        " s.CSRF_TRUSTED_ORIGINS, s.DEBUG)"
    )
    run = subprocess.run(
        [sys.executable, "-c", told],
        cwd=BASE_DIR,
        env={"PATH": "/usr/bin:/bin", "REKINDLE_STATE_DIR": str(tmp_path), **PRODUCTION},
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert run.stdout.strip() == (
        "True True True True ('HTTP_X_FORWARDED_PROTO', 'https') ['https://rekindle.example.org'] False"
    )
