"""Is the mark written as agreed, and is nothing else taken for it?"""

from datetime import UTC, datetime

import pytest

from controller.mark import AdminComment, Mark, read_comment, with_mark, with_wish_to_keep

OURS = Mark(2, 1, datetime.fromtimestamp(1795953900, UTC))


def test_the_exact_text() -> None:
    assert with_mark(OURS, "") == "rekindle/1 g=2 r=1 until=1795953900"
    assert with_mark(OURS, "ticket 77") == "rekindle/1 g=2 r=1 until=1795953900 ticket 77"


@pytest.mark.parametrize("foreign", ["", "ticket 77", "a=1 r=9 until=1", "línea\nnext"])
def test_what_is_written_is_read(foreign: str) -> None:
    assert read_comment(with_mark(OURS, foreign)) == AdminComment(mark=OURS, foreign=foreign)
    assert read_comment(with_wish_to_keep(3, foreign)) == AdminComment(kept=3, foreign=foreign)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rekindle/1",
        "rekindle/2 g=1 r=1 until=1795953900",
        "rekindle/1 g=1 r=1 until=",
        "rekindle/1 g=1 r=-1 until=1795953900",
        "rekindle/1 g=1 r=1 until=1795953900x",
        "rekindle/1 r=1 g=1 until=1795953900",
        "note: rekindle/1 g=1 r=1 until=1795953900",
        "rekindle/1 g=1 r=1 until=99999999999999",
        "rekindle/1 kept r=",
        "Rekindle/1 g=1 r=1 until=1795953900",
    ],
)
def test_what_only_looks_like_it_is_foreign(text: str) -> None:
    comment = read_comment(text)
    assert comment.mark is None and comment.kept is None
    assert comment.foreign == text


def test_a_mark_over_a_wish_to_keep_replaces_it() -> None:
    kept = read_comment(with_wish_to_keep(1, "ticket"))
    assert with_mark(OURS, kept.foreign) == "rekindle/1 g=2 r=1 until=1795953900 ticket"
