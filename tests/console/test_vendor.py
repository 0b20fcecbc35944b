"""Are the committed front-end files those that were fetched, each with its licence?"""

from pathlib import Path

import pytest
from django.conf import settings

from console.management.commands.refresh_vendor import FOLDERS as FOLDER_NAMES
from console.vendor import read_sums, read_versions, sums, without_source_map

FOLDERS = [Path(settings.BASE_DIR) / name for name in FOLDER_NAMES]
everywhere = pytest.mark.parametrize("folder", FOLDERS, ids=FOLDER_NAMES)


@everywhere
def test_every_file_is_the_one_that_was_fetched(folder: Path) -> None:
    assert sums(folder) == read_sums(folder)


@everywhere
def test_every_file_is_declared_and_every_package_has_its_licence(folder: Path) -> None:
    declared = read_versions(folder)
    assert {file.here for file in declared} == set(sums(folder))
    for package in {file.package for file in declared}:
        assert f"{package}/LICENSE" in {file.here for file in declared}


def test_no_file_that_is_served_asks_for_another() -> None:
    for name in sums(FOLDERS[0]):
        text = (FOLDERS[0] / name).read_bytes()
        assert b"sourceMappingURL" not in text, name
        assert b"@import" not in text, name


def test_only_the_last_comment_is_taken_off() -> None:
    assert without_source_map(b"code();\n//# sourceMappingURL=a.js.map") == b"code();\n"
    assert without_source_map(b"a{}\n/*# sourceMappingURL=a.css.map */") == b"a{}\n"
    assert without_source_map(b"code();\n") == b"code();\n"
