"""Does every setting say what is wrong with it, and does its page tell the truth?"""

import subprocess
import sys

import pytest

from recovery_site.environment import BASE_DIR, SETTINGS, read_environment
from recovery_site.settings_page import page as settings_page
from recovery_site.vocabulary_page import ENUMS
from recovery_site.vocabulary_page import page as vocabulary_page
from schedulers.words import Word


def test_the_defaults_are_usable() -> None:
    values, mistakes = read_environment({})
    assert mistakes == []
    assert set(values) == {setting.name for setting in SETTINGS}


@pytest.mark.parametrize(
    ("name", "raw", "sentence"),
    [
        ("REKINDLE_HTTPS", "maybe", "REKINDLE_HTTPS must be true or false, not 'maybe'."),
        ("REKINDLE_SHARDS", "0", "REKINDLE_SHARDS must be a whole number from 1 to 256, not '0'."),
        ("REKINDLE_SHARDS", "٣", "REKINDLE_SHARDS must be a whole number from 1 to 256, not '٣'."),
        ("REKINDLE_READ_SECONDS", "soon", "REKINDLE_READ_SECONDS must be a number of seconds, not 'soon'."),
        ("REKINDLE_READ_SECONDS", "nan", "REKINDLE_READ_SECONDS must be from 0.2 to 60 seconds, not 'nan'."),
        ("REKINDLE_LISTEN", "8000", "REKINDLE_LISTEN must be HOST:PORT, e.g. 127.0.0.1:8000, not '8000'."),
        ("REKINDLE_DATABASE_URL", "oracle://x", "REKINDLE_DATABASE_URL must begin with sqlite:// or mysql://."),
        (
            "REKINDLE_LOG_LEVEL",
            "loud",
            "REKINDLE_LOG_LEVEL must be one of DEBUG, INFO, WARNING, ERROR, not 'loud'.",
        ),
    ],
)
def test_a_wrong_setting_is_one_sentence(name: str, raw: str, sentence: str) -> None:
    values, mistakes = read_environment({name: raw})
    assert [(m.name, m.sentence) for m in mistakes] == [(name, sentence)]
    assert name in values


def test_an_unknown_setting_is_a_mistake() -> None:
    _, mistakes = read_environment({"REKINDLE_MODE": "action"})
    assert "REKINDLE_MODE is not a setting" in mistakes[0].sentence


def test_a_wrong_setting_stops_the_start_with_its_number(tmp_path) -> None:
    run = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=BASE_DIR,
        env={"PATH": "/usr/bin:/bin", "REKINDLE_STATE_DIR": str(tmp_path), "REKINDLE_SHARDS": "many"},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    number = 1 + [setting.name for setting in SETTINGS].index("REKINDLE_SHARDS")
    assert run.returncode == 1
    assert f"(rekindle.E{number:03d}) REKINDLE_SHARDS must be a whole number" in run.stderr


def test_the_page_of_settings_is_what_the_declarations_make() -> None:
    assert (BASE_DIR / "docs" / "settings.md").read_text() == settings_page()


def test_the_vocabulary_is_what_the_enums_make() -> None:
    assert (BASE_DIR / "docs" / "vocabulary.md").read_text() == vocabulary_page()


def test_every_enum_is_in_the_vocabulary() -> None:
    ours = {enum for enum in Word.__subclasses__() if not enum.__module__.startswith("tests")}
    assert ours == set(ENUMS)


def test_every_word_has_a_theme_colour() -> None:
    known = {"primary", "secondary", "success", "warning", "danger", "info"}
    assert {word.colour for enum in ENUMS for word in enum} <= known
