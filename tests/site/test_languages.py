"""In which languages can the site speak, and what keeps the languages of two people apart?"""

from pathlib import Path

import pytest
from django.conf import settings

from recovery_site.languages import languages


def compiled(folder: Path, *locales: str) -> Path:
    for locale in locales:
        file = folder / locale / "LC_MESSAGES" / "django.mo"
        file.parent.mkdir(parents=True)
        file.write_bytes(b"")
    return folder


@pytest.mark.parametrize(
    ("locales", "found"),
    [
        pytest.param((), [("en", "English")], id="none"),
        pytest.param(("de",), [("en", "English"), ("de", "Deutsch")], id="one"),
        pytest.param(("en",), [("en", "English")], id="English is not there twice"),
        pytest.param(
            ("pt_BR", "xx"), [("en", "English"), ("pt-br", "Português Brasileiro"), ("xx", "xx")], id="odd ones"
        ),
    ],
)
def test_english_and_what_is_compiled(
    tmp_path: Path, locales: tuple[str, ...], found: list[tuple[str, str]]
) -> None:
    assert languages(compiled(tmp_path, *locales)) == found


def test_a_text_that_is_not_compiled_is_no_language(tmp_path: Path) -> None:
    (tmp_path / "de" / "LC_MESSAGES").mkdir(parents=True)
    (tmp_path / "de" / "LC_MESSAGES" / "django.po").write_text("")
    assert languages(tmp_path) == [("en", "English")]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert languages(tmp_path / "none") == [("en", "English")]


def test_the_site_speaks_what_lies_in_its_folder() -> None:
    assert languages(settings.LOCALE_PATHS[0]) == settings.LANGUAGES
