"""Is each gate closed when it should be, with a sentence, and are all of them read every time?"""

from dataclasses import dataclass, field
from typing import Any

import pytest

from advisor_api.acting import Acting
from advisor_api.gates import GATES, WAITS_FOR_APPROVAL, may_act
from advisor_api.models import Advice, Pause
from advisor_api.policy.values import Policy
from detectors.models import Verdict
from tests.advisor_api.world import NOW, seconds
from workloads.models import Cluster, Job

ACTION = {"environment": "demo", "mode": "action"}


@dataclass
class Scene:
    """An advice that may be carried out, unless something is changed."""

    cluster: dict[str, Any] = field(default_factory=dict)
    job: dict[str, Any] = field(default_factory=dict)
    advice: dict[str, Any] = field(default_factory=dict)
    pauses: list[dict[str, Any]] = field(default_factory=list)
    policy: Policy | None = field(default_factory=Policy)

    def ask(self) -> tuple[bool, str]:
        cluster = Cluster(
            **{
                "name": "demo",
                "environment": "demo",
                "mode": "action",
                "acknowledge_scheduler_actions": True,
                "partitions": ["main"],
                **self.cluster,
            }
        )
        job = Job(**{"number": 100, "user": "tess", "partition": "main", "opt_in": ACTION, **self.job})
        advice = Advice(
            **{
                "operation": "restart",
                "state": "pending",
                "mode_at_decision": "action",
                "expires_at": NOW + seconds(60),
                **self.advice,
            }
        )
        end = {"since": NOW - seconds(5), "until": NOW + seconds(60), "reason": "r"}
        pauses = [Pause(**{**end, **pause}) for pause in self.pauses]
        return may_act(advice, cluster, job, pauses, Acting({job.pk: self.policy}), NOW)


OPEN = [
    ("all gates open", Scene()),
    ("approved in approve mode", Scene({"mode": "approve"}, advice={"mode_at_decision": "approve"})),
    ("approved, and the mode was raised since", Scene(advice={"mode_at_decision": "approve"})),
    ("every partition is watched", Scene({"partitions": []}, {"partition": "other"})),
    ("a comment that names no environment", Scene(job={"opt_in": {"mode": "action"}})),
    ("an opt-out cluster and a silent job", Scene({"opt_out": True}, {"opt_in": {}})),
    (
        "on hardware may be acted, on others not",
        Scene(
            advice={"verdict": Verdict(layer="hardware.gpu")},
            policy=Policy(act_on_unknown=0, act_on_application=0, act_on_network=0),
        ),
    ),
    (
        "the network has a class of its own",
        Scene(advice={"verdict": Verdict(layer="hardware.network")}, policy=Policy(act_on_hardware=0)),
    ),
    ("a pause of somebody else", Scene(pauses=[{"scope": "user", "value": "tom"}])),
    ("a pause of another job", Scene(pauses=[{"scope": "job", "value": "10"}])),
    ("a pause of another partition", Scene(pauses=[{"scope": "partition", "value": "mai"}])),
    ("a pause that has ended", Scene(pauses=[{"scope": "cluster", "until": NOW}])),
]


@pytest.mark.parametrize("scene", [pytest.param(scene, id=name) for name, scene in OPEN])
def test_open(scene: Scene) -> None:
    assert scene.ask() == (True, "")


