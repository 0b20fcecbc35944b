"""Does a list of nodes mean to us what it means to Slurm?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedulers.hostlist import collapse, expand, is_node_name
from tests.schedulers.recording import HOSTNAMES, recorded

NAMES = st.from_regex(r"[a-z]{1,4}[0-9]{0,4}(-[a-z]{1,3}[0-9]{1,3})?", fullmatch=True)


@pytest.mark.parametrize("place", range(len(HOSTNAMES)), ids=HOSTNAMES)
def test_a_list_is_read_as_scontrol_reads_it(place):
    command, answer = recorded("22.05", f"hostnames_{place:02d}")
    assert command[-1] == HOSTNAMES[place]
    assert expand(command[-1]) == tuple(answer.stdout.split())


@pytest.mark.parametrize("text", ["", " ", "(null)", "None assigned", "n/a", "N/A"])
def test_words_for_nothing_name_no_node(text):
    assert expand(text) == ()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("n[1-2", "brackets that do not match"),
        ("n1-2]", "brackets that do not match"),
        ("n[1-[2]]", "brackets that do not match"),
        ("n[3-1]", "runs backwards"),
        ("n[]", "no list of numbers"),
        ("n[1-2,]", "no list of numbers"),
        ("n[a-b]", "no list of numbers"),
        ("n[1--2]", "no list of numbers"),
        ("n[١-٢]", "no list of numbers"),
        ("n1,,n2", "is no name of a node"),
        ("n1,", "is no name of a node"),
        ("-n1", "is no name of a node"),
        ("n1 n2", "is no list of nodes"),
        ("n1\nn2", "is no list of nodes"),
        ("n1;id", "is no name of a node"),
        ("n1/../x", "is no name of a node"),
        ("é1", "is no name of a node"),
        ("n" * 300, "is no name of a node"),
        ("n" + "[1]" * 300, "is no list of nodes"),
        ("n[0-65536]", "above the limit"),
        ("n[0-999999999999999999]", "above the limit"),
        ("a[0-255]b[0-255]c[0-1]", "above the limit"),
        ("n," * 600_000, "characters, more than"),
    ],
)
def test_what_is_no_list_is_refused_with_a_sentence(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        expand(text)


def test_the_longest_name_may_be_made_of_single_digits():
    assert expand("n" + "[1]" * 252) == ("n" + "1" * 252,)


def test_the_limit_counts_all_words_together():
    assert len(expand("n[1-3],m[1-2]", largest=5)) == 5
    with pytest.raises(ValueError, match="above the limit"):
        expand("n[1-3],m[1-3]", largest=5)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["n01"], "n01"),
        (["n03", "n01", "n02", "n02"], "n[01-03]"),
        (["n9", "n10", "n8"], "n[8-9],n10"),
        (["n1", "n01"], "n1,n01"),
        (["login", "n", "n1", "n3"], "login,n,n[1,3]"),
        (["gpu1-ib0", "gpu1-ib1", "gpu2-ib0"], "gpu1-ib[0-1],gpu2-ib0"),
    ],
)
def test_many_nodes_are_written_shortly(names, text):
    assert collapse(names) == text


def test_only_names_are_written():
    with pytest.raises(ValueError, match="no name of a node"):
        collapse(["n1", "n2,--all"])


@given(st.lists(NAMES, max_size=40))
def test_what_is_written_is_read_back(names):
    assert sorted(expand(collapse(names))) == sorted(set(names))


@given(st.text(alphabet="n0123456789[],- \n٣é", max_size=40))
def test_any_text_is_a_list_of_names_or_refused(text):
    try:
        names = expand(text, largest=1000)
    except ValueError:
        return
    assert len(names) <= 1000
    assert all(is_node_name(name) for name in names)


@given(st.from_regex(r"n\[[0-9]{1,2}-[0-9]{1,2}(,[0-9]{1,3})?\]", fullmatch=True))
def test_every_name_of_a_range_has_the_padding_of_its_first(text):
    try:
        names = expand(text)
    except ValueError:
        return
    first = text[2:].partition("-")[0]
    assert names[0] == f"n{first}"
    assert all(len(name) >= len(first) + 1 for name in names[:-1])
