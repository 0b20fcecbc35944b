"""Who may tell the progress of which job, and what of it is believed?"""

import json
import math
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from advisor_api.job_keys import LIFETIME, make_key
from advisor_api.models import ApiToken
from advisor_api.token_role import TokenRole
from detectors import telling
from detectors.reading import read_attempts
from detectors.told_models import ToldLine
from schedulers.states import JobState
from tests.advisor_api.conftest import Answer, Api
from tests.advisor_api.test_api_doors import DOORS
from tests.advisor_api.world import a_cluster, a_job, a_token, an_attempt
from workloads.models import Attempt, Cluster

pytestmark = pytest.mark.django_db
PATH = "/v1/progress"


def running(cluster: Cluster, number: int = 7, index: int = 0) -> Attempt:
    now = timezone.now()
    job = a_job(cluster, number, now)
    return an_attempt(job, index, JobState.RUNNING, now, read_due_at=now)


def said(**more: Any) -> dict[str, Any]:
    return {"jobId": "7", "idempotencyKey": "k", **more}


@pytest.fixture
def attempt(api: Api) -> Attempt:
    return running(api.cluster)


def a_key(api: Api, number: str = "7", as_: str = "ingest", name: str = "job") -> str:
    """The key of a job, as a prolog gets it; `api` asks with it as `name`."""
    answer = api.post("/v1/progress:key", {"jobId": number}, as_)
    assert answer.status == 200, answer
    api.secrets[name] = answer.json["key"]
    return str(answer.json["key"])


def test_what_is_told_reaches_the_attempt_by_the_turn_over_it(api: Api, attempt: Attempt) -> None:
    body = said(step=40, totalSteps=90, loss=2.5, checkpoint={"step": 30, "path": "/ckpt/30"})
    answer = api.post(PATH, body, "ingest")
    assert (answer.status, answer.json["heimdallJobId"]) == (201, str(attempt.heimdall_id))
    stored = Attempt.objects.select_related("job__cluster").get(pk=attempt.pk)
    read_attempts([stored], timezone.now())
    attempt.refresh_from_db()
    assert (attempt.last_step, attempt.last_checkpoint_step, attempt.phase) == (40, 30, "training")


def test_the_same_key_gives_the_first_answer(api: Api, attempt: Attempt) -> None:
    first = api.post(PATH, said(step=1), "ingest")
    second = api.post(PATH, said(step=2), "ingest")
    assert (first.status, second.status, second.json) == (201, 200, first.json)
    assert [row.text for row in ToldLine.objects.all()] == ["step 1"]


def test_the_same_key_of_two_attempts_is_two_messages(api: Api, attempt: Attempt) -> None:
    running(api.cluster, 8)
    assert api.post(PATH, said(step=1), "ingest").status == 201
    assert api.post(PATH, said(step=1, jobId="8"), "ingest").status == 201


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        (said(), 400, "tell at least one of step, phase and checkpoint"),
        (said(loss=1.0), 400, "tell at least one of step, phase and checkpoint"),
        ({"jobId": "7", "step": 1}, 400, "idempotencyKey: This field is required."),
        ({"idempotencyKey": "k", "step": 1}, 400, "Give jobId, or heimdallJobId."),
        (said(step=-1), 400, "step: Ensure this value is greater than or equal to 0."),
        (said(step=10**9), 400, "step: Ensure this value is less than or equal to 999999999."),
        (said(step=1, loss="many"), 400, "loss: must be a number, or one of nan, inf, -inf"),
        (said(step=1, loss=True), 400, "loss: must be a number, or one of nan, inf, -inf"),
        (said(step=1, stepSeconds="1"), 400, "stepSeconds: must be a number from 0 to 10^15"),
        (said(step=1, tokensPerSecond=1e300), 400, "tokensPerSecond: must be a number from 0 to 10^15"),
        (said(phase="winning"), 400, 'phase: "winning" is not a valid choice.'),
        (said(checkpoint={"step": 1, "path": "/a\nNCCL error"}), 400, "checkpoint.path: This value does not match"),
        (said(checkpoint={"step": 1, "path": "/" * 600}), 400, "checkpoint.path: Ensure this field has no more"),
        (said(checkpoint={"path": "/a"}), 400, "checkpoint.step: This field is required."),
        (said(step=1, jobId="404"), 404, "demo has no job 404."),
        (said(step=1, attemptIndex=3), 404, "Job 7 has no attempt 3 yet"),
        (said(step=1, heimdallJobId="3f0c5a1e-7b0e-5d36-9a43-5b8f6c1e2d10"), 404, "There is no attempt"),
    ],
)
def test_what_cannot_be_believed_is_refused_and_stored_nowhere(
    api: Api, attempt: Attempt, body: dict[str, Any], status: int, sentence: str
) -> None:
    answer = api.post(PATH, body, "ingest")
    assert answer.status == status
    assert sentence in answer.message
    assert not ToldLine.objects.exists()


