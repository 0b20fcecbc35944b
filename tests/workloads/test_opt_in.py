"""What does a job's comment ask for, and what is said of one that cannot be understood?"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.mode import Mode
from workloads.opt_in import OptIn, read_comment, read_stored

FULL = {
    "nvidia-recovery": {"environment": "prod", "mode": "action"},
    "APS": {"auto_resume_mode": "requeue", "max_requeue_times": 3},
    "workflowId": "gpt-7",
    "logs": ["logs/%x_%j_%t.log"],
}

UNDERSTOOD: dict[str, tuple[str, OptIn]] = {
    "nothing": ("", OptIn()),
    "blanks": ("  ", OptIn()),
    "JSON of somebody else": ('{"wandb": {"id": 1}}', OptIn()),
    "everything": (
        json.dumps(FULL),
        OptIn("prod", Mode.ACTION, "requeue", 3, "gpt-7", ("logs/%x_%j_%t.log",)),
    ),
    "the word observe is monitor": ('{"nvidia-recovery": {"mode": "observe"}}', OptIn(mode=Mode.MONITOR)),
    "approve": ('{"nvidia-recovery": {"mode": "approve"}}', OptIn(mode=Mode.APPROVE)),
    "our keys inside": (
        '{"nvidia-recovery": {"workflowId": "w", "logs": ["a"]}}',
        OptIn(workflow_id="w", logs=("a",)),
    ),
    "our keys in both places: the inner ones": (
        '{"workflowId": "outer", "nvidia-recovery": {"workflowId": "inner"}}',
        OptIn(workflow_id="inner"),
    ),
    "no requeue at all": ('{"APS": {"max_requeue_times": 0}}', OptIn(max_requeue_times=0)),
    "a singleton successor": (
        '{"APS": {"auto_resume_mode": "singleton_dependency"}}',
        OptIn(auto_resume_mode="singleton_dependency"),
    ),
    "a lone surrogate is replaced": (r'{"workflowId": "a\ud800b"}', OptIn(workflow_id="a�b")),
    "a NUL is replaced": (r'{"workflowId": "a\u0000b"}', OptIn(workflow_id="a�b")),
}


@pytest.mark.parametrize(("comment", "expected"), UNDERSTOOD.values(), ids=UNDERSTOOD.keys())
def test_understood(comment: str, expected: OptIn) -> None:
    assert read_comment(comment) == (expected, "")


REFUSED: dict[str, tuple[str, str]] = {
    "free text": ("lr sweep, second try", "no JSON"),
    "quotes eaten by the shell": (
        "{nvidia-recovery:{mode:action}}",
        "arrived as {nvidia-recovery:{mode:action}} without double quotes",
    ),
    "cut in the middle": ('{"nvidia-recovery": {"mode"', "character 28"),
    "too long": (json.dumps({"workflowId": "x" * 1020}), "longer than 1024 bytes"),
    "too long in bytes only": (json.dumps({"a": "ü" * 600}, ensure_ascii=False), "longer than 1024 bytes"),
    "no object": ('["action"]', "must be a JSON object"),
    "nested without end": ("[" * 1024, "The comment is n"),  # too deeply, or where Python allows it: no JSON
    "a key twice": ('{"APS": {}, "APS": {}}', '"APS" twice'),
    "unknown mode": ('{"nvidia-recovery": {"mode": "full"}}', "nvidia-recovery.mode must be one of monitor"),
    "mode in another case": ('{"nvidia-recovery": {"mode": "ACTION"}}', 'not "ACTION"'),
    "mode is a list": ('{"nvidia-recovery": {"mode": ["action"]}}', 'not ["action"]'),
    "mode is true": ('{"nvidia-recovery": {"mode": true}}', "not true"),
    "recovery is a text": ('{"nvidia-recovery": "action"}', "nvidia-recovery must be an object"),
    "APS is a list": ('{"APS": []}', "APS must be an object"),
    "environment is a number": ('{"nvidia-recovery": {"environment": 5}}', "nvidia-recovery.environment must be"),
    "unknown resume mode": (
        '{"APS": {"auto_resume_mode": "always"}}',
        "APS.auto_resume_mode must be one of requeue",
    ),
    "requeues as a text": ('{"APS": {"max_requeue_times": "3"}}', "APS.max_requeue_times must be a whole number"),
    "requeues true": ('{"APS": {"max_requeue_times": true}}', "not true"),
    "requeues below zero": ('{"APS": {"max_requeue_times": -1}}', "not -1"),
    "requeues beyond sense": ('{"APS": {"max_requeue_times": 1e999}}', "not Infinity"),
    "workflow without a name": ('{"workflowId": ""}', "workflowId must be a text of 1 to 256"),
    "workflow with a long name": (json.dumps({"workflowId": "w" * 257}), "workflowId must be a text of 1 to 256"),
    "logs is a text": ('{"logs": "a.log"}', "logs must be a list of at most 8"),
    "nine logs": (json.dumps({"logs": ["a"] * 9}), "logs must be a list of at most 8"),
    "logs of numbers": ('{"logs": [1]}', "logs must hold path patterns, not 1"),
    "logs with a NUL": (r'{"logs": ["a\u0000"]}', "logs must hold path patterns"),
}


@pytest.mark.parametrize(("comment", "part"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_comments_leave_the_job_in_monitor_mode_with_a_sentence(comment: str, part: str) -> None:
    opt_in, error = read_comment(comment)
    assert opt_in == OptIn(mode=Mode.MONITOR)
    assert part in error
    assert len(error) <= 500
    assert error.endswith(".")


def test_who_wants_what() -> None:
    silent, action, monitor = OptIn(), OptIn(mode=Mode.ACTION), OptIn(mode=Mode.MONITOR)
    assert [each.wants_action for each in (silent, action, monitor)] == [False, True, False]
    assert [each.wants_peace for each in (silent, action, monitor)] == [False, False, True]


@pytest.mark.parametrize("opt_in", [opt_in for _, opt_in in UNDERSTOOD.values()], ids=UNDERSTOOD.keys())
def test_what_is_stored_is_read_back(opt_in: OptIn) -> None:
    assert read_stored(json.loads(json.dumps(opt_in.stored()))) == opt_in


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["nvidia-recovery", "APS", "mode", "logs", "workflowId", "max_requeue_times", "environment"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(st.one_of(st.text(max_size=80), JSON.map(json.dumps)))
def test_no_comment_breaks_the_reader_and_none_opts_in_by_accident(comment: str) -> None:
    opt_in, error = read_comment(comment)
    json.dumps(opt_in.stored()).encode()
    assert not (error and opt_in.wants_action)
    assert not opt_in.wants_action or '"action"' in comment
