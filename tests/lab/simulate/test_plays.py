"""Is a play, a scenario or a node list that cannot be used refused with one sentence?"""

import json

import pytest

from lab.simulate.hostlist import expand, fold, spans
from lab.simulate.play import BadPlay, Fault, Play, read_play
from lab.simulate.scenario import BadScenario, Written, scenario_of
from lab.simulate.settings import Settings
from tests.lab.simulate.stage import START, Stage

BAD_PLAYS = [
    ("no json", "The play is no JSON: "),
    ("[" * 100_000, "The play is no JSON: "),
    ("[1]", "The play must be an object."),
    ('{"nodes": 0}', "The play: 'nodes' must be a whole number from 1 to 9999."),
    ('{"nodes": true}', "The play: 'nodes' must be a whole number"),
    ('{"nodes": "2"}', "The play: 'nodes' must be a whole number"),
    ('{"step_seconds": NaN}', "The play: 'step_seconds' must be from 0.01 to 86400 seconds."),
    ('{"step_seconds": Infinity}', "The play: 'step_seconds' must be"),
    ('{"requeue": 1}', "The play: 'requeue' must be true or false."),
    ('{"name": "a\\u0000b"}', "The play: 'name' must be a text of at most 256 bytes without NUL."),
    ('{"output": "../x"}', "The play: 'output' must be a path below the cluster's folder of logs."),
    ('{"output": "/etc/x"}', "The play: 'output' must be a path below"),
    ('{"dialect": "other"}', "The play: 'dialect' must be one of megatron, nemo, "),
    ('{"open_mode": []}', "The play: 'open_mode' must be one of truncate, append."),
    ('{"wrong": 1}', "The play has an unknown key 'wrong'."),
    ('{"faults": {}}', "'faults' must be a list of at most 100 faults."),
    ('{"faults": [1]}', "Fault 0 must be an object."),
    ('{"faults": [{"step": 1}]}', "Fault 0 has no 'kind'."),
    ('{"faults": [{"kind": "ecc"}, {"kind": "fire"}]}', "Fault 1: 'kind' must be one of ecc, "),
    ('{"faults": [{"kind": "lines", "lines": "x"}]}', "Fault 0: 'lines' must be a list of at most 1000 lines."),
    (
        '{"faults": [{"kind": "exit", "exit_code": 256}]}',
        "Fault 0: 'exit_code' must be a whole number from 0 to 255.",
    ),
    ('{"faults": [{"kind": "text"}]}', "Fault 0 has no 'text'."),
    ('{"faults": [{"kind": "text", "text": "none"}]}', "Fault 0: 'text' must be one of the lab's texts."),
    ('{"faults": [{"kind": "text", "text": ["none"]}]}', "Fault 0: 'text' must be one of the lab's texts."),
    ('{"faults": [{"kind": "ecc", "ends": "well"}]}', "Fault 0: 'ends' must be one of failed, hang, goes_on."),
    ('{"faults": [{"kind": "spin", "seconds": 0}]}', "Fault 0: 'seconds' must be from 0.1 to "),
    ('{"faults": [{"kind": "slow", "factor": NaN}]}', "Fault 0: 'factor' must be a number from 0 to 10000."),
    ('{"faults": [{"kind": "slow", "growth": "1"}]}', "Fault 0: 'growth' must be a number from -100 to 100."),
    ('{"faults": [{"kind": "slow", "every": -1}]}', "Fault 0: 'every' must be a whole number"),
    ('{"faults": [{"kind": "nan", "until": 1.5}]}', "Fault 0: 'until' must be a whole number"),
    ('{"faults": [{"kind": "pause", "after": "x"}]}', "Fault 0: 'after' must be a list of at most 1000 lines."),
    ('{"faults": [{"kind": "ecc", "faults": []}]}', "Fault 0 has an unknown key 'faults'."),
    (json.dumps({"comment": "é" * 513}), "The play: 'comment' must be a text of at most 1024 bytes"),
    (" " * (1 << 18) + "{}", "A play holds at most 262144 bytes."),
]


@pytest.mark.parametrize(("text", "sentence"), BAD_PLAYS)
def test_a_bad_play_is_refused(text, sentence):
    with pytest.raises(BadPlay) as refused:
        read_play(text)
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


