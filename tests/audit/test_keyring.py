"""What is the word of a key worth, and which file of keys is one?"""

from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.keyring import (
    DATED,
    FORGED,
    LATE,
    LEAKED,
    PROVED,
    STRANGE,
    Keyring,
    KnownKey,
    keys_in,
    of_publics,
    read_keys,
)
from audit.signing import BadKey, Ending, key_id, public_half, sign
from tests.audit.chain import KEY, MINUTE, NOW, PUBLIC

OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
SAID = Ending("demo", 5, "0" * 64, NOW)


def ring(*lines: str) -> Keyring:
    return Keyring().with_keys(read_keys("\n".join(line.format(PUBLIC) for line in lines)))


@pytest.mark.parametrize(
    ("lines", "kept", "worth"),
    [
        (["{}"], False, PROVED),
        (["{} until 2026-11-30T12:00:01+00:00"], False, PROVED),
        (["{} until 2026-11-30T12:00:00+00:00"], False, LATE),
        (["{} until 2026-11-30T13:59:59+02:00"], True, LATE),
        (["{} leaked 2026-11-30T12:00:00Z"], False, LEAKED),
        (["{} leaked 2026-11-30T12:00:00Z"], True, LEAKED),
        (["{} leaked 2026-11-30T12:00:01Z"], False, DATED),
        (["{} leaked 2026-11-30T12:00:01Z"], True, PROVED),
        (["{} leaked 2026-11-30T12:00:01Z", "{} until 2026-11-30T11:00:00Z"], False, LEAKED),
        (["{} until 2026-11-30T13:00:00Z", "{}", "{} leaked 2026-12-01T12:00:00Z"], False, DATED),
        (["{} leaked 2026-12-01T12:00:00Z", "{} leaked 2026-11-01T12:00:00Z"], False, LEAKED),
        ([public_half(OTHER)], False, STRANGE),
        ([], True, STRANGE),
    ],
)
def test_what_a_word_is_worth(lines: list[str], kept: bool, worth: str) -> None:
    assert ring(*lines).worth(key_id(PUBLIC), SAID, sign(KEY, SAID), kept=kept) == worth


@pytest.mark.parametrize("signature", ["", "zz", "0" * 128, sign(OTHER, SAID)])
def test_a_word_that_the_named_key_did_not_say(signature: str) -> None:
    both = of_publics(PUBLIC, public_half(OTHER))
    assert both.worth(key_id(PUBLIC), SAID, signature) == FORGED


def test_each_field_of_a_checkpoint_is_signed() -> None:
    signature, id_ = sign(KEY, SAID), key_id(PUBLIC)
    for other in (
        Ending("demn", 5, "0" * 64, NOW),
        Ending("demo", 6, "0" * 64, NOW),
        Ending("demo", 5, "1" * 64, NOW),
        Ending("demo", 5, "0" * 64, NOW + timedelta(microseconds=1)),
    ):
        assert of_publics(PUBLIC).worth(id_, other, signature) == FORGED


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x", "line 1 is no key"),
        (f"{PUBLIC} later", "line 1 is no key"),
        (f"# a remark\n\n{PUBLIC} until", "line 3 is no key"),
        (f"{PUBLIC} until yesterday", "line 1: 'yesterday' is no time with an offset"),
        (f"{PUBLIC} leaked 2026-11-30T12:00:00", "is no time with an offset"),
        (f"{PUBLIC} leaked 0001-01-01T00:00:00+14:00", "is no time with an offset"),
        (f"{PUBLIC} leaked 2026-11-30T12:00:00Z and more", "line 1 is no key"),
        (f"{PUBLIC[:-1]}é", "line 1 is no key"),
        (f"{PUBLIC} {PUBLIC}", "line 1 is no key"),
    ],
)
def test_a_line_that_is_no_key(text: str, said: str) -> None:
    with pytest.raises(BadKey, match=said):
        read_keys(text)


def test_a_line_is_read_as_it_is_written() -> None:
    for key in (KnownKey(PUBLIC), KnownKey(PUBLIC, NOW), KnownKey(PUBLIC, NOW + MINUTE, leaked=True)):
        assert read_keys(f"{key.line}  # it\n") == [key]
    assert read_keys(PUBLIC.upper()) == [KnownKey(PUBLIC)]


@pytest.mark.parametrize("spoil", ["others write", "the group writes", "a link", "a folder", "no text", "huge"])
def test_a_file_that_others_could_have_written_is_none(spoil: str, tmp_path: Path) -> None:
    path = tmp_path / "keys"
    assert keys_in(path) == []
    path.write_text(PUBLIC)
    assert keys_in(path) == [KnownKey(PUBLIC)]
    if spoil in {"others write", "the group writes"}:
        path.chmod(0o602 if spoil == "others write" else 0o620)
    elif spoil == "a link":
        path = tmp_path / "link"
        path.symlink_to(tmp_path / "keys")
    elif spoil == "a folder":
        path = tmp_path
    elif spoil == "no text":
        path.write_bytes(b"\xff\xfe")
    else:
        path.write_text("#" * (1 << 21))
    with pytest.raises((BadKey, OSError)):
        keys_in(path)
