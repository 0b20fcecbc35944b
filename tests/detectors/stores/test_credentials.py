"""Is a credential read only from a file that nobody else can read, and never shown?"""

from pathlib import Path

import pytest

from detectors.stores.credentials import Credential, read_credential
from detectors.stores.store import StoreTrouble


def written(folder: Path, text: str, mode: int = 0o600) -> Path:
    (folder / "loki").write_text(text)
    (folder / "loki").chmod(mode)
    return folder


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("bearer abc.def\n", "Bearer abc.def"),
        ("basic reader:s3cret: x\n", "Basic cmVhZGVyOnMzY3JldDogeA=="),
        ("none\n", ""),
    ],
)
def test_what_a_credential_becomes(tmp_path: Path, text: str, header: str) -> None:
    assert read_credential(written(tmp_path, text), "loki") == Credential(header)


def test_no_name_is_no_credential(tmp_path: Path) -> None:
    assert read_credential(tmp_path, "") == Credential()


def test_the_authorities_lie_beside_it(tmp_path: Path) -> None:
    (tmp_path / "loki.ca.pem").write_text("")
    assert read_credential(written(tmp_path, "none"), "loki").authorities == tmp_path / "loki.ca.pem"


@pytest.mark.parametrize(
    ("text", "mode", "why"),
    [
        ("bearer abc", 0o640, "could be read by others"),
        ("bearer abc", 0o604, "could be read by others"),
        ("abc", 0o600, "must be 'basic USER:PASSWORD'"),
        ("basic abc", 0o600, "must be 'basic USER:PASSWORD'"),
        ("bearer a\nX-Evil: 1", 0o600, "must be one line"),
        ("", 0o600, "must be 'basic USER:PASSWORD'"),
    ],
)
def test_what_is_no_credential(tmp_path: Path, text: str, mode: int, why: str) -> None:
    with pytest.raises(StoreTrouble, match=why) as caught:
        read_credential(written(tmp_path, text, mode), "loki")
    assert "abc" not in str(caught.value)


def test_a_link_or_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreTrouble, match="the credential loki cannot be read: No such file"):
        read_credential(tmp_path, "loki")
    written(tmp_path, "bearer abc")
    (tmp_path / "link").symlink_to(tmp_path / "loki")
    with pytest.raises(StoreTrouble, match="the credential link cannot be read"):
        read_credential(tmp_path, "link")


def test_a_credential_is_not_printed() -> None:
    assert "abc" not in repr(Credential("Bearer abc"))
