"""Are the committed front-end files those that were fetched, each with its licence?"""

from pathlib import Path

from django.conf import settings

from console.vendor import read_sums, read_versions, sums, without_source_map

FOLDER = Path(settings.BASE_DIR) / "static" / "vendor"


def test_every_file_is_the_one_that_was_fetched() -> None:
    assert sums(FOLDER) == read_sums(FOLDER)


def test_every_file_is_declared_and_every_package_has_its_licence() -> None:
    declared = read_versions(FOLDER)
    assert {file.here for file in declared} == set(sums(FOLDER))
    for package in {file.package for file in declared}:
        assert f"{package}/LICENSE" in {file.here for file in declared}


def test_no_file_asks_for_another() -> None:
    for name in sums(FOLDER):
        text = (FOLDER / name).read_bytes()
        assert b"sourceMappingURL" not in text, name
        assert b"@import" not in text, name


def test_only_the_last_comment_is_taken_off() -> None:
    assert without_source_map(b"code();\n//# sourceMappingURL=a.js.map") == b"code();\n"
    assert without_source_map(b"a{}\n/*# sourceMappingURL=a.css.map */") == b"a{}\n"
    assert without_source_map(b"code();\n") == b"code();\n"
