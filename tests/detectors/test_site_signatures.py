"""Does a site's own signature reach live attempts at once, leave them at once, and leave a trace?"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.actor_kind import ActorKind
from audit.models import AuditEvent
from audit.trail import Actor
from detectors import reading
from detectors.catalogue import matching
from detectors.catalogue.catalogue import catalogue
from detectors.judging import collect_facts, judge
from detectors.models import Anomaly, SiteSignature, Verdict, Watch
from detectors.reading import read_attempt
from detectors.site_catalogues import Keeper, site_catalogues
from detectors.site_signatures import MOST, Refused, disable, keep
from tests.detectors.catalogue.test_site import FAN
from tests.detectors.rows import Log, again, end, make_attempt, make_cluster, make_nodes
from workloads.models import Attempt, Cluster

pytestmark = pytest.mark.django_db
ANNA = Actor(ActorKind.PERSON, "anna")
LINE = "fanctl[12]: n02 fan 3 stuck"


def now() -> datetime:
    return datetime.now(UTC)


def unsaved(cluster: Cluster | None = None, **changes: Any) -> SiteSignature:
    values = {**FAN, "name": FAN["id"], "note": "fans fail in rack 4", **changes}
    del values["id"]
    return SiteSignature(cluster=cluster, **values)


def added(cluster: Cluster | None = None, **changes: Any) -> SiteSignature:
    return keep(unsaved(cluster, **changes), None, ANNA, now())


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    return make_attempt(make_cluster(tmp_path))


def found(attempt: Attempt) -> list[str]:
    return list(Anomaly.objects.filter(attempt=attempt, signature="site.fan_stuck").values_list("key", flat=True))


class TestTheNextTurn:
    def test_on_two_workers_without_a_restart(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each worker has a memory of its own, which it filled before the signature was there."""
        cluster = make_cluster(tmp_path)
        attempts, workers = [make_attempt(cluster) for _ in range(2)], [Keeper(), Keeper()]

        def turn(one: int) -> None:
            monkeypatch.setattr(reading, "site_catalogues", workers[one].current)
            assert read_attempt(again(attempts[one]), now())

        for one in (0, 1):
            Log.of(attempts[one]).write(LINE)
            turn(one)
            assert not found(attempts[one])
        row = added()
        for one in (0, 1):
            Log.of(attempts[one]).write(LINE)
            turn(one)
            assert len(found(attempts[one])) == 1
            assert Anomaly.objects.get(attempt=attempts[one], signature=row.name).nodes == ["n02"]
        disable(row, "the fans are new", ANNA, now())
        for one in (0, 1):
            Log.of(attempts[one]).write(LINE)
            turn(one)
            assert Anomaly.objects.get(attempt=attempts[one], signature=row.name).count == 1

    def test_the_version_is_kept_with_memories_events_and_verdicts(self, attempt: Attempt) -> None:
        make_nodes(attempt.job.cluster)
        added()
        known = site_catalogues().of(attempt.job.cluster_id)
        assert known.version != catalogue().version
        Log.of(attempt).write(LINE)
        read_attempt(attempt, now())
        assert set(Watch.objects.values_list("catalogue", flat=True)) == {known.version}
        (event,) = [e for e in AuditEvent.objects.filter(type="anomaly") if e.pattern == "site.fan_stuck"]
        assert event.payload["catalogue"] == known.version
        ended = end(again(attempt), at=now())
        facts = collect_facts(ended)
        assert facts.versions.catalogue == known.version
        assert [s.action for s in facts.symptoms if s.signature == "site.fan_stuck"] == ["restart_exclude"]
        judge(ended, now())
        verdict = Verdict.objects.get()
        assert (verdict.signature, verdict.action) == ("site.fan_stuck", "restart_exclude")
        assert [one["host"] for one in verdict.implicated] == ["n02"]

    def test_a_change_holds_and_the_old_matcher_goes(self, attempt: Attempt) -> None:
        first = added()
        old = site_catalogues().of(attempt.job.cluster_id)
        matching.matcher(old)
        keep(unsaved(pattern="fanctl.*stalled", example="fanctl stalled"), first, ANNA, now())
        new = site_catalogues().of(attempt.job.cluster_id)
        assert new.version != old.version and new.signature("site.fan_stuck").pattern == "fanctl.*stalled"
        assert old.version not in matching._extended
        Log.of(attempt).write(LINE, "fanctl stalled")
        read_attempt(attempt, now())
        assert Anomaly.objects.get(signature="site.fan_stuck").count == 1

    def test_only_the_cluster_that_it_is_for(self, tmp_path: Path) -> None:
        ours, other = make_attempt(make_cluster(tmp_path)), make_attempt(make_cluster(tmp_path))
        added(ours.job.cluster)
        for attempt in (ours, other):
            Log.of(attempt).write(LINE)
            read_attempt(attempt, now())
        assert found(ours) and not found(other)
        assert Watch.objects.filter(attempt=other).first().catalogue == catalogue().version  # type: ignore[union-attr]

    def test_a_cluster_that_goes_takes_its_signatures_along(self, attempt: Attempt) -> None:
        row = added(attempt.job.cluster)
        disable(row, "noise", ANNA, now())
        attempt.job.cluster.delete()
        assert not SiteSignature.objects.exists()
        assert site_catalogues().everywhere.version == catalogue().version

    def test_one_query_a_turn_and_one_more_after_a_change(self) -> None:
        added()
        site_catalogues()
        with CaptureQueriesContext(connection) as same:
            site_catalogues()
        assert len(same) == 1
        added(name="site.other", pattern="otherctl", example="otherctl")
        with CaptureQueriesContext(connection) as changed:
            site_catalogues()
        assert len(changed) == 2

    def test_one_that_a_release_refuses_is_left_out_and_the_others_hold(self, attempt: Attempt) -> None:
        row = added(name="site.other", pattern="otherctl", example="otherctl")
        added()
        SiteSignature.objects.filter(pk=row.pk).update(pattern="(?=x)")
        known = Keeper().current()
        assert set(known.refused) == {"site.other"}
        assert "linear time" in known.refused["site.other"]
        assert known.everywhere.knows("site.fan_stuck") and not known.everywhere.knows("site.other")


