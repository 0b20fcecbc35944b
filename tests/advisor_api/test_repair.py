"""Are excluded nodes handed over once, when they are free, and again after trouble?"""

import http.server
import json
import os
import stat
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.core.exceptions import ValidationError
from django.test import Client, override_settings
from django.utils import timezone

from advisor_api.excluding import exclude, lift
from advisor_api.models import Exclusion
from advisor_api.refusals import Stale
from advisor_api.repair_file import FileTrouble, append
from advisor_api.repair_models import RepairRecord, RepairSystem
from advisor_api.repair_records import GIVEN_UP, claim, due_records, send_again
from advisor_api.repair_sending import PLACES, hand_over, start_due
from audit.event_type import EventType
from audit.models import AuditEvent
from schedulers.states import JobState
from tests.advisor_api.world import NOW, OPERATOR, a_cluster, a_job, an_attempt
from workloads.models import Cluster, Node

HOUR = timedelta(hours=1)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with override_settings(REKINDLE={**settings.REKINDLE, "REKINDLE_HANDOFF_DIR": str(tmp_path / "out")}):
        yield tmp_path / "out"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def sweep(now: datetime) -> int:
    """What the task does, without its threads."""
    sent = 0
    for row in due_records(now):
        if claim(row, now):
            hand_over(row, lambda: now)
            sent += 1
    return sent


def out(cluster: Cluster, node: str = "n03", reason: str = "fan\nbroken") -> Exclusion:
    return exclude(cluster, node, reason=reason, until=NOW + HOUR, actor=OPERATOR, now=NOW)


def a_system(cluster: Cluster, **values: Any) -> RepairSystem:
    system = RepairSystem(cluster=cluster, **{"name": "shop", "kind": "file", "file": "nodes.jsonl", **values})
    system.full_clean()
    system.save()
    return system


@pytest.mark.django_db
class TestRecords:
    def test_opened_renewed_and_lifted_are_told_once_each(self, folder: Path) -> None:
        cluster = a_cluster()
        a_system(cluster)
        first, second = out(cluster), out(cluster, reason="fan broken again")
        assert (sweep(NOW), sweep(NOW)) == (2, 0)
        lift(first, OPERATOR, NOW)
        assert (sweep(NOW), sweep(NOW)) == (2, 0)
        told = lines(folder / "nodes.jsonl")
        deeds = [(one["deed"], one["request"], one["stays_out"]) for one in told]
        assert deeds == [
            ("opened", "drain", False),
            ("renewed", "drain", False),
            ("lifted", "return", True),
            ("lifted", "return", False),
        ]
        assert len({one["key"] for one in told}) == 4
        assert {one["exclusion"] for one in told} == {str(first.uuid), str(second.uuid)}
        assert told[0]["reason"] == "fan\nbroken"

    def test_a_node_that_runs_a_job_is_busy_until_it_is_free(self, folder: Path) -> None:
        cluster = a_cluster()
        a_system(cluster)
        attempt = an_attempt(a_job(cluster), state=JobState.RUNNING)
        out(cluster)
        assert sweep(NOW) == 0
        row = RepairRecord.objects.get()
        assert (row.outcome, row.said) == ("busy", "n03 still runs job 100.")
        assert not folder.exists()
        attempt.job.live = False
        attempt.job.save()
        assert sweep(NOW + timedelta(minutes=1)) == 1
        assert RepairRecord.objects.get().outcome == "sent"

    @pytest.mark.parametrize("state", ["mixed+drain", "ALLOCATED*", "completing"])
    def test_the_scheduler_s_word_counts_too(self, folder: Path, state: str) -> None:
        cluster = a_cluster()
        a_system(cluster)
        Node.objects.filter(name="n03").update(state=state)
        out(cluster)
        assert (sweep(NOW), RepairRecord.objects.get().outcome) == (0, "busy")

    def test_unknown_is_not_free(self, folder: Path) -> None:
        cluster = a_cluster(cannot_see_since=NOW)
        a_system(cluster)
        out(cluster)
        assert (sweep(NOW), RepairRecord.objects.get().outcome) == (0, "busy")

    def test_what_was_never_handed_over_is_not_taken_back(self, folder: Path) -> None:
        cluster = a_cluster()
        a_system(cluster)
        an_attempt(a_job(cluster), state=JobState.RUNNING)
        row = out(cluster)
        sweep(NOW)
        lift(row, OPERATOR, NOW)
        later = NOW + timedelta(minutes=1)
        assert sweep(later) + sweep(later + timedelta(minutes=1)) == 0
        assert set(RepairRecord.objects.values_list("outcome", flat=True)) == {"overtaken"}

    def test_a_worker_that_died_after_writing_writes_no_second_line(self, folder: Path) -> None:
        cluster = a_cluster()
        a_system(cluster)
        out(cluster)
        (row,) = due_records(NOW)
        assert claim(row, NOW)
        assert not claim(RepairRecord(pk=row.pk, due_at=NOW, system=row.system), NOW)  # two at once
        append(folder, "nodes.jsonl", row.body, again=False)
        assert sweep(NOW) == 0
        assert sweep(NOW + timedelta(minutes=2)) == 1
        assert len(lines(folder / "nodes.jsonl")) == 1

    def test_one_that_is_switched_off_is_told_nothing(self, folder: Path) -> None:
        cluster = a_cluster()
        system = a_system(cluster)
        out(cluster)
        RepairSystem.objects.filter(pk=system.pk).update(enabled=False)
        assert (sweep(NOW), RepairRecord.objects.get().outcome) == (0, "failed")
        out(cluster, "n04")
        assert RepairRecord.objects.count() == 1


