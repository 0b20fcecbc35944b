"""Does the overview count, say what comes next, and let a person hold it and take that back?"""

from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from advisor_api.models import Advice, ControllerLease, Exclusion, Pause
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from audit.event_type import EventType
from audit.models import AuditEvent
from console import advice_lines
from console.advice_lines import all_open_advice, open_advice
from console.counts import counts_of
from console.job_list import job_page
from console.job_wanted import Shown, Wanted
from console.next_steps import StepKind, next_steps
from detectors.models import Verdict
from tests.console import sample
from tests.console.sample import Sample
from workloads.mode import Mode
from workloads.models import Cluster


@pytest.fixture
def to_come(rows: Sample, now: datetime) -> Advice:
    """A restart that the controller carries out in two minutes."""
    return sample.to_come(rows.cluster, now)


def said(now: datetime) -> list[tuple[StepKind, str]]:
    return [(step.kind, step.sentence) for step in next_steps(now, all_open_advice(now).to_come)[0]]


def form(advice: Advice, now: datetime, **more: str) -> dict[str, str]:
    keys = Pause.objects.filter(cluster=advice.attempt.job.cluster, until__gt=now).values_list("pk", flat=True)
    seen = ",".join(map(str, sorted(keys)))
    return {"generation": "1", "seen": seen, "lasts": "advice", "reason": "its owner debugs it"} | more


def test_each_count_is_as_long_as_the_list_behind_it(rows: Sample, to_come: Advice, now: datetime) -> None:
    counts = {count.shown: count.number for count in counts_of(now)}
    assert counts == {shown: len(job_page(Wanted(state=shown.value), now).rows) for shown in counts}
    assert counts["running"] == 3 and counts["recovery"] == 2 and counts["approval"] == 1 and counts["blind"] == 1


