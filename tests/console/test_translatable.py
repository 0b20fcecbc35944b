"""Can every word that people read on the pages be translated, and does a translation reach it?"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.console.untranslated import in_files, of_module, of_template

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("advisor_api", "audit", "detectors", "recovery_site", "workloads")
OF_THE_ADMIN = ("*admin*.py", "*_forms.py", "insert_only.py", "people.py", "previewing.py", "read_only.py")


@pytest.mark.parametrize(
    ("source", "found"),
    [
        pytest.param("<p>Hold it</p>", ["Hold it"], id="text"),
        pytest.param("<p>{% translate 'Hold it' %}</p>", [], id="translated"),
        pytest.param(
            "{% blocktranslate trimmed with a=b %}Until {{ a }}{% endblocktranslate %}", [], id="a sentence"
        ),
        pytest.param('<a title="Hold it"></a>', ["title=Hold it"], id="attribute"),
        pytest.param('<a href="/hold/it" class="hold it"></a>', [], id="unread attributes"),
        pytest.param(
            '<button value="Yes">x</button><input type="submit" value="Send">', ["value=Send"], id="button"
        ),
        pytest.param("{{ a|default:'Nobody yet' }}", ["{{ a|default:'Nobody yet' }}"], id="literal"),
        pytest.param("{{ a|default:_('Nobody yet') }}", [], id="literal that is translated"),
        pytest.param("job{{ n|pluralize }}", ["job", "{{ n|pluralize }}"], id="an English plural"),
        pytest.param("{% if a == 'x' %}{% url 'job' a %}{% endif %}", [], id="names"),
        pytest.param("<code>log_roots is it</code> Rekindle {{ n }} ms UTC", [], id="what stays"),
        pytest.param("{# Hold it #}{% comment %}Hold it{% endcomment %}", [], id="remarks"),
    ],
)
def test_templates_are_read_as_people_read_them(source: str, found: list[str]) -> None:
    assert of_template(source) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        pytest.param('x = "Hold it now"', ["1: Hold it now"], id="text"),
        pytest.param('x = f"Hold {it} now"', ["1: Hold {} now"], id="with a value"),
        pytest.param('x = _("Hold %(it)s now") % {"it": it}', [], id="translated"),
        pytest.param('"""Hold it now."""\ndef f():\n    """Hold it now."""', [], id="documentation"),
        pytest.param('log.warning("Hold it now")\nraise ValueError("Hold it now")', [], id="for developers"),
        pytest.param('raise Bad("Hold it now")', ["1: Hold it now"], id="for people"),
        pytest.param('x = "Hold it now"  # stays English: stored', [], id="stored"),
        pytest.param('class A(Word):\n    HOLD = "hold", "Hold it now"', [], id="labels"),
        pytest.param('x = "job__cluster"\ny = "n03"', [], id="names"),
    ],
)
def test_modules_are_read_as_people_read_them(source: str, found: list[str]) -> None:
    assert of_module(source) == found


def pages() -> Iterator[Path]:
    yield from sorted((ROOT / "templates").rglob("*.html"))
    yield from sorted(file for file in (ROOT / "console").rglob("*.py") if "migrations" not in file.parts)
    yield from sorted(file for room in ROOMS for name in OF_THE_ADMIN for file in (ROOT / room).rglob(name))


def test_every_word_can_be_translated() -> None:
    left = [f"{file.relative_to(ROOT)}: {text}" for file, text in in_files(pages())]
    assert left == []