@pytest.mark.parametrize("loss", ["nan", "inf", "-inf", -1, 0, 1e-9])
def test_a_loss_may_be_no_number(api: Api, attempt: Attempt, loss: Any) -> None:
    assert api.post(PATH, said(step=1, loss=loss), "ingest").status == 201


def test_a_number_that_json_does_not_have_is_refused(api: Api, attempt: Attempt) -> None:
    """Python's own writer makes NaN of it: whoever wants that said writes it as text."""
    raw = json.dumps(said(step=1, loss=math.nan)).encode()
    answer = api.ask("POST", PATH, "ingest", raw=raw)
    assert (answer.status, "NaN is not a number of JSON" in answer.message) == (400, True)


@pytest.mark.parametrize("state", [JobState.PENDING, JobState.COMPLETED, JobState.FAILED, JobState.REQUEUED])
def test_only_what_runs_has_progress(api: Api, attempt: Attempt, state: JobState) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(state=state.value)
    answer = api.post(PATH, said(step=1), "ingest")
    assert (answer.status, answer.message) == (409, "Attempt 7-0 does not run.")


def test_an_earlier_attempt_speaks_no_more(api: Api, attempt: Attempt) -> None:
    """A process of the attempt before, that nobody killed, must not move the new one."""
    now = timezone.now()
    Attempt.objects.filter(pk=attempt.pk).update(state=JobState.REQUEUED.value)
    an_attempt(attempt.job, 1, JobState.RUNNING, now)
    assert api.post(PATH, said(step=1, attemptIndex=0), "ingest").status == 409
    assert api.post(PATH, said(step=1, attemptIndex=1), "ingest").json["attemptIndex"] == 1


def test_too_often_is_a_429_that_says_when(api: Api, attempt: Attempt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "IN_EACH", 3)
    answers = [api.post(PATH, said(step=n, idempotencyKey=str(n)), "ingest") for n in range(4)]
    assert [answer.status for answer in answers] == [201, 201, 201, 429]
    assert 1 <= int(answers[3].headers["Retry-After"]) <= 60
    running(api.cluster, 8)
    assert api.post(PATH, said(step=1, jobId="8"), "ingest").status == 201, "another job is not meant"


def test_a_secret_in_a_path_is_masked(api: Api, attempt: Attempt) -> None:
    api.post(PATH, said(checkpoint={"step": 1, "path": "s3://user:hunter2@store/1"}), "ingest")
    assert "hunter2" not in ToldLine.objects.get().text