CLOSED = [
    ("nobody approved yet", Scene(advice={"state": "awaiting_approval"}), WAITS_FOR_APPROVAL),
    ("it was reached", Scene(advice={"state": "converged"}), "it is reached"),
    ("it was abandoned", Scene(advice={"state": "abandoned"}), "it is abandoned"),
    ("it asks a person", Scene(advice={"operation": "wait"}), "it asks a person"),
    ("it expires at this moment", Scene(advice={"expires_at": NOW}), "it expired at 2026-11-29 10:00:00 UTC"),
    ("the cluster is not watched", Scene({"enabled": False}), "demo is not watched"),
    ("monitor mode", Scene({"mode": "monitor"}), "demo is in monitor mode"),
    (
        "decided in monitor mode, before the switch",
        Scene(advice={"mode_at_decision": "monitor"}),
        "it was decided in monitor mode: a new mode is for new advice",
    ),
    (
        "decided in action mode, and approvals are wanted since",
        Scene({"mode": "approve"}),
        "demo is in approve mode now, and nobody has approved this",
    ),
    (
        "not acknowledged",
        Scene({"acknowledge_scheduler_actions": False}),
        "acknowledgeSchedulerActions is not set for demo",
    ),
    (
        "the cluster is paused",
        Scene(pauses=[{"scope": "cluster"}]),
        "demo is paused until 2026-11-29 10:01 UTC: r",
    ),
    (
        "the user is paused",
        Scene(pauses=[{"scope": "user", "value": "tess"}]),
        "user tess is paused until 2026-11-29 10:01 UTC: r",
    ),
    (
        "the job is paused",
        Scene(pauses=[{"scope": "job", "value": "100"}]),
        "job 100 is paused until 2026-11-29 10:01 UTC: r",
    ),
    (
        "the partition is paused",
        Scene(pauses=[{"scope": "partition", "value": "main"}]),
        "partition main is paused until 2026-11-29 10:01 UTC: r",
    ),
    (
        "one of two partitions is paused",
        Scene({"partitions": []}, {"partition": "main,big"}, pauses=[{"scope": "partition", "value": "big"}]),
        "partition big is paused until 2026-11-29 10:01 UTC: r",
    ),
    (
        "on failures of its class is only advised",
        Scene(policy=Policy(act_on_unknown=0)),
        "failures of the class unknown are only advised on, as the policy says",
    ),
    (
        "on hardware is only advised",
        Scene(advice={"verdict": Verdict(layer="hardware.gpu")}, policy=Policy(act_on_hardware=0)),
        "failures of the class hardware are only advised on, as the policy says",
    ),
    ("nobody can read its policy", Scene(policy=None), "the policy of the job cannot be read"),
    ("another partition", Scene(job={"partition": "big"}), "partition big is not among those of demo"),
    (
        "one of two partitions",
        Scene(job={"partition": "main,big"}),
        "partition main,big is not among those of demo",
    ),
    ("no partition at all", Scene(job={"partition": ""}), "partition (none) is not among those of demo"),
    (
        "another environment",
        Scene(job={"opt_in": {"mode": "action", "environment": "prod"}}),
        "the job's comment names the environment 'prod', the cluster's is 'demo'",
    ),
    ("no comment", Scene(job={"opt_in": {}}), "the job's comment does not ask for mode action"),
    (
        "the comment asks for approve",
        Scene(job={"opt_in": {"mode": "approve"}}),
        "the job's comment does not ask for mode action",
    ),
    (
        "a comment nobody understood",
        Scene(job={"opt_in": {"mode": "monitor"}, "opt_in_error": "The comment is no JSON."}),
        "the job's comment was not understood: The comment is no JSON.",
    ),
    (
        "an opt-out cluster, and the job wants peace",
        Scene({"opt_out": True}, {"opt_in": {"mode": "monitor"}}),
        "the job's comment asks to be left alone",
    ),
]


@pytest.mark.parametrize(("scene", "sentence"), [pytest.param(*row[1:], id=row[0]) for row in CLOSED])
def test_closed(scene: Scene, sentence: str) -> None:
    assert scene.ask() == (False, sentence)


def test_every_gate_is_closed_by_some_case() -> None:
    first_words = {sentence.split(" ")[0] for _, _, sentence in CLOSED}
    assert len(GATES) == 11
    assert len(first_words) >= 7


def test_no_mode_acts_where_the_one_below_would_not() -> None:
    """Monitor opens nothing, approve opens what was approved, action opens what is not awaiting."""
    for mode in ("monitor", "approve", "action"):
        for then in ("monitor", "approve", "action"):
            for state in ("awaiting_approval", "pending"):
                may, _ = Scene({"mode": mode}, advice={"mode_at_decision": then, "state": state}).ask()
                wanted = state == "pending" and (mode, then) in {
                    ("approve", "approve"),
                    ("action", "approve"),
                    ("action", "action"),
                }
                assert may is wanted, (mode, then, state)