BAD = [
    {"file": ""},
    {"file": "../x.jsonl"},
    {"file": "/etc/x.jsonl"},
    {"file": ".jsonl"},
    {"file": "x.txt"},
    {"file": "a\n.jsonl"},
    {"address": "https://repair.example.org"},
    {"kind": "webhook"},
    {"kind": "webhook", "file": "", "address": "ftp://x"},
    {"kind": "webhook", "file": "", "address": "http://repair.example.org", "credential": "shop"},
    {"name": "a b"},
    {"timeout_seconds": 0},
]


@pytest.mark.django_db
@pytest.mark.parametrize("values", BAD)
def test_what_cannot_work_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        a_system(a_cluster(), **values)


class Shop(http.server.BaseHTTPRequestHandler):
    """A repair system that answers as it is told."""

    answers: list[int] = []
    got: list[tuple[str, dict[str, Any]]] = []

    def do_POST(self) -> None:
        taken = self.rfile.read(int(self.headers["Content-Length"]))
        Shop.got.append((self.headers["Idempotency-Key"], json.loads(taken)))
        self.send_response(Shop.answers.pop(0))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""


@pytest.fixture
def shop() -> Iterator[str]:
    Shop.answers, Shop.got = [], []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/nodes"
    server.shutdown()
    server.server_close()