@pytest.mark.parametrize("most", [100, 1], ids=["few", "very many"])
def test_open_advice_is_the_same_however_much_there_is(
    most: int, rows: Sample, to_come: Advice, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    Advice.objects.filter(pk=rows.waiting.pk).update(expires_at=now - timedelta(seconds=1))
    monkeypatch.setattr(advice_lines, "ADVICE_TO_COME", most)
    found = all_open_advice(now)
    assert [line.advice.pk for line in found.newest] == [line.advice.pk for line in open_advice(now)]
    assert [line.advice.pk for line in found.newest] == [to_come.pk, rows.waiting.pk]
    assert [line.advice.pk for line in found.to_come] == [to_come.pk], "what is over is not to come"


@pytest.mark.parametrize(("mode", "number"), [(Mode.ACTION, 1), (Mode.APPROVE, 1), (Mode.MONITOR, 0)])
def test_whom_rekindle_asks_is_counted_and_marked(
    mode: Mode, number: int, as_viewer: Client, to_come: Advice, now: datetime
) -> None:
    Advice.objects.filter(pk=to_come.pk).update(operation=Operation.WAIT.value, mode_at_decision=mode.value)
    assert {one.shown: one.number for one in counts_of(now)}[Shown.ASKED] == number
    text = as_viewer.get("/").content.decode().partition(f'id="advice-{to_come.pk}"')[2].partition("</li>")[0]
    assert "Ask a person" in text and "restart or stop the job yourself" in text
    Advice.objects.filter(pk=to_come.pk).update(expires_at=now)
    assert {one.shown: one.number for one in counts_of(now)}[Shown.ASKED] == 0


def test_the_overview_makes_the_lines_of_open_advice_once(
    as_viewer: Client, rows: Sample, to_come: Advice, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    monkeypatch.setattr(advice_lines, "advice_sentence", lambda advice: made.append(advice.pk) or "It is said")
    text = as_viewer.get("/").content.decode()
    assert text.count("It is said") == len(made) == len(set(made)) == 2


def test_what_comes_next_is_said_in_its_order(rows: Sample, to_come: Advice, now: datetime) -> None:
    Exclusion.objects.update(until=now + timedelta(minutes=30))
    Verdict.objects.update(decide_due_at=now + timedelta(minutes=20), sentence="GPU 2 of n03 lost data.")
    Pause.objects.create(
        cluster=rows.monitor, scope="user", value="ana", reason="r", owner="o", since=now,
        until=now + timedelta(hours=1),
    )  # fmt: skip
    assert said(now) == [
        (StepKind.RESTART, "Put 500-0 back into the queue and start it again without n02"),
        (StepKind.ANSWER, "Nobody has answered whether to restart 99-0: then nothing is done to it"),
        (StepKind.DECISION, "Decide again on 4711-0: GPU 2 of n03 lost data"),
        (StepKind.NODE, "n03 is not left out any more"),
        (StepKind.PAUSE, "Rekindle goes on with user ana of demo-monitor"),
    ]


def test_what_may_not_be_done_is_no_step(rows: Sample, to_come: Advice, now: datetime) -> None:
    Cluster.objects.filter(name="demo").update(mode=Mode.MONITOR)
    assert StepKind.RESTART not in {kind for kind, _ in said(now)}


def test_a_node_comes_back_when_its_last_exclusion_ends(rows: Sample, now: datetime) -> None:
    Exclusion.objects.update(until=now + timedelta(minutes=5))
    Exclusion.objects.create(
        cluster=rows.cluster, node="n03", reason="r", owner="o", since=now, until=now + timedelta(days=3)
    )
    assert StepKind.NODE not in {kind for kind, _ in said(now)}


def test_without_a_controller_the_step_says_that_it_waits_for_one(
    as_viewer: Client, rows: Sample, to_come: Advice, now: datetime
) -> None:
    assert "No controller is connected" in as_viewer.get("/").content.decode()
    ControllerLease.objects.create(cluster=rows.cluster, holder="c1", until=now + timedelta(minutes=1))
    assert [
        step.note for step in next_steps(now, all_open_advice(now).to_come)[0] if step.kind is StepKind.RESTART
    ] == [""]


def test_a_person_holds_the_step_and_takes_it_back(
    as_operator: Client, rows: Sample, to_come: Advice, now: datetime
) -> None:
    overview = as_operator.get("/").content.decode()
    address = reverse("step-hold", args=[to_come.pk])
    assert f'href="{address}"' in overview and "<b>bold</b>" not in overview
    page = as_operator.get(address).content.decode()
    assert "The controller begins nothing on job 500" in page
    done = as_operator.post(address, form(to_come, now), follow=True).content.decode()
    assert "500-0 is held until" in done
    assert "and given up then, as the advice ends" in done and "operator: its owner debugs it" in done
    pause = Pause.objects.get()
    assert (pause.scope, pause.value, pause.owner) == ("job", "500", "operator")
    assert AuditEvent.objects.filter(type=EventType.PAUSE, actor="operator").count() == 1
    undo = reverse("pause-end", args=["demo", pause.pk])
    assert f'href="{undo}"' in done
    as_operator.post(undo, {"reason": "done"})
    told = said(timezone.now())
    assert (StepKind.RESTART, "Put 500-0 back into the queue and start it again without n02") in told


@pytest.mark.parametrize(
    ("sent", "status", "told"),
    [
        ({"reason": ""}, 400, "Say why"),
        ({"lasts": "until", "until": "2020-01-01 00:00"}, 400, "The end must be in the future"),
        ({"lasts": "x"}, 400, "Choose one of the spans"),
        ({"lasts": "30m"}, 400, "Choose one of the spans"),
        ({"lasts": "until", "until": "2099-01-01 00:00"}, 400, "hold it until then at most"),
        ({"generation": "2"}, 409, "newer advice"),
        ({"seen": "9"}, 409, ""),
        ({"seen": "x"}, 400, "open the page again"),
    ],
)
def test_what_cannot_be_held_is_refused(
    sent: dict[str, str], status: int, told: str, as_operator: Client, to_come: Advice, now: datetime
) -> None:
    answer = as_operator.post(reverse("step-hold", args=[to_come.pk]), form(to_come, now, **sent))
    assert answer.status_code == status
    assert told in answer.content.decode()
    assert not Pause.objects.exists()


def test_a_hold_lasts_as_long_as_the_advice_and_no_longer(
    as_operator: Client, to_come: Advice, now: datetime
) -> None:
    address, ends_at = reverse("step-hold", args=[to_come.pk]), to_come.expires_at
    page = as_operator.get(address).content.decode()
    assert f'<option value="advice" selected>until the advice itself ends, {ends_at:%H:%M:%S} UTC' in page
    assert 'value="30m"' not in page, "longer than the advice lasts"
    assert "is not carried out any more" in page, "what happens then"
    as_operator.post(address, form(to_come, now))
    assert Pause.objects.get().until == ends_at
    [step] = [one for one in next_steps(now, all_open_advice(now).to_come)[0] if one.kind is StepKind.HELD]
    assert (step.at, step.ends_at) == (ends_at, None)


def test_a_shorter_hold_says_what_happens_at_its_end(as_operator: Client, to_come: Advice, now: datetime) -> None:
    Advice.objects.filter(pk=to_come.pk).update(expires_at=now + timedelta(hours=3))
    address = reverse("step-hold", args=[to_come.pk])
    assert 'value="30m"' in as_operator.get(address).content.decode()
    done = as_operator.post(address, form(to_come, now, lasts="30m"), follow=True).content.decode()
    assert "Then the step is carried out, until" in done and "held until then" in done


def test_of_two_operators_the_second_is_told(
    as_operator: Client, as_admin: Client, to_come: Advice, now: datetime
) -> None:
    address, sent = reverse("step-hold", args=[to_come.pk]), form(to_come, now)
    assert as_operator.post(address, sent).status_code == 302
    late = as_admin.post(address, sent)
    assert late.status_code == 409
    assert "Held already until" in late.content.decode()
    assert Pause.objects.count() == 1


@pytest.mark.parametrize("state", [AdviceState.CONVERGED, AdviceState.ABANDONED])
def test_what_is_done_meanwhile_cannot_be_held(
    state: AdviceState, as_operator: Client, to_come: Advice, now: datetime
) -> None:
    Advice.objects.filter(pk=to_come.pk).update(state=state)
    answer = as_operator.post(reverse("step-hold", args=[to_come.pk]), form(to_come, now))
    assert answer.status_code == 409
    assert "nothing to hold any more" in answer.content.decode()


def test_newer_advice_makes_an_open_page_stale(as_operator: Client, to_come: Advice, now: datetime) -> None:
    sent = form(to_come, now)
    first = to_come.pk
    to_come.pk, to_come.generation = None, 2
    to_come.save()
    assert as_operator.post(reverse("step-hold", args=[first]), sent).status_code == 409


def test_who_may_not_hold_sees_no_button(as_viewer: Client, to_come: Advice) -> None:
    address = reverse("step-hold", args=[to_come.pk])
    assert address not in as_viewer.get("/").content.decode()
    assert as_viewer.get(address).status_code == 403
    assert as_viewer.post(address, {}).status_code == 403


def test_an_empty_site_says_what_to_do_first(as_viewer: Client, as_admin: Client) -> None:
    text = as_viewer.get("/").content.decode()
    assert "No cluster is watched yet." in text and "./run manage cluster add NAME" in text
    assert "Nothing is to come" in text


def test_each_source_of_a_cluster_is_told(as_viewer: Client, rows: Sample, now: datetime) -> None:
    Cluster.objects.filter(name="demo").update(
        log_store="loki", log_store_unseen_since=now, log_store_unseen_reason="connection refused",
        metrics_address="http://p", metrics_read_at=now,
    )  # fmt: skip
    text = as_viewer.get("/").content.decode()
    assert "Cannot see the log store" in text and "connection refused" in text
    assert "metrics: read" in text
    assert "logs: blind on 1 of 2" in text
    assert "controller: none is connected" in text