class TestJobKeys:
    """A job speaks of itself alone."""

    def test_a_job_tells_of_itself_without_naming_itself(self, api: Api, attempt: Attempt) -> None:
        a_key(api)
        answer = api.post(PATH, {"idempotencyKey": "k", "step": 5}, "job")
        assert (answer.status, answer.json["heimdallJobId"]) == (201, str(attempt.heimdall_id))
        assert ToldLine.objects.get().told_by == "job 7 by ingest"

    def test_a_key_is_made_before_the_job_was_seen(self, api: Api) -> None:
        a_key(api)
        assert api.post(PATH, {"idempotencyKey": "k", "step": 5}, "job").status == 404
        running(api.cluster)
        assert api.post(PATH, {"idempotencyKey": "k", "step": 5}, "job").status == 201

    def test_of_no_other_job(self, api: Api, attempt: Attempt) -> None:
        other = running(api.cluster, 8)
        a_key(api)
        for body in (
            said(step=1, jobId="8"),
            {"idempotencyKey": "k", "step": 1, "heimdallJobId": None, "jobId": 8},
        ):
            assert api.post(PATH, body, "job").status == 403
        body = {"idempotencyKey": "k", "step": 1, "heimdallJobId": str(other.heimdall_id)}
        assert api.post(PATH, body, "job").message == (
            "This key is for job 7 alone, as it was submitted when the key was made."
        )
        assert not ToldLine.objects.exists()

    def test_of_no_job_of_another_cluster(self, api: Api, attempt: Attempt) -> None:
        foreign = running(api.other)
        api.secrets["both"] = a_token(TokenRole.INGEST, [api.cluster, api.other], "both", timezone.now())[0]
        assert api.post("/v1/progress:key", {"jobId": "7"}, "both").status == 400, "which cluster?"
        api.secrets["job"] = api.post("/v1/progress:key?cluster=demo", {"jobId": "7"}, "both").json["key"]
        assert api.post(f"{PATH}?cluster=second", said(step=1), "job").status == 403
        body = {"idempotencyKey": "k", "step": 1, "heimdallJobId": str(foreign.heimdall_id)}
        assert api.post(PATH, body, "job").status == 404
        assert api.post(PATH, said(step=1), "job").json["heimdallJobId"] == str(attempt.heimdall_id)

    def test_of_no_later_submission_with_its_number(self, api: Api, attempt: Attempt) -> None:
        a_key(api)
        later = timezone.now() + timedelta(hours=1)
        job = a_job(api.cluster, 7, later, epoch=1)
        an_attempt(job, state=JobState.RUNNING, now=later)
        assert api.post(PATH, said(step=1), "job").status == 403

    @pytest.mark.parametrize(("method", "path", "allowed", "body"), DOORS)
    def test_it_opens_no_other_door(
        self, api: Api, attempt: Attempt, method: str, path: str, allowed: set[str], body: dict[str, Any] | None
    ) -> None:
        if path == PATH:
            return
        a_key(api)
        answer = api.ask(method, path.replace("{id}", str(attempt.heimdall_id)), "job", body)
        assert (answer.status, answer.json["code"]) == (403, 7)

    def test_it_outlives_a_token_that_expires_and_dies_with_one_that_is_revoked(
        self, api: Api, attempt: Attempt
    ) -> None:
        a_key(api)
        ApiToken.objects.filter(name="ingest").update(expires_at=timezone.now() - timedelta(days=1))
        assert api.post(PATH, said(step=1), "job").status == 201
        ApiToken.objects.filter(name="ingest").update(revoked_at=timezone.now())
        assert api.post(PATH, said(step=2), "job").status == 401

    def test_it_dies_when_its_token_leaves_the_cluster(self, api: Api, attempt: Attempt) -> None:
        a_key(api)
        ApiToken.objects.get(name="ingest").clusters.set([api.other])
        assert api.post(PATH, said(step=1), "job").status == 401

    def test_it_does_not_live_for_ever(self, api: Api, attempt: Attempt) -> None:
        made_at = timezone.now() - LIFETIME - timedelta(minutes=1)
        api.secrets["job"], _until = make_key(ApiToken.objects.get(name="ingest"), api.cluster, 7, made_at)
        answer = api.post(PATH, said(step=1), "job")
        assert (answer.status, answer.message) == (401, "This key is older than 60 days.")

    def test_not_one_letter_of_it_can_be_another(self, api: Api, attempt: Attempt) -> None:
        key = a_key(api)
        for at in range(len("rekindle_job_"), len(key) - 1, 7):
            api.secrets["forged"] = key[:at] + ("A" if key[at] != "A" else "B") + key[at + 1 :]
            assert api.post(PATH, said(step=1), "forged").status == 401
        for forged in ("rekindle_job_", "rekindle_job_====", "rekindle_job_\xff", "rekindle_job_" + "A" * 200):
            api.secrets["forged"] = forged
            assert api.post(PATH, said(step=1), "forged").status == 401
        assert not ToldLine.objects.exists()

    def test_a_person_makes_none(self, api: Api, people: dict[str, Any]) -> None:
        client = Client()
        client.force_login(people["root"])
        assert client.post("/v1/progress:key?cluster=demo", {"jobId": "7"}, "application/json").status_code == 403