@pytest.mark.django_db
class TestWebhook:
    def told(self, shop: str) -> RepairRecord:
        cluster = a_cluster()
        a_system(cluster, kind="webhook", file="", address=shop)
        out(cluster)
        return RepairRecord.objects.get()

    def test_trouble_that_may_pass_is_tried_again_under_the_same_key(self, shop: str) -> None:
        row = self.told(shop)
        Shop.answers = [503, 202]
        assert sweep(NOW) == 1
        row.refresh_from_db()
        assert (row.outcome, row.due_at) == ("waiting", NOW + timedelta(seconds=5))
        assert sweep(NOW + timedelta(seconds=6)) == 1
        row.refresh_from_db()
        assert (row.outcome, row.tries) == ("sent", 2)
        assert [key for key, _ in Shop.got] == [row.key, row.key]
        assert Shop.got[0][1] == row.body

    def test_a_refusal_ends_it_with_what_was_said(self, shop: str) -> None:
        row = self.told(shop)
        Shop.answers = [401]
        sweep(NOW)
        row.refresh_from_db()
        assert row.outcome == "failed"
        assert row.said.startswith("it answered 401")

    def test_after_a_day_it_is_given_up(self, shop: str) -> None:
        row = self.told(shop)
        Exclusion.objects.update(until=NOW + 3 * GIVEN_UP)
        Node.objects.update(seen_at=NOW + 2 * GIVEN_UP)
        Shop.answers = [503]
        sweep(NOW + 2 * GIVEN_UP)
        row.refresh_from_db()
        assert row.outcome == "failed"

    def test_what_was_given_up_is_sent_again_by_a_person_under_its_old_key(self, shop: str) -> None:
        row = self.told(shop)
        Shop.answers = [401, 503, 401, 202]
        sweep(NOW)
        for later in (1, 2):  # once without avail, once with
            now = NOW + later * timedelta(minutes=20)
            Node.objects.update(seen_at=now)
            again = send_again(row, OPERATOR, now)
            assert (again.outcome, again.due_at, again.said, again.over_at) == ("waiting", now, "", None)
            with pytest.raises(Stale):
                send_again(row, OPERATOR, now)
            sweep(now)
            Node.objects.update(seen_at=now + timedelta(minutes=5))
            sweep(now + timedelta(minutes=5))
            row.refresh_from_db()
        assert (row.outcome, {key for key, _ in Shop.got}) == ("sent", {row.key})
        with pytest.raises(Stale):
            send_again(row, OPERATOR, NOW)
        told = AuditEvent.objects.filter(type=EventType.EXCLUSION.value, action="hand_off").order_by("id")
        assert [event.actor for event in told] == ["hand_off", "olga", "hand_off", "olga", "hand_off"]

    def test_a_day_begins_anew_when_a_person_sends_it_again(self, shop: str) -> None:
        row = self.told(shop)
        Exclusion.objects.update(until=NOW + 3 * GIVEN_UP)
        RepairRecord.objects.update(outcome="failed", due_at=None)
        now = NOW + 2 * GIVEN_UP
        Node.objects.update(seen_at=now)
        send_again(row, OPERATOR, now)
        Shop.answers = [503]
        sweep(now)
        row.refresh_from_db()
        assert row.outcome == "waiting"

    def test_what_is_over_meanwhile_is_not_sent(self, shop: str) -> None:
        row = self.told(shop)
        Shop.answers = [401]
        sweep(NOW)
        lift(Exclusion.objects.get(), OPERATOR, NOW)
        send_again(row, OPERATOR, NOW)
        sweep(NOW)
        row.refresh_from_db()
        assert row.outcome == "overtaken"


