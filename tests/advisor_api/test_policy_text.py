"""Is a policy carried as YAML without loss, and is everything else refused with a sentence that says where?"""

from dataclasses import fields

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from advisor_api.policy.text import MOST_BYTES, PolicyText, read, write
from advisor_api.policy.values import FOR_ALL, BadPolicy, Policy
from tests.advisor_api.test_policy_merging import VALUES

HEAD = "format: rekindle-policy/1\n"
NAMES = st.text(st.characters(codec="utf-8", exclude_characters=","), min_size=1, max_size=20).filter(
    lambda text: text == text.strip() and text.isprintable()
)
NOTES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=80)
PLACES = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"cluster": NAMES}),
    st.fixed_dictionaries({"cluster": NAMES, "partition": NAMES}),
    st.fixed_dictionaries({"cluster": NAMES, "user": NAMES}),
)


@given(VALUES, PLACES, NOTES)
@example({}, {}, "first\x85second\u2028third\u2029é")
def test_there_and_back_is_the_same(values: dict[str, float], place: dict[str, str], note: str) -> None:
    if "user" in place:
        values = {name: value for name, value in values.items() if name not in FOR_ALL}
    policy = PolicyText(values, note=note, **place)
    text = write(policy)
    found = read(text)
    assert found == policy
    assert {name: type(value) for name, value in found.values.items()} == {
        name: type(value) for name, value in values.items()
    }
    assert write(found) == text
    assert read(text.encode()) == policy


@pytest.mark.parametrize(
    "word", ["no", "null", "~", "1", "0x10", "1e3", "yes", "2026-11-29", "*a", "&a", "!t", "- a"]
)
def test_names_that_yaml_would_take_for_something_else(word: str) -> None:
    assert read(write(PolicyText(cluster="c", partition=word))).partition == word


