"""Can a log line act on whoever reads it?"""

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from console.hostile_text import LINE_LIMIT, visible, visible_block, visible_html
from tests.console.sample import Sample


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("plain", "step 12 loss 3.1", "step 12 loss 3.1"),
        ("tabs stay", "a\tb", "a\tb"),
        ("letters of the world", "größer 东京 ελληνικά עברית", "größer 东京 ελληνικά עברית"),
        ("colour", "\x1b[31mred\x1b[0m", "⟨ESC⟩[31mred⟨ESC⟩[0m"),
        ("line ends", "a\r\nb", "a⟨CR⟩⟨LF⟩b"),
        ("delete", "a\x7f", "a⟨U+007F⟩"),
        ("C1 escape", "\x9b31m", "⟨U+009B⟩31m"),
        ("direction override", "\u202egnp.exe\u202c", "⟨U+202E⟩gnp.exe⟨U+202C⟩"),
        ("isolates", "\u2066x\u2069", "⟨U+2066⟩x⟨U+2069⟩"),
        ("no width", "ro\u200bot\ufeff", "ro⟨U+200B⟩ot⟨U+FEFF⟩"),
        ("separators", "a\u2028b\u2029", "a⟨U+2028⟩b⟨U+2029⟩"),
        ("tags", "\U000e0041", "⟨U+E0041⟩"),
        ("lone surrogate", "\ud800", "⟨U+D800⟩"),
        ("private use", "\ue000", "⟨U+E000⟩"),
        ("accents", "e\u0301", "e\u0301"),
        ("tower of accents", "e" + "\u0301" * 5, "e" + "\u0301" * 3 + "⟨U+0301⟩⟨U+0301⟩"),
    ],
)
def test_acting_characters_are_shown(name: str, text: str, shown: str) -> None:
    assert visible(text) == shown


def test_markup_is_escaped_and_stand_ins_are_set_apart() -> None:
    assert visible_html("<b>&\x07") == '&lt;b&gt;&amp;<span class="stand-in">⟨BEL⟩</span>'


def test_a_block_keeps_its_lines() -> None:
    assert visible_block("a\nb<\n") == "a\nb&lt;"


def test_a_long_line_is_cut_and_says_so() -> None:
    assert visible("x" * (LINE_LIMIT + 7)).endswith("x … 7 more characters")


@given(st.text(alphabet=st.characters(), max_size=60))
def test_nothing_gets_through(text: str) -> None:
    shown = visible_html(text)
    rest = shown.replace('<span class="stand-in">', "").replace("</span>", "")
    assert "<" not in rest
    assert '"' not in rest
    assert all(ord(c) >= 0x20 or c == "\t" for c in rest)
    assert not set(rest) & set(
        "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u200b\ufeff\x7f"
    )


def test_no_page_lets_a_hostile_job_speak(as_viewer: Client, rows: Sample) -> None:
    copy = rows.recovered.attempts.get(index=0).excerpts.get()
    for address in (
        "/",
        "/jobs",
        "/jobs/demo-monitor/815/0",
        "/jobs/demo/4711/0",
        reverse("log-copy", args=["demo", 4711, 0, copy.pk]),
    ):
        text = as_viewer.get(address).content.decode()
        assert "<script>alert" not in text, address
        assert not set(text) & {"\x1b", "\x07", "\u202e", "\u202c"}, address
    assert "⟨ESC⟩[31mERROR" in as_viewer.get("/jobs").content.decode()


def test_what_was_searched_for_is_escaped(as_viewer: Client, rows: Sample) -> None:
    text = as_viewer.get("/jobs", {"q": '"><script>x</script>'}).content.decode()
    assert "<script>x" not in text
    assert "&quot;&gt;&lt;script&gt;" in text