class TestFile:
    def test_it_is_ours_alone_and_survives_being_moved_away(self, tmp_path: Path) -> None:
        path = tmp_path / "n.jsonl"
        append(tmp_path, "n.jsonl", {"key": "1"}, again=False)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.rename(tmp_path / "n.jsonl.1")
        append(tmp_path, "n.jsonl", {"key": "2"}, again=False)
        assert (lines(path), lines(tmp_path / "n.jsonl.1")) == ([{"key": "2"}], [{"key": "1"}])

    def test_many_at_once_leave_whole_lines(self, tmp_path: Path) -> None:
        def write(number: int) -> None:
            while True:
                try:
                    return append(tmp_path, "n.jsonl", {"key": str(number), "x": "y" * 5000}, again=False)
                except FileTrouble:  # somebody else holds it: tried again
                    continue

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(40)))
        assert sorted(int(one["key"]) for one in lines(tmp_path / "n.jsonl")) == list(range(40))

    def test_half_a_line_of_somebody_else_spoils_no_record(self, tmp_path: Path) -> None:
        path = tmp_path / "n.jsonl"
        path.touch(mode=0o600)
        path.write_text('{"half')
        append(tmp_path, "n.jsonl", {"key": "1"}, again=False)
        assert json.loads(path.read_text().splitlines()[1]) == {"key": "1"}

    @pytest.mark.parametrize("kind", ["link", "hard link", "fifo", "folder", "readable by all"])
    def test_nothing_but_our_own_file_is_written(self, tmp_path: Path, kind: str) -> None:
        other, path = tmp_path / "other", tmp_path / "n.jsonl"
        other.write_text("")
        other.chmod(0o600)
        make = {
            "link": lambda: path.symlink_to(other),
            "hard link": lambda: os.link(other, path),
            "fifo": lambda: os.mkfifo(path, 0o600),
            "folder": path.mkdir,
            "readable by all": lambda: path.touch(0o644),
        }
        make[kind]()
        with pytest.raises(FileTrouble):
            append(tmp_path, "n.jsonl", {"key": "1"}, again=False)
        assert other.read_text() == ""

    @pytest.mark.parametrize("name", ["../n.jsonl", "/tmp/n.jsonl", "", ".", "..", "a\0b"])
    def test_a_name_leads_nowhere_else(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(FileTrouble):
            append(tmp_path, name, {"key": "1"}, again=False)


@pytest.mark.django_db
class TestAdmin:
    PATH = "/admin/advisor_api/repairsystem"

    def test_added_changed_and_never_deleted_with_an_event_each(self, admin_client: Client) -> None:
        cluster = a_cluster()
        form = {"cluster": cluster.pk, "name": "shop", "kind": "file", "file": "n.jsonl", "timeout_seconds": 10}
        assert admin_client.post(f"{self.PATH}/add/", {**form, "enabled": "on"}).status_code == 302
        system = RepairSystem.objects.get()
        change = f"{self.PATH}/{system.pk}/change/"
        assert admin_client.post(change, {**form, "file": "m.jsonl", "enabled": "on"}).status_code == 302
        assert admin_client.post(change, {**form, "file": "../m.jsonl"}).status_code == 200
        assert admin_client.post(f"{self.PATH}/{system.pk}/delete/", {"post": "yes"}).status_code == 403
        events = AuditEvent.objects.filter(type=EventType.CONFIGURATION.value).order_by("id")
        assert [event.sentence for event in events] == [
            "admin added the repair system shop of cluster demo.",
            "admin changed file of the repair system shop of cluster demo.",
        ]
        assert RepairSystem.objects.get().file == "m.jsonl"

    @pytest.mark.parametrize("may", [True, False])
    def test_who_may_change_a_system_has_records_sent_again(self, client: Client, may: bool) -> None:
        cluster = a_cluster()
        a_system(cluster)
        out(cluster)
        RepairRecord.objects.update(outcome="failed", due_at=None)
        user = User.objects.create_user("rae", is_staff=True)
        names = ["view_repairrecord", *(["change_repairsystem"] if may else [])]
        user.user_permissions.set(Permission.objects.filter(codename__in=names))
        client.force_login(user)
        row = RepairRecord.objects.get()
        form = {"action": "send_again", "_selected_action": [row.pk]}
        client.post("/admin/advisor_api/repairrecord/", form)
        row.refresh_from_db()
        assert row.outcome == ("waiting" if may else "failed")

    def test_what_came_is_shown(self, admin_client: Client, folder: Path) -> None:
        cluster = a_cluster()
        a_system(cluster)
        out(cluster)
        sweep(NOW)
        page = admin_client.get("/admin/advisor_api/repairrecord/").content.decode()
        assert "Handed over" in page


@pytest.mark.django_db(transaction=True)
def test_the_sweep_sends_in_threads_of_their_own(folder: Path) -> None:
    now = timezone.now()
    cluster = a_cluster(now=now)
    a_system(cluster)
    exclude(cluster, "n01", reason="fan", until=now + HOUR, actor=OPERATOR, now=now)
    assert start_due(timezone.now()) == 1
    deadline = time.monotonic() + 90
    while PLACES.taken and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [one["node"] for one in lines(folder / "nodes.jsonl")] == ["n01"]
    assert RepairRecord.objects.get().outcome == "sent"
