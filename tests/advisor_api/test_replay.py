"""Do stored decisions come out the same again, and does a draft change exactly what it should?"""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from advisor_api.deciding import decide
from advisor_api.models import Advice, LeftAlone
from advisor_api.policies import Place
from advisor_api.policy.replay import Compared, Summary
from advisor_api.refusals import Bad
from advisor_api.replaying import Draft, Span, read_span, replay
from detectors.models import Verdict
from schedulers.states import JobState
from tests.advisor_api.world import (
    NOW,
    UNKNOWN,
    a_cluster,
    a_job,
    a_policy,
    a_verdict,
    an_advice,
    an_attempt,
    seconds,
)
from workloads.models import Cluster

pytestmark = pytest.mark.django_db
ALL = Span(NOW - seconds(1), NOW + seconds(3600))


def tried(draft: Draft | None = None, span: Span = ALL) -> tuple[list[Compared], Summary]:
    summary = Summary()
    return [one for one in replay(span, draft, summary) if one.differs], summary


def everything(cluster: Cluster) -> int:
    """Decisions of every sort: with advice, without, postponed, the same again; how many are kept."""
    an_advice(cluster, 1)
    an_advice(cluster, 2, **UNKNOWN)
    an_advice(cluster, 3, action="stop", implicated=[], layer="application", fingerprint="f-code")
    for number, state in ((4, JobState.CANCELLED), (5, JobState.COMPLETED), (6, JobState.UNKNOWN)):
        assert decide(a_verdict(an_attempt(a_job(cluster, number), state=state)), NOW) is None
    first = Advice.objects.order_by("pk")[0]
    assert decide(a_verdict(first.attempt, NOW), NOW + seconds(1)) is None
    postponed = Verdict.objects.get(attempt__job__number=6)
    assert decide(postponed, NOW + seconds(15)) is None
    return 7


class TestTheSamePolicy:
    def test_every_stored_decision_comes_out_the_same(self) -> None:
        cluster = a_cluster(nodes=40)
        a_policy({"max_requeues": 5, "unknown_backoff_seconds": 7})
        a_policy({"hold_seconds": 99}, cluster)
        a_policy({"exclude_confidence": 0.5}, cluster, partition="main")
        a_policy({"advice_seconds": 100}, cluster, user="tess")
        kept = everything(cluster)
        differing, summary = tried()
        assert not differing
        assert (summary.seen, summary.replayed, summary.unreadable) == (kept, kept, 0)
        assert set(LeftAlone.objects.values_list("rule", flat=True)) >= {"cancelled", "completed", "state_unknown"}

    def test_it_does_not_matter_what_is_active_now(self) -> None:
        cluster = a_cluster()
        kept = everything(cluster)
        a_policy({"max_requeues": 0, "exclude_confidence": 1})
        assert tried()[1].differing == 0 and tried()[1].replayed == kept

    @pytest.mark.parametrize(
        ("column", "value", "what"),
        [
            ("operation", "wait", "operation"),
            ("rule", "hang", "rule"),
            ("excluded_nodes", ["n09"], "nodes"),
            ("not_before", NOW + seconds(1), "start"),
            ("hold_until", NOW, "hold"),
            ("expires_at", NOW, "expiry"),
            ("because", "for no reason", "words"),
            ("trace", [], "trace"),
        ],
    )
    def test_any_other_outcome_is_found(self, column: str, value: Any, what: str) -> None:
        advice = an_advice(a_cluster())
        Advice.objects.filter(pk=advice.pk).update(**{column: value})
        (found,) = tried()[0]
        assert found.differs == (what,)

    def test_changed_facts_are_found(self) -> None:
        advice = an_advice(a_cluster())
        Advice.objects.filter(pk=advice.pk).update(facts=advice.facts | {"state": "cancelled"})
        assert "operation" in tried()[0][0].differs

    @pytest.mark.parametrize(
        "facts",
        [{}, [], {"label": "x"}, {"label": "x", "state": "?"}, {"label": "x", "state": "failed", "ended_at": 3}],
    )
    def test_unreadable_facts_are_counted_and_stop_nothing(self, facts: Any) -> None:
        cluster = a_cluster()
        first = an_advice(cluster, 1)
        an_advice(cluster, 2)
        Advice.objects.filter(pk=first.pk).update(facts=facts)
        summary = tried()[1]
        assert (summary.unreadable, summary.replayed) == (1, 1)
        assert summary.first_unreadable.startswith("demo 1-0: ")

    def test_facts_of_an_older_and_a_newer_program_are_read(self) -> None:
        advice = an_advice(a_cluster())
        facts = {name: value for name, value in advice.facts.items() if name != "jobs_struck"} | {"later": 1}
        values = advice.judged_by["values"] | {"later": 1}
        Advice.objects.filter(pk=advice.pk).update(facts=facts, judged_by=advice.judged_by | {"values": values})
        assert tried()[1].replayed == 1