class TestStoring:
    def test_every_step_is_a_version_and_an_event(self) -> None:
        first = added()
        second = keep(unsaved(says="A fan stands still", note="shorter"), first, ANNA, now())
        disable(second, "noise", ANNA, now())
        rows = SiteSignature.objects.order_by("version").values_list("version", "enabled", "note", "created_by")
        assert list(rows) == [
            (1, True, "fans fail in rack 4", "anna"),
            (2, True, "shorter", "anna"),
            (3, False, "noise", "anna"),
        ]
        events = AuditEvent.objects.filter(type="configuration").order_by("pk")
        assert [event.sentence for event in events] == [
            "anna added the signature 'site.fan_stuck' of all clusters: fans fail in rack 4",
            "anna changed the signature 'site.fan_stuck' of all clusters: shorter",
            "anna disabled the signature 'site.fan_stuck' of all clusters: noise",
        ]
        assert {event.actor for event in events} == {"anna"}
        assert events[0].payload["pattern"] == FAN["pattern"]

    def test_a_disabled_one_is_used_again(self) -> None:
        last = disable(added(), "noise", ANNA, now())
        keep(unsaved(note="needed"), last, ANNA, now())
        assert site_catalogues().everywhere.knows("site.fan_stuck")
        assert SiteSignature.objects.count() == 3

    @pytest.mark.parametrize("second", ["add", "change", "disable"])
    def test_two_people_at_once(self, second: str) -> None:
        first = added()
        keep(unsaved(), first, ANNA, now())
        act = {
            "add": lambda: keep(unsaved(), None, ANNA, now()),
            "change": lambda: keep(unsaved(), first, ANNA, now()),
            "disable": lambda: disable(first, "noise", ANNA, now()),
        }[second]
        with pytest.raises(Refused, match="Somebody else stored 'site\\.fan_stuck' meanwhile"):
            act()
        assert (SiteSignature.objects.count(), AuditEvent.objects.count()) == (2, 2)

    def test_refusals(self, attempt: Attempt) -> None:
        row = added()
        for act, sentence in (
            (lambda: keep(unsaved(attempt.job.cluster), row, ANNA, now()), "Id and cluster of a signature stay"),
            (lambda: keep(unsaved(pattern="(?=a)"), row, ANNA, now()), "cannot be run in linear time"),
            (lambda: disable(row, " ", ANNA, now()), "Say why it is disabled"),
            (lambda: disable(disable(row, "x", ANNA, now()), "x", ANNA, now()), "is disabled already"),
        ):
            with pytest.raises(Refused, match=sentence):
                act()

    def test_there_is_an_end_to_their_number(self) -> None:
        rows = [unsaved(version=1, created_at=now(), created_by="anna") for _ in range(MOST)]
        for number, row in enumerate(rows):
            row.name = f"site.n{number}"
        SiteSignature.objects.bulk_create(rows)
        with pytest.raises(Refused, match=f"The site has {MOST} signatures"):
            added()
