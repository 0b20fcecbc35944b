"""Do a cluster's metrics warn, witness and name, whatever happens to the server? From the reader to the verdict."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from audit.models import AuditEvent
from detectors import tasks
from detectors.catalogue.gpu_use import TOPIC
from detectors.catalogue.kind import AnomalyKind
from detectors.judging import judge
from detectors.metrics import families
from detectors.metrics_asking import asking, seen_on
from detectors.metrics_looking import look_at_metrics
from detectors.metrics_reading import claim_metrics, due_metrics, read_metrics
from detectors.models import Anomaly, Feed, HealthEvent, Observation, Verdict
from detectors.reading import read_attempt
from detectors.stores.store import Answer
from schedulers.states import JobState
from tests.detectors.metrics.exporter import Exporter
from tests.detectors.metrics.pretend import Pretend
from tests.detectors.metrics.serving import BASIC, Server
from tests.detectors.rows import NODES, Log, again, end, make_attempt, make_cluster, make_nodes, megatron
from workloads.models import Attempt, Cluster

pytestmark = pytest.mark.django_db
LABELS = {"node": "node"}


@pytest.fixture
def exporter() -> Iterator[Exporter]:
    exporter = Exporter()
    yield exporter
    exporter.close()


class Site:
    """A cluster with one running attempt on three nodes, whose metrics are read at moments of its own."""

    def __init__(self, root: Path, exporter: Exporter, ask: Pretend | None, address: str = "") -> None:
        self.now = datetime.now(UTC) - timedelta(hours=1)
        self.exporter, self.ask = exporter, ask
        address = address or "http://127.0.0.1:9"
        self.cluster = make_cluster(root, metrics_address=address, metrics_labels=LABELS)
        make_nodes(self.cluster)
        self.attempt = make_attempt(self.cluster, started_at=self.now, first_seen_at=self.now)
        self.log = Log.of(self.attempt)
        self.step = 0

    def look(self, seconds: float = 15.0) -> bool:
        """One turn over the metrics."""
        self.now += timedelta(seconds=seconds)
        claim = claim_metrics(self.cluster.pk, self.now)
        assert claim is not None
        return read_metrics(claim, self.now, self.ask)

    def train(self, times: int = 30, seconds: float = 4.0) -> None:
        """Steps, each read at once, with a look at the metrics in between."""
        for number in range(times):
            self.now += timedelta(seconds=seconds)
            self.step += 1
            line = megatron(self.step, self.now).replace("500.0", f"{seconds * 1000:.1f}")
            self.log.write(line, at=self.now)
            self.read()
            if number % 4 == 3:
                self.look(0)

    def read(self) -> Attempt:
        """One turn over the attempt."""
        Attempt.objects.filter(pk=self.attempt.pk).update(read_due_at=self.now)
        self.attempt = again(self.attempt)
        read_attempt(self.attempt, self.now)
        return again(self.attempt)

    def anomalies(self, kind: AnomalyKind) -> list[Anomaly]:
        return list(Anomaly.objects.filter(attempt=self.attempt, kind=kind.value))

    def judged(self) -> Verdict | None:
        Attempt.objects.filter(pk=self.attempt.pk).update(judge_due_at=self.now)
        return judge(again(self.attempt), self.now)


@pytest.fixture
def site(tmp_path: Path, exporter: Exporter) -> Site:
    site = Site(tmp_path, exporter, Pretend(exporter))
    site.look()
    return site


def stand_still(exporter: Exporter) -> None:
    """As GPUs do that wait in a collective."""
    exporter.set_all(UTIL=100, POWER=240, TENSOR=0)


def test_an_xid_warns_the_attempt_that_trains_and_ends_nothing(site: Site) -> None:
    site.train(4)
    site.exporter.set("n02", 1, XID=79)
    site.look()
    event = HealthEvent.objects.get()
    assert (event.node, event.check_name, event.entity, event.codes) == ("n02", "m.xid", "GPU 1", ["79"])
    assert (event.source, event.fatal, event.happened_at) == ("prometheus", True, site.now)
    site.read()
    (warning,) = site.anomalies(AnomalyKind.EARLY_WARNING)
    assert warning.nodes == ["n02"] and warning.signature == "xid.79"
    verdict = site.judged()
    assert verdict is not None and verdict.action == "ask"


def test_it_is_the_witness_of_a_failure_that_follows(site: Site) -> None:
    site.train(4)
    site.exporter.set("n02", 1, DBE=2)
    site.look()
    end(site.attempt, at=site.now + timedelta(seconds=5))
    site.now += timedelta(seconds=30)
    site.read()
    verdict = site.judged()
    assert verdict is not None and verdict.signature == "m.dbe" and verdict.action == "restart_exclude"
    assert [(one["host"], one["role"], one["excludable"]) for one in verdict.implicated] == [
        ("n02", "culprit", True)
    ]
    assert {one["source"] for one in verdict.body["evidence"]} == {"metric"}


def test_it_is_no_witness_of_a_failure_long_after(site: Site) -> None:
    site.train(4)
    site.exporter.set("n02", 1, DBE=2)
    site.look()
    site.train(4, seconds=240)
    end(site.attempt, at=site.now)
    site.now += timedelta(seconds=30)
    site.read()
    verdict = site.judged()
    assert verdict is not None and verdict.signature != "m.dbe" and verdict.action != "restart_exclude"


@pytest.mark.parametrize("code", [13, 31])
def test_the_code_of_a_program_blames_no_node(site: Site, code: int) -> None:
    site.train(4)
    for node in NODES:
        site.exporter.set(node, 0, XID=code)
    site.look()
    assert not HealthEvent.objects.filter(fatal=True).exists()
    site.read()
    assert site.anomalies(AnomalyKind.EARLY_WARNING) == []
    end(site.attempt, at=site.now + timedelta(seconds=5))
    site.now += timedelta(seconds=30)
    site.read()
    verdict = site.judged()
    assert verdict is not None and verdict.action != "restart_exclude"


def test_throttling_warns_and_is_over(site: Site) -> None:
    site.exporter.set("n03", 0, **{"XID": 0})
    site.exporter.gpus["n03", 0][families.THROTTLE[0]] = 0x40
    site.train(60, seconds=4)
    (warning,) = site.anomalies(AnomalyKind.EARLY_WARNING)
    assert warning.signature == "m.throttle" and warning.nodes == ["n03"] and warning.role == "candidate"
    verdict = site.judged()
    assert (
        verdict is not None and verdict.action == "ask" and not any(one["excludable"] for one in verdict.implicated)
    )
    site.exporter.gpus["n03", 0][families.THROTTLE[0]] = 0
    site.train(100, seconds=4)
    (warning,) = site.anomalies(AnomalyKind.EARLY_WARNING)
    assert warning.refuted_at is not None
    assert HealthEvent.objects.get(healthy=False).cleared_at is not None


@pytest.mark.parametrize(("spinning", "found_after"), [(True, 75), (False, 135)])
def test_a_job_that_spins_hangs_after_its_limit_and_else_after_twice_of_it(
    site: Site, spinning: bool, found_after: int
) -> None:
    """Traps 8 and 9: 60 s are allowed with a second witness, 120 s without."""
    site.train(30)
    quiet_since = site.now
    if spinning:
        stand_still(site.exporter)
    while not site.anomalies(AnomalyKind.HANG):
        site.look(15)
        site.log.write("heartbeat: alive", at=site.now)
        site.read()
        assert (site.now - quiet_since).total_seconds() <= 150
    assert (site.now - quiet_since).total_seconds() == found_after
    (hang,) = site.anomalies(AnomalyKind.HANG)
    assert ("'m.spin' is a second witness" in hang.sentence) == spinning
    verdict = site.judged()
    assert verdict is not None and verdict.kind == "hang"


def test_what_was_told_too_long_ago_is_no_witness(site: Site) -> None:
    site.train(30)
    quiet_since = site.now
    stand_still(site.exporter)
    for _look in range(3):
        site.look(15)
    site.ask.trouble = "gone"  # type: ignore[union-attr]  # it is a pretended one
    Observation.objects.filter(topic=TOPIC).update(
        value={
            **Observation.objects.get(topic=TOPIC).value,
            "seen_at": (quiet_since - timedelta(minutes=5)).isoformat(),
        }
    )
    site.now = quiet_since + timedelta(seconds=90)
    site.read()
    assert site.anomalies(AnomalyKind.HANG) == []


def slow_down(site: Site, throttled: set[str]) -> Verdict | None:
    """A slow-down of the job by half after it was as fast as ever."""
    Cluster.objects.filter(pk=site.cluster.pk).update(detector_limits={"straggler_seconds": 100.0})
    site.train(50, seconds=6)
    for node in throttled:
        site.exporter.gpus[node, 0][families.THROTTLE[0]] = 0x40
    site.train(30, seconds=9)
    assert len(site.anomalies(AnomalyKind.STRAGGLER)) == 1
    return site.judged()


def test_a_slow_job_is_held_up_by_the_one_node_that_throttles(site: Site) -> None:
    verdict = slow_down(site, {"n03"})
    assert verdict is not None and verdict.kind == "straggler" and verdict.action == "ask"
    assert [one["host"] for one in verdict.implicated if one["role"] != "victim"] == ["n03"]
    assert "m.throttle on n03" in verdict.sentence and verdict.layer == "hardware.gpu"


@pytest.mark.parametrize("throttled", [set(), {"n02", "n03"}], ids=["none", "several"])
def test_and_by_nobody_when_none_or_several_do(site: Site, throttled: set[str]) -> None:
    verdict = slow_down(site, throttled)
    assert verdict is not None and verdict.kind == "straggler" and verdict.implicated == []


def test_the_use_of_the_gpus_is_a_fact_of_the_attempt(site: Site) -> None:
    site.train(4)
    row = Observation.objects.get(attempt=site.attempt, topic=TOPIC)
    assert (row.value["mean"], row.value["gpus"], row.value["nodes"]) == (0.98, 6, 3)
    assert row.value["idle_since"] is None and row.key == "all"
    site.exporter.set_all(UTIL=0, POWER=70, TENSOR=0)
    site.look(15)
    since = site.now
    site.look(60)
    row.refresh_from_db()
    assert row.value["mean"] == 0.0 and datetime.fromisoformat(row.value["idle_since"]) == since


def test_a_site_that_is_stopped_in_the_middle_neither_repeats_nor_loses(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.exporter.set("n02", 1, XID=79)
    claim = claim_metrics(site.cluster.pk, site.now + timedelta(seconds=15))
    assert claim is not None
    with monkeypatch.context() as patched, pytest.raises(OSError, match="killed"):
        patched.setattr("detectors.metrics_reading.store_uses", lambda *_: (_ for _ in ()).throw(OSError("killed")))
        read_metrics(claim, site.now, site.ask)
    assert not HealthEvent.objects.exists()
    assert due_metrics(site.now + timedelta(seconds=30)) == []  # until the lease ends
    site.look(80)
    site.look(15)
    assert HealthEvent.objects.count() == 1


def test_whoever_was_too_slow_drops_everything(site: Site) -> None:
    site.exporter.set("n02", 1, XID=79)
    late = claim_metrics(site.cluster.pk, site.now + timedelta(seconds=15))
    assert late is not None
    site.look(90)
    assert not read_metrics(late, site.now, site.ask)
    assert HealthEvent.objects.count() == 1 and Feed.objects.get(source="prometheus").revision == 2


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, b'{"status":"success","data":{"resultType":"vector","result":[]},"warnings":["half"]}'),
        Answer(200, b'{"status":"error","errorType":"internal","error":"no"}'),
        Answer(200, b"<html>"),
        Answer(503, b"busy"),
    ],
    ids=["half", "error", "page", "busy"],
)
def test_a_server_that_lies_changes_nothing_and_is_told(site: Site, answer: Answer) -> None:
    site.train(4)
    before = Feed.objects.get(source="prometheus").position
    site.ask.answer = answer  # type: ignore[union-attr]
    site.look()
    cluster = Cluster.objects.get(pk=site.cluster.pk)
    assert cluster.metrics_unseen_since == site.now and cluster.metrics_unseen_reason
    assert Feed.objects.get(source="prometheus").position == before and not HealthEvent.objects.exists()
    for _time in range(5):
        site.look(60)
    cluster.refresh_from_db()
    assert cluster.metrics_due_at is not None
    assert timedelta(seconds=30) <= cluster.metrics_due_at - site.now <= timedelta(seconds=60)
    assert AuditEvent.objects.filter(sentence__startswith="Cannot see the metrics").count() == 1
    site.ask.answer = None  # type: ignore[union-attr]
    site.look(60)
    cluster.refresh_from_db()
    assert cluster.metrics_unseen_since is None and cluster.metrics_read_at == site.now
    assert AuditEvent.objects.filter(sentence__startswith="Sees the metrics").count() == 1
    assert again(site.attempt).state == JobState.RUNNING.value and again(site.attempt).blind_since is None


def test_a_memory_that_cannot_be_understood_is_said_and_stops_nothing_else(site: Site) -> None:
    site.train(4)
    feed = Feed.objects.get(source="prometheus")
    whole = feed.position
    Feed.objects.filter(pk=feed.pk).update(
        position={**whole, "parts": {"n02|GPU 1": {"x": "many"}, "n01|GPU 0": 7}}
    )
    site.look()
    cluster = Cluster.objects.get(pk=site.cluster.pk)
    assert "they cannot be judged" in cluster.metrics_unseen_reason and not HealthEvent.objects.exists()
    Feed.objects.filter(pk=feed.pk).update(position={**whole, "more": 1})
    site.look(60)
    cluster.refresh_from_db()
    assert cluster.metrics_unseen_since is None


def test_absurd_numbers_are_no_codes_and_break_nothing(site: Site) -> None:
    site.exporter.set("n02", 1, XID=1e300, DBE=1e308, BROKEN_ROWS=1e308, REPLAYS=1e308, POWER=-1e300)
    site.exporter.set("n03", 0, XID=-4, UTIL=1e300, CLOCK=-1)
    for _time in range(6):
        site.look(30)
    assert Cluster.objects.get(pk=site.cluster.pk).metrics_unseen_since is None
    assert not HealthEvent.objects.filter(check_name="m.xid").exists()
    assert Observation.objects.get(topic=TOPIC).value["gpus"] == 6


def test_values_that_are_not_numbers_or_old_tell_nothing(site: Site) -> None:
    site.exporter.set("n02", 1, XID=float("nan"), DBE=float("inf"), POWER=float("nan"))
    site.look()
    site.exporter.set("n02", 1, XID=79, DBE=7)
    site.ask.old = 200.0  # type: ignore[union-attr]
    for _time in range(5):
        site.look()
    assert not HealthEvent.objects.filter(fatal=True).exists()


def test_every_turn_asks_four_questions(site: Site) -> None:
    for _time in range(3):
        asked = site.ask.asked  # type: ignore[union-attr]
        site.look()
        assert site.ask.asked - asked == 4  # type: ignore[union-attr]


def test_the_sweep_reads_only_clusters_that_have_metrics(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    make_cluster()
    asked: list[int] = []
    monkeypatch.setattr(tasks.read_cluster_metrics, "apply_async", lambda args, **_: asked.append(args[0]))
    Cluster.objects.filter(pk=site.cluster.pk).update(metrics_due_at=None)
    tasks.read_due_metrics()
    assert asked == [site.cluster.pk]
    tasks.read_cluster_metrics(site.cluster.pk)  # nobody listens there
    cluster = Cluster.objects.get(pk=site.cluster.pk)
    assert "cannot be reached" in cluster.metrics_unseen_reason


def test_looking_says_what_is_there_and_what_is_not(site: Site) -> None:
    told = look_at_metrics(site.cluster, site.ask)
    assert told.startswith("The metrics show 6 GPUs on 3 of 3 nodes and 3 ports.") and "Nobody" not in told
    site.cluster.metrics_labels = {"gpu_node": "UUID"}
    told = look_at_metrics(site.cluster, site.ask)
    assert "Nobody knows these nodes: GPU-n01-0" in told
    assert "cannot be reached" in look_at_metrics(site.cluster)


def until(what: Callable[[], bool], seconds: float = 180.0) -> None:
    """Wait for the next scrape."""
    end_at = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end_at, "it did not come"
        time.sleep(0.2)


def shows(site: Site, metric: str, value: float | None) -> bool:
    host = seen_on(site.cluster, NODES, asking(site.cluster)).hosts.get("n02")
    return (host.gpus["1"].get(metric) if host and "1" in host.gpus else None) == value


@pytest.fixture
def server(tmp_path: Path, exporter: Exporter) -> Iterator[Server]:
    server = Server(tmp_path, exporter.address)
    server.start()
    yield server
    server.kill()


def test_a_real_prometheus_from_its_scrape_to_the_verdict(
    tmp_path: Path, exporter: Exporter, server: Server
) -> None:
    site = Site(tmp_path, exporter, None, server.address)
    until(lambda: shows(site, families.XID, 0))
    real = seen_on(site.cluster, NODES, asking(site.cluster))
    pretended = seen_on(site.cluster, NODES, Pretend(exporter))
    assert real == pretended and real.gpus == 6
    site.look()
    site.train(4)

    exporter.set("n02", 1, XID=79, POWER=float("nan"))
    until(lambda: shows(site, families.XID, 79) and shows(site, families.POWER, None))
    site.look()
    site.read()
    assert [one.nodes for one in site.anomalies(AnomalyKind.EARLY_WARNING)] == [["n02"]]

    exporter.answers = False  # every series of a failed scrape ends at once
    until(lambda: shows(site, families.XID, None))
    for _time in range(3):
        site.look()
    assert HealthEvent.objects.count() == 1 and Cluster.objects.get(pk=site.cluster.pk).metrics_unseen_since is None

    server.kill()
    site.look()
    unseen = Cluster.objects.get(pk=site.cluster.pk)
    assert "cannot be reached" in unseen.metrics_unseen_reason
    exporter.answers = True
    server.start()
    until(lambda: shows(site, families.XID, 79))
    site.look(60)
    assert Cluster.objects.get(pk=site.cluster.pk).metrics_unseen_since is None
    assert HealthEvent.objects.count() == 1  # the same XID stands there still

    end(site.attempt, at=site.now)
    site.now += timedelta(seconds=30)
    site.read()
    verdict = site.judged()
    assert verdict is not None and verdict.signature == "xid.79" and verdict.action == "restart_exclude"
    assert [one["host"] for one in verdict.implicated if one["excludable"]] == ["n02"]


def test_a_password_is_asked_for_and_given(tmp_path: Path, exporter: Exporter, settings: Any) -> None:
    hashed = "$2b$04$UCvfPl0LHfwbTNs3V.QS7eemERhoJEhBCL1mUViG70sC28Z1dBLNi"
    server = Server(tmp_path, exporter.address, BASIC.format(hashed=hashed))
    server.start()
    try:
        site = Site(tmp_path, exporter, None, server.address)
        assert "answered 401" in look_at_metrics(site.cluster)
        settings.REKINDLE = {**settings.REKINDLE, "REKINDLE_CREDENTIALS_DIR": str(tmp_path)}
        site.cluster.metrics_credential = "reader"
        (tmp_path / "reader").write_text("basic reader:watchword\n")
        assert "could be read by others" in look_at_metrics(site.cluster)
        (tmp_path / "reader").chmod(0o600)
        until(lambda: "show 6 GPUs" in look_at_metrics(site.cluster))
    finally:
        server.kill()