def test_all_values_are_said_in_a_text_that_a_person_can_read() -> None:
    text = write(PolicyText({"max_requeues": 3, "exclude_confidence": 0.05}, cluster="alpha", note="calmer"))
    assert text == HEAD + "cluster: alpha\nnote: calmer\nvalues:\n  exclude_confidence: 0.05\n  max_requeues: 3\n"
    assert read(HEAD + "# a remark\ncluster: ~\npartition:\nvalues: {}\n") == PolicyText()
    assert {field.name for field in fields(Policy)} >= {"max_requeues"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "The text is empty"),
        ("# only a remark\n", "The text is empty"),
        ("values: {}\n", "begins with `format"),
        ("format: rekindle-policy/2\nvalues: {}\n", "begins with `format"),
        (HEAD, "`values` is missing"),
        (HEAD + "values:\n", "Line 2: values must be a mapping"),
        (HEAD + "values: 3\n", "Line 2: values must be a mapping"),
        ("- a\n", "Line 1: a list"),
        ("just words\n", "Line 1: a policy must be a mapping"),
        (HEAD + "value: {}\n", "Line 2: 'value' is not known; known are format, cluster"),
        (HEAD + "values:\n  max_requeue: 3\n", "Line 3: 'max_requeue' is no policy value"),
        (
            HEAD + "values:\n  max_requeues: many\n",
            "Line 3: max_requeues must be a decimal number, and 'many'",
        ),
        (HEAD + "values:\n  max_requeues: '3'\n", "Line 3: max_requeues must be a decimal number"),
        (HEAD + "values:\n  max_requeues: yes\n", "Line 3: max_requeues must be a decimal number"),
        (HEAD + "values:\n  max_requeues: 010\n", "and '010' is none"),
        (HEAD + "values:\n  max_requeues: 0x10\n", "and '0x10' is none"),
        (HEAD + "values:\n  max_requeues: 1_0\n", "and '1_0' is none"),
        (HEAD + "values:\n  max_requeues: 1:30\n", "and '1:30' is none"),
        (HEAD + "values:\n  max_requeues: ٣\n", "is none"),
        (HEAD + f"values:\n  max_requeues: {'9' * 5000}\n", "must be a decimal number"),
        (HEAD + "values:\n  max_requeues: 2.5\n", "Line 3: max_requeues must be a whole number"),
        (HEAD + "values:\n  max_requeues: -1\n", "Line 3: max_requeues must be from 0"),
        (HEAD + "values:\n  max_requeues: 3\n  hold_seconds: 99999999999\n", "Line 4: hold_seconds must be from 0"),
        (HEAD + "values:\n  exclude_confidence: 1.5\n", "Line 3: exclude_confidence must be between"),
        (HEAD + "values:\n  exclude_confidence: .nan\n", "must be a decimal number"),
        (HEAD + "values:\n  exclude_confidence: 1e999\n", "must be between"),
        (HEAD + "values:\n  max_requeues: {a: 1}\n", "Line 3: a mapping stands in a mapping"),
        (HEAD + "values:\n  max_requeues: [1]\n", "Line 3: a list"),
        (HEAD + "values:\n  max_requeues: 1\n  max_requeues: 2\n", "Line 4: 'max_requeues' stands there twice"),
        (HEAD + "values: {}\nvalues: {}\n", "Line 3: 'values' stands there twice"),
        (HEAD + "? [a]\n: 1\n", "Line 2: a list"),
        (HEAD + "? {a: b}\n: 1\nvalues: {}\n", "Line 2: a name must be a text"),
        ("a: &a [x]\nb: *a\n", "Line 1: anchors"),
        ("a: *a\n", "Line 1: anchors"),
        ("<<: {a: 1}\n", "Line 1: '<<' is not known"),
        ("!!python/object/apply:os.system ['x']\n", "Line 1: tags"),
        ("a: !!int 3\n", "Line 1: tags"),
        ("a: !mine 3\n", "Line 1: tags"),
        ("%TAG ! tag:x,2000:\n---\n!y 1\n", "Line 3: tags"),
        ("--- {}\n--- {}\n", "Line 2: a second document"),
        ("a: 'b\n", "the text is no YAML"),
        ("a: b: c\n", "Line 1: the text is no YAML"),
        ("\ta: b\n", "Line 1: the text is no YAML"),
        ("{" * 20_000, "Line 1: a mapping stands in a mapping"),
        ("[" * 20_000, "Line 1: a list"),
        ("a: \0\n", "The text is no YAML"),
        ("a: \ud800\n", "not UTF-8"),
        (b"\xff\xfe", "not UTF-8"),
        ("#" * (MOST_BYTES + 1), "more than 65536 bytes"),
        (HEAD + f"note: {'n' * 501}\nvalues: {{}}\n", "Line 2: note must be plain text of at most 500"),
        (HEAD + "partition: gpu\nvalues: {}\n", "names its cluster"),
        (HEAD + "cluster: a\npartition: gpu\nuser: tess\nvalues: {}\n", "not of both"),
        (HEAD + "cluster: a\npartition: 'a,b'\nvalues: {}\n", "one name"),
        (HEAD + "cluster: a\npartition: ' a'\nvalues: {}\n", "one name"),
        (HEAD + 'cluster: a\nuser: "a\\0b"\nvalues: {}\n', "Line 3: user must be plain text"),
        (
            HEAD + "cluster: a\nuser: tess\nvalues:\n  storm_restarts: 9\n",
            "storm_restarts cannot be said for one user",
        ),
    ],
)
def test_what_is_refused(text: str | bytes, sentence: str) -> None:
    with pytest.raises(BadPolicy) as refused:
        read(text)
    assert sentence in str(refused.value)
    assert len(str(refused.value)) < 1500 and "\n" not in str(refused.value)


def test_a_bomb_of_anchors_is_never_built() -> None:
    lines = ["a0: &a0 x"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40)]
    with pytest.raises(BadPolicy, match="Line 1: anchors"):
        read("\n".join(lines))


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    try:
        read(text)
    except BadPolicy as refused:
        assert str(refused)