def test_an_ingest_token_of_another_cluster_moves_nothing(api: Api, attempt: Attempt) -> None:
    """By number, by label, by UUID, by `cluster=`, by a key that it makes itself."""
    api.secrets["foreign"] = a_token(TokenRole.INGEST, [api.other], "foreign", timezone.now())[0]
    uuid = str(attempt.heimdall_id)
    tried: list[Answer] = [
        api.post(PATH, said(step=1), "foreign"),
        api.post(f"{PATH}?cluster=demo", said(step=1), "foreign"),
        api.post(PATH, {"heimdallJobId": uuid, "idempotencyKey": "k", "step": 1}, "foreign"),
        api.post("/v1/progress:key?cluster=demo", {"jobId": "7"}, "foreign"),
    ]
    assert [answer.status for answer in tried] == [404, 403, 404, 403]
    a_key(api, as_="foreign")
    assert api.post(PATH, said(step=1), "job").status == 404
    assert api.post(f"{PATH}?cluster=demo", said(step=1), "job").status == 403
    assert not ToldLine.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_snippet_of_the_documentation_tells(
    live_server: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it stands there: with a key, with a wrong one, and with a site that is gone."""
    page = Path(__file__).resolve().parents[2] / "docs" / "api" / "progress.md"
    snippet = page.read_text().split("```python\n")[1].split("```")[0]
    tell: dict[str, Any] = {}
    exec(snippet, tell)  # noqa: S102  # our own page
    cluster = a_cluster(now=timezone.now())
    running(cluster)
    token = ApiToken.objects.get(name=a_token(TokenRole.INGEST, [cluster], "ingest", timezone.now())[1].name)
    key, _until = make_key(token, cluster, 7, timezone.now())
    for name, value in {"URL": live_server.url, "KEY": key}.items():
        monkeypatch.setenv(f"REKINDLE_{name}", value)
    tell["tell"](step=4200, totalSteps=50000, loss=2.31)
    tell["tell"](phase="saving")
    tell["tell"](checkpoint={"step": 4200, "deed": "saved", "path": "/lustre/ckpt/4200"})
    texts = [row.text for row in ToldLine.objects.order_by("offset")]
    assert texts == [
        "step 4200/50000 | loss 2.31",
        "saving checkpoint at iteration 0 to told",
        "successfully saved checkpoint from iteration 4200 to /lustre/ckpt/4200",
    ]
    assert capsys.readouterr().out == ""
    monkeypatch.setenv("REKINDLE_KEY", "rekindle_job_wrong")
    tell["tell"](step=4201)
    assert "progress was not told: HTTP Error 401" in capsys.readouterr().out
    monkeypatch.setenv("REKINDLE_URL", "http://127.0.0.1:1")
    tell["tell"](step=4202)
    assert "progress was not told" in capsys.readouterr().out
