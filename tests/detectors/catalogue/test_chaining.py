"""Which of two chained errors is the cause, who raised an error, and what is there again?"""

import pytest

from detectors.catalogue.catalogue import table
from detectors.catalogue.crash import NAME
from detectors.catalogue.refining import by_package
from detectors.catalogue.role import Role
from tests.detectors.catalogue.building import Watching, look, records

HEAD = "Traceback (most recent call last):"
OWN = '  File "/home/user/train.py", line 12, in load'
HANDLED = "During handling of the above exception, another exception occurred:"
CAUSED = "The above exception was the direct cause of the following exception:"
MISSING = "FileNotFoundError: [Errno 2] No such file or directory: '/data/shard.00412.mds'"


def chain(first: str, joint: str, second: str, rank: str = "") -> list[str]:
    return [rank + line for line in (HEAD, OWN, first, "", joint, "", HEAD, OWN, second)]


def causes(watching: Watching) -> set[str]:
    return {f.signature for f in watching.findings.values() if f.role in (Role.ROOT, Role.CANDIDATE)}


CHAINS = [
    ("a look-up before an error that says more", "KeyError: 'a'", HANDLED, MISSING, {"data.missing"}),
    ("the same, raised from it", "KeyError: 'a'", CAUSED, MISSING, {"data.missing"}),
    (
        "an optional module before a failure of the GPU",
        "ModuleNotFoundError: No module named 'apex'",
        HANDLED,
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        {"cuda.ecc"},
    ),
    (
        "a disk before the program's words about it",
        "OSError: [Errno 5] Input/output error",
        CAUSED,
        "RuntimeError: checkpoint of step 4000 is not complete",
        {"fs.eio"},
    ),
    (
        "a network before the program's words about it",
        "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='h', port=443)",
        HANDLED,
        "ValueError: the tokenizer could not be loaded",
        {"data.remote"},
    ),
    (
        "an assertion before a missing file: nobody knows",
        "AssertionError: the mask has no row",
        HANDLED,
        MISSING,
        {"py.assert", "data.missing"},
    ),
    (
        "a look-up before an error that says no more",
        "KeyError: 'a'",
        HANDLED,
        "RuntimeError: bad batch",
        {"py.syntax", "py.exception"},
    ),
    ("no joint between them", "KeyError: 'a'", "something else", MISSING, {"py.syntax", "data.missing"}),
]


@pytest.mark.parametrize(
    ("first", "joint", "second", "left"), [case[1:] for case in CHAINS], ids=[case[0] for case in CHAINS]
)
def test_the_cause_of_a_chain(first: str, joint: str, second: str, left: set[str]) -> None:
    for cut in (1, 4, 6, 8):
        lines = chain(first, joint, second)
        whole, parts = Watching(), Watching()
        whole.see(records(lines))
        made = records(lines)
        parts.see(made[:cut])
        parts.see(made[cut:])
        assert causes(whole) == left
        assert whole.states[NAME]["symptoms"] == parts.states[NAME]["symptoms"]


def test_ranks_that_print_the_same_chain_at_once() -> None:
    one, other = (chain("KeyError: 'a'", HANDLED, MISSING, f"[rank{rank}]: ") for rank in (1, 2))
    watching = Watching()
    watching.see(records([line for pair in zip(one, other, strict=True) for line in pair]))
    assert causes(watching) == {"data.missing"}
    assert watching.found("py.syntax").count == 2


def test_a_look_up_that_ends_a_program_later_is_a_cause_again() -> None:
    watching = Watching()
    watching.see(records(chain("KeyError: 'a'", HANDLED, MISSING)))
    watching.see(records([HEAD, OWN, "KeyError: 'a'"], seconds=60))
    assert causes(watching) == {"py.syntax", "data.missing"}


def test_the_memory_of_chains_is_bounded() -> None:
    watching = Watching()
    for rank in range(200):
        watching.see(records([f"[rank{rank}]: {MISSING}"]))
    assert len(watching.states[NAME]["chains"]) <= 64


@pytest.mark.parametrize(
    ("frame", "signature"),
    [
        ("/env/lib/python3.11/site-packages/datasets/builder.py", "py.in_reader"),
        ("/usr/lib/python3.10/tarfile.py", "py.in_reader"),
        ("/env/lib/python3.11/site-packages/s3fs/core.py", "py.in_store"),
        ("/env/lib/python3.11/site-packages/torch/_inductor/graph.py", "py.in_compiler"),
        ("/env/lib/python3.11/site-packages/torch/nn/functional.py", "py.exception"),
        ("/home/user/datasets/builder.py", "py.exception"),
    ],
)
def test_an_error_belongs_to_who_raised_it(frame: str, signature: str) -> None:
    watching = Watching()
    watching.see(records([HEAD, OWN, f'  File "{frame}", line 3, in go', "RuntimeError: it is bad"]))
    (found,) = watching.findings.values()
    assert found.signature == signature
    assert found.sentence.endswith("in train.py:load.") or signature == "py.exception"


def test_an_error_that_says_what_it_is_stays_what_it_is() -> None:
    assert by_package("cuda.ecc", "datasets/builder.py") == "cuda.ecc"
    assert by_package("py.exception", "") == "py.exception"
    assert all(name.startswith("py.in_") for name in table("packages"))


LOST = (
    "Lustre: fs-OST000{0}-osc-ff: Connection to fs-OST000{0} (at 10.0.0.{0}@o2ib) was lost; in progress operations "
)
LOST += "using this service will wait for recovery to complete"
BACK = "Lustre: fs-OST000{0}-osc-ff: Connection restored to fs-OST000{0} (at 10.0.0.{0}@o2ib)"


def test_what_is_there_again_is_over() -> None:
    watching = Watching()
    outcome = watching.see(records([LOST.format(4), BACK.format(4)]))
    assert outcome.ended == (watching.found("kernel.lustre_lost").key,)
    assert watching.see(records([LOST.format(4)], seconds=90)).ended == ()
    assert len(watching.findings) == 2


def test_another_target_that_is_there_again_ends_nothing() -> None:
    watching = Watching()
    assert watching.see(records([LOST.format(4), LOST.format(5), BACK.format(5)])).ended == ()
    assert watching.see(records([BACK.format(4)], seconds=60)).ended == (watching.found("kernel.lustre_lost").key,)


def test_a_server_that_answers_again() -> None:
    lines = ["nfs: server nas1 not responding, still trying", "nfs: server nas1 OK"]
    assert len(Watching().see(records(lines)).ended) == 1
    assert Watching().see(records([*lines, lines[0]])).ended != Watching().see(records(lines[:1])).ended == ()


def test_a_list_of_what_might_have_been_names_no_signal() -> None:
    line = "There are some potential root causes. (1) OOM killer. (3) The worker crashed due to SIGSEGV."
    assert look(line).fault is None


@pytest.mark.parametrize("loss", ["loss nan |", "loss: NaN,", "train_loss inf", "'loss': Inf, 'lr'"])
def test_a_loss_that_is_no_number_in_other_forms(loss: str) -> None:
    watching = Watching()
    watching.see(records([f"epoch 0 batch {number} {loss}" for number in range(4)], every=10))
    assert [found.kind for found in watching.findings.values()] == ["nan"]