class TestADraft:
    def test_what_it_would_have_changed(self) -> None:
        cluster = a_cluster()
        an_advice(cluster, 1)
        an_advice(cluster, 2, **UNKNOWN)
        differing, summary = tried(Draft(Place(), {"exclude_confidence": 0.99}))
        (one,) = differing
        assert (one.past.label, one.past.outcome.rule, one.would.rule) == ("1-0", "named_node", "known_cause")
        assert (one.past.outcome.nodes, one.would.nodes, one.differs) == (("n03",), (), ("rule", "nodes"))
        assert summary.by_rule() == [("restart", "named_node", "restart", "known_cause", 1)]
        assert summary.by_operation() == [("restart", "restart", 1)]
        assert (summary.seen, summary.replayed, summary.uncertain) == (2, 2, 0)

    def test_other_times(self) -> None:
        an_advice(a_cluster(), 2, **UNKNOWN)
        assert tried(Draft(Place(), {"unknown_backoff_seconds": 1}))[0][0].differs[0] == "start"
        assert tried(Draft(Place(), {"hold_seconds": 1}))[0][0].differs == ("hold",)

    def test_it_takes_the_place_of_its_own_level_only(self) -> None:
        cluster = a_cluster()
        a_policy({"exclude_confidence": 0.5}, cluster)
        an_advice(cluster)
        assert tried(Draft(Place(), {"exclude_confidence": 0.99}))[0] == []
        assert len(tried(Draft(Place(cluster), {"exclude_confidence": 0.99}))[0]) == 1
        assert len(tried(Draft(Place(cluster, partition="main"), {"exclude_confidence": 0.99}))[0]) == 1

    @pytest.mark.parametrize(
        ("place", "concerned"),
        [
            ({}, True),
            ({"partition": "main"}, True),
            ({"partition": "other"}, True),
            ({"partition": "third"}, False),
            ({"user": "tess"}, True),
            ({"user": "olga"}, False),
        ],
    )
    def test_whom_it_speaks_of(self, place: dict[str, str], concerned: bool) -> None:
        cluster, second = a_cluster(), a_cluster("second")
        attempt = an_attempt(a_job(cluster, partition="main,other"))
        assert decide(a_verdict(attempt), NOW)
        an_advice(second, 5)
        summary = tried(Draft(Place(cluster, **place), {"hold_seconds": 1}))[1]
        assert (summary.differing, summary.not_concerned) == ((1, 1) if concerned else (0, 2))

    def test_of_several_partitions_the_first_that_is_spoken_of(self) -> None:
        cluster = a_cluster()
        a_policy({"hold_seconds": 1}, cluster, partition="main")
        assert decide(a_verdict(an_attempt(a_job(cluster, partition="main,other"))), NOW)
        assert Advice.objects.get().judged_by["values"]["hold_seconds"] == 1
        assert tried(Draft(Place(cluster, partition="other"), {"hold_seconds": 2}))[1].not_concerned == 1
        assert tried(Draft(Place(cluster, partition="main"), {"hold_seconds": 2}))[1].differing == 1

    def test_counts_over_another_window_are_marked(self) -> None:
        an_advice(a_cluster())
        assert "storm_window_seconds" in Advice.objects.get().judged_by["counted_by"]
        assert tried(Draft(Place(), {"storm_window_seconds": 60}))[1].uncertain == 1

    def test_span_and_cluster(self) -> None:
        cluster, second = a_cluster(), a_cluster("second")
        an_advice(cluster, 1)
        an_advice(cluster, 2, NOW + seconds(100))
        an_advice(second, 3)
        assert tried(span=replace(ALL, cluster=second))[1].seen == 1
        assert tried(span=Span(NOW, NOW + seconds(100)))[1].seen == 1
        assert tried(span=Span(NOW + seconds(100), NOW + seconds(200)))[1].seen == 0

    def test_newest_first_over_more_than_a_page(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("advisor_api.replaying.PAGE", 2)
        cluster = a_cluster()
        a_policy({"storm_restarts": 99, "max_user_restarts": 99})
        for number in range(7):
            an_advice(cluster, number + 1, NOW + seconds(number), **UNKNOWN)
        found = list(replay(ALL, None, Summary()))
        assert [one.past.job[0] for one in found] == [7, 6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize("draft", [None, Draft(Place(), {"hold_seconds": 1})])
def test_queries_grow_with_pages_and_not_with_decisions(draft: Draft | None) -> None:
    cluster, counts = a_cluster(), []
    for start in (1, 11):
        for number in range(start, start + 3):
            an_advice(cluster, number, **UNKNOWN)
            decide(a_verdict(an_attempt(a_job(cluster, 50 + number), state=JobState.CANCELLED)), NOW)
        with CaptureQueriesContext(connection) as queries:
            assert tried(draft)[1].unreadable == 0
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 5  # a page and its end of two sources, and the version


@pytest.mark.parametrize("text", ["", "7", "d", "0d", "-1d", "7w", "1e3d", "999999d", "７d", "7d\n8d"])
def test_a_span_that_is_none(text: str) -> None:
    with pytest.raises(Bad, match="is no span"):
        read_span(text)


class TestTheCommand:
    TEXT = "format: rekindle-policy/1\nvalues:\n  exclude_confidence: 0.99\n"

    def run(self, *arguments: str) -> str:
        out = StringIO()
        call_command("replay", *arguments, stdout=out)
        return out.getvalue()

    def test_a_draft_as_a_table_and_as_json(self, tmp_path: Path) -> None:
        an_advice(a_cluster(), now=timezone.now())
        draft = tmp_path / "draft.yaml"
        draft.write_text(self.TEXT)
        text = self.run("--policy", str(draft))
        assert "demo\t100-0\trestart named_node n03\t→ restart known_cause\t[rule, nodes]" in text
        assert "1 decisions, 1 made again, 1 differ" in text
        row, last = (json.loads(line) for line in self.run("--policy", str(draft), "--json").splitlines())
        assert (row["attempt"], row["then"]["rule"], row["would"]["rule"]) == ("100-0", "named_node", "known_cause")
        assert (last["summary"]["seen"], last["summary"]["differing"]) == (1, 1)
        version = a_policy({"exclude_confidence": 0.99}, now=timezone.now())
        assert "1 differ" in self.run("--policy-version", str(version.pk))

    def test_a_check_has_an_exit_status(self) -> None:
        advice = an_advice(a_cluster(), now=timezone.now())
        assert "1 made again, 0 differ" in self.run("--check")
        Advice.objects.filter(pk=advice.pk).update(rule="hang")
        with pytest.raises(SystemExit) as ended:
            self.run("--check")
        assert ended.value.code == 1
        Advice.objects.filter(pk=advice.pk).update(facts={})
        with pytest.raises(SystemExit) as ended:
            self.run("--check", "--cluster", "demo")
        assert ended.value.code == 2

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["--check", "--since", "soon"], "is no span"),
            (["--check", "--cluster", "nowhere"], "There is no cluster 'nowhere'"),
            (["--policy-version", "99"], "There is no policy version 99"),
            (["--policy", "/nowhere/x.yaml"], "No such file"),
        ],
    )
    def test_what_is_not_usable(self, arguments: list[str], sentence: str) -> None:
        with pytest.raises(CommandError, match=sentence) as refused:
            self.run(*arguments)
        assert refused.value.returncode == 2

    def test_a_file_that_is_no_policy(self, tmp_path: Path) -> None:
        draft = tmp_path / "draft.yaml"
        draft.write_text(self.TEXT + "  exclude_confidence: 1\n")
        with pytest.raises(CommandError, match="Line 4: 'exclude_confidence' stands there twice"):
            self.run("--policy", str(draft))