def test_a_play_with_everything_in_it():
    told = {
        "name": "llama",
        "user": "research",
        "partition": "main",
        "nodes": 3,
        "comment": "{}",
        "requeue": False,
        "output": "%x_%j.log",
        "open_mode": "append",
        "steps": 7,
        "step_seconds": 0.5,
        "checkpoint_every": 0,
        "startup_seconds": 0,
        "dialect": "nemo",
        "faults": [
            {"kind": "lines", "attempt": None, "step": 2, "node": "n03", "lines": ["x"]},
            {"kind": "pause", "seconds": 3, "after": ["y"], "until": None},
            {"kind": "slow", "factor": 2, "growth": 0.5, "every": 3, "until": 9},
        ],
    }
    play = read_play(json.dumps(told))
    assert play.faults == (
        Fault("lines", step=2, node="n03", lines=("x",)),
        Fault("pause", seconds=3, after=("y",)),
        Fault("slow", factor=2, growth=0.5, every=3, until=9),
    )
    assert (play.nodes, play.open_mode, play.steps, play.requeue) == (3, "append", 7, False)
    assert read_play("{}") == Play()


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"partition": "gpu"}, "There is no partition 'gpu'."),
        ({"faults": [{"kind": "ecc", "node_name": "n99"}]}, "There is no node 'n99'."),
        ({"faults": [{"kind": "ecc", "node": "n99"}]}, "There is no node 'n99'."),
        (
            {"requeue": False, "faults": [{"kind": "requeue"}]},
            "A job that may not be requeued cannot be struck by 'requeue'.",
        ),
    ],
)
def test_a_play_that_does_not_fit_the_cluster_is_refused(told, sentence):
    stage = Stage()
    with pytest.raises(BadPlay, match=sentence):
        stage.submit(**told)
    assert stage.cluster.jobs == {}


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [(Fault("fire"), "There is no fault 'fire'."), (Fault("text", text="none"), "There is no text 'none'.")],
)
def test_a_play_built_by_hand_is_looked_at_too(fault, sentence):
    with pytest.raises(BadPlay, match=sentence):
        Stage().cluster.submit(Play(faults=(fault,)))


BAD_SCENARIOS = [
    ("[]", "it must be an object"),
    ('{"x": 1}', "it must be an object"),
    ("{", "is no JSON"),
    ('{"settings": []}', "'settings' must be an object."),
    ('{"settings": {"speed": 1}}', "'speed' is no setting; known are nodes, "),
    ('{"settings": {"nodes": 0}}', "'nodes' must be a number from 1 to 9999."),
    ('{"settings": {"nodes": 2.5}}', "'nodes' must be a whole number."),
    ('{"settings": {"kill_wait_seconds": "2"}}', "'kill_wait_seconds' must be a number"),
    ('{"jobs": {}}', "'jobs' must be a list"),
    ('{"jobs": [1]}', "job 0 needs an 'at' in seconds and a 'play'."),
    ('{"jobs": [{"at": -1, "play": {}}]}', "job 0 needs an 'at'"),
    ('{"jobs": [{"play": {"nodes": 0}}]}', "job 0: The play: 'nodes' must be"),
    ('{"jobs": [{"at": 1}]}', "job 0: The play must be an object."),
]


@pytest.mark.parametrize(("text", "sentence"), BAD_SCENARIOS)
def test_a_bad_scenario_is_refused(tmp_path, text, sentence):
    file = tmp_path / "scenario.json"
    file.write_text(text)
    with pytest.raises(BadScenario) as refused:
        scenario_of(str(file))
    assert sentence in str(refused.value)
    assert str(file) in str(refused.value)


def test_an_unknown_scenario_is_refused():
    with pytest.raises(BadScenario, match=r"There is no scenario 'nothing' \(demo, fleet, quiet, or a file: "):
        scenario_of("nothing")


def test_the_jobs_of_a_file_come_at_their_times():
    scenario = Written(
        {
            "settings": {"nodes": 12, "jobs_per_node": 2},
            "jobs": [{"at": 5, "play": {"name": "later"}}, {"play": {"name": "first"}}],
        }
    )
    settings = scenario.settings(Settings())
    assert settings.node_names[0] == "n01" and len(settings.node_names) == 12
    stage = Stage()
    scenario.tick(stage.cluster)
    assert [job.name for job in stage.cluster.jobs.values()] == ["first"]
    stage.cluster.advance(START + 5)
    scenario.tick(stage.cluster)
    assert [job.name for job in stage.cluster.jobs.values()] == ["first", "later"]


def test_a_scenario_waits_for_the_controller():
    scenario, stage = Written({"jobs": [{"play": {}}]}), Stage()
    stage.cluster.stop_controller()
    scenario.tick(stage.cluster)
    assert stage.cluster.jobs == {}
    stage.cluster.start_controller()
    scenario.tick(stage.cluster)
    assert list(stage.cluster.jobs) == [1]


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        ([], ""),
        (["n01"], "n01"),
        (["n01", "n02", "n05"], "n[01-02,05]"),
        (["n8", "n9", "n10"], "n[8-10]"),
        (["n08", "n09", "n10"], "n[08-10]"),
        (["a1", "b1", "b2", "login"], "a1,b[1-2],login"),
        (["n2", "n1", "n1"], "n[1-2]"),
    ],
)
def test_names_are_folded_and_unfolded(names, folded):
    assert fold(names) == folded
    assert set(expand(folded)) == set(names)


@pytest.mark.parametrize("text", ["n[01", "n01]", "n[a-b]", "n[3-1]", "n[1-99999999]", "n[]", "[1-300][1-300]"])
def test_a_list_that_cannot_be_read_is_an_error(text):
    with pytest.raises(ValueError, match=r"brackets|range|more than"):
        expand(text)


def test_spans_of_numbers():
    assert spans([5, 1, 2, 3, 7, 8]) == "1-3,5,7-8"
