"""Is nobody told of what is silenced, and does the silence bear on nothing else?"""

from datetime import timedelta
from typing import Any

import pytest

from advisor_api.deciding import decide
from advisor_api.ending import LONGEST
from advisor_api.models import Advice
from advisor_api.notification_models import Delivery
from advisor_api.notifying.hushing import silences_over
from advisor_api.notifying.subjects import things_of
from advisor_api.refusals import Bad, Stale
from advisor_api.silence_facts import of_incidents
from advisor_api.silence_models import Silence
from advisor_api.silencing import Spoken, covers, end_silence, silence
from audit.event_type import EventType
from audit.level import Level
from audit.models import AuditEvent
from detectors.models import Incident, IncidentNode, Verdict
from tests.advisor_api.notifying.world import a_route, an_event, blind, tell
from tests.advisor_api.world import NOW, OPERATOR, a_cluster, a_job, a_verdict, an_attempt, culprit
from workloads.models import Cluster

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def silenced(cluster: Cluster, owner: str = "olga", reason: str = "known, ticket 7", **named: str) -> Silence:
    return silence(cluster, named, owner=owner, reason=reason, until=NOW + HOUR, actor=OPERATOR, now=NOW)


def advised(cluster: Cluster, number: int = 100, **values: Any) -> Advice:
    verdict = a_verdict(an_attempt(a_job(cluster, number)), implicated=[culprit("n03")], **values)
    decide(verdict, NOW)
    return Advice.objects.get(attempt=verdict.attempt)


def outcomes() -> list[tuple[str, int]]:
    return list(Delivery.objects.order_by("id").values_list("outcome", "count"))


class TestWhatFits:
    @pytest.mark.parametrize(
        ("named", "fits"),
        [
            ({"fingerprint": "f-ecc"}, True),
            ({"fingerprint": "f-other"}, False),
            ({"signature": "xid.48"}, True),
            ({"signature": "xid.79"}, False),
            ({"node": "n03"}, True),
            ({"node": "n01"}, False),
            ({"partition": "main"}, True),
            ({"node": "n03", "partition": "main", "signature": "xid.48"}, True),
            ({"node": "n03", "signature": "xid.79"}, False),
        ],
    )
    def test_all_that_it_names_must_fit(self, named: dict[str, str], fits: bool) -> None:
        a_route()
        cluster = a_cluster(mode="approve")
        silenced(cluster, **named)
        advised(cluster)
        tell()
        assert outcomes() == [("silenced" if fits else "waiting", 1)]

    def test_of_several_nodes_none_may_be_another_one(self) -> None:
        one = Silence(cluster=Cluster(name="c"), node="n1")
        assert covers(one, Spoken("c", nodes=frozenset({"n1"})))
        assert not covers(one, Spoken("c", nodes=frozenset({"n1", "n2"})))
        assert not covers(one, Spoken("c"))
        assert not covers(one, Spoken("d", nodes=frozenset({"n1"})))

    def test_another_cluster_is_not_silenced(self) -> None:
        a_route()
        silenced(a_cluster("other"), node="n03")
        advised(a_cluster(mode="approve"))
        tell()
        assert outcomes() == [("waiting", 1)]

    def test_a_cluster_out_of_sight_is_always_told(self) -> None:
        a_route()
        cluster = a_cluster()
        silenced(cluster, partition="main")
        tell(an_event(cluster, EventType.CANNOT_SEE, "Cannot see", level=Level.WARNING))
        assert outcomes() == [("waiting", 1)]

    def test_blindness_on_a_job_of_the_partition(self) -> None:
        a_route()
        cluster = a_cluster()
        silenced(cluster, partition="main")
        tell(blind(an_attempt(a_job(cluster))))
        assert outcomes() == [("silenced", 1)]

    @pytest.mark.parametrize(
        ("named", "fits"),
        [
            ({"fingerprint": "f-all"}, "ab"),
            ({"node": "n03"}, "a"),
            ({"signature": "xid.48"}, "a"),
            ({"signature": "xid.79"}, ""),
            ({"partition": "main"}, "a"),
            ({"partition": "debug"}, ""),
            ({"fingerprint": "f-all", "partition": "main"}, "a"),
            ({"fingerprint": "f-none", "partition": "main"}, ""),
            ({"node": "n03", "signature": "xid.48", "partition": "main"}, "a"),
            ({"node": "n04", "signature": "xid.48"}, ""),
        ],
    )
    def test_what_stands_in_an_incident_must_fit(self, named: dict[str, str], fits: str) -> None:
        """`a` holds one signature, node and partition, `b` two of each, `c` nothing."""
        cluster = a_cluster()
        rows = {
            key: Incident.objects.create(
                cluster=cluster, open_key=key, fingerprint="f-empty" if key == "c" else "f-all", layer="unknown",
                sentence=key, first_seen_at=NOW, last_seen_at=NOW,
            )
            for key in "abc"
        }  # fmt: skip
        of_a, of_b, also = a_job(cluster, 1), a_job(cluster, 2), a_job(cluster, 3, partition="main,debug")
        old = a_verdict(an_attempt(of_a), incident=rows["a"], signature="xid.79")
        a_verdict(old.attempt, incident=rows["a"], supersedes=old)
        a_verdict(an_attempt(of_b), incident=rows["b"])
        a_verdict(an_attempt(also), incident=rows["b"], signature="xid.79")
        for key, node in (("a", "n03"), ("b", "n03"), ("b", "n04")):
            IncidentNode.objects.create(incident=rows[key], node=node)
        one = Silence(cluster=cluster, **named)
        other = Silence(cluster=a_cluster("elsewhere"), signature="xid.48", partition="main")
        found = of_incidents([row.pk for row in rows.values()], [other, one])
        assert "".join(key for key, row in rows.items() if covers(one, found[row.pk])) == fits
        assert not any(covers(other, spoken) for spoken in found.values())

    def test_an_incident_and_the_attempts_in_it(self) -> None:
        a_route()
        cluster = a_cluster(mode="approve")
        advice = advised(cluster)
        incident = Incident.objects.create(
            cluster=cluster, open_key="k", fingerprint="f-all", layer="unknown", sentence="Storage is in trouble",
            shared=True, first_seen_at=NOW, last_seen_at=NOW,
        )  # fmt: skip
        Verdict.objects.filter(attempt=advice.attempt).update(incident=incident)
        silenced(cluster, fingerprint="f-all")
        payload = {"incident": str(incident.uuid)}
        tell(an_event(cluster, EventType.INCIDENT, "opens", action="opened", payload=payload))
        assert sorted(Delivery.objects.values_list("topic", "outcome")) == [
            ("approval", "silenced"),
            ("incident", "silenced"),
        ]
        for action in ("acknowledged", "merged", "noted", "ended"):
            end_all()
            assert not tell(an_event(cluster, EventType.INCIDENT, action, action=action, payload=payload))


def end_all() -> None:
    for row in Silence.objects.filter(ended_at=None):
        end_silence(row, "enough", OPERATOR, NOW)


class TestWhatIsKept:
    def test_it_says_by_whom_and_nothing_is_sent_and_the_decision_is_the_same(self) -> None:
        a_route()
        cluster = a_cluster(mode="approve")
        row = silenced(cluster, node="n03")
        advice = advised(cluster)
        assert tell() == 0
        kept = Delivery.objects.get()
        assert kept.said == "Silenced by olga until 2026-11-29 11:00 UTC (node n03): known, ticket 7"
        assert (kept.due_at, kept.over_at, kept.silence) == (None, NOW, row)
        assert advice.state == "awaiting_approval"
        assert AuditEvent.objects.filter(type=EventType.NOTIFICATION, action="silenced").count() == 1

    def test_many_are_one_message_and_each_is_counted_once(self) -> None:
        a_route()
        cluster = a_cluster(mode="approve")
        silenced(cluster, node="n03")
        for number in range(100, 130):
            advised(cluster, number)
        tell()
        advised(cluster, 200)
        tell()
        assert outcomes() == [("silenced", 31)]
        assert len(Delivery.objects.get().items) == 10

    def test_what_goes_on_after_its_end_is_told(self) -> None:
        a_route()
        cluster = a_cluster()
        row = silenced(cluster, partition="main")
        attempt = an_attempt(a_job(cluster))
        tell(blind(attempt))
        end_silence(row, "fixed", OPERATOR, NOW)
        tell(blind(attempt))
        assert outcomes() == [("silenced", 1), ("waiting", 1)]

    def test_it_ends_by_itself(self) -> None:
        a_route()
        cluster = a_cluster()
        silenced(cluster, partition="main")
        tell(blind(an_attempt(a_job(cluster)), NOW + HOUR), now=NOW + HOUR)
        assert outcomes() == [("waiting", 1)]

    @pytest.mark.parametrize(("place", "queries"), [("other", 1), ("demo", 3)])
    def test_it_costs_the_same_few_queries_however_many_are_told(
        self, place: str, queries: int, django_assert_num_queries: Any
    ) -> None:
        demo = a_cluster(mode="approve")
        silenced(demo if place == "demo" else a_cluster("other"), node="n03")
        for number in range(100, 110):
            advised(demo, number)
        told = things_of(list(AuditEvent.objects.all()), NOW)
        assert len(told) == 10
        with django_assert_num_queries(queries):
            assert len(silences_over(told, NOW)) == (10 if place == "demo" else 0)


class TestMaking:
    @pytest.mark.parametrize(
        ("changes", "says"),
        [
            ({"named": {}}, "without one it would be all of a cluster"),
            ({"named": {"fingerprint": "  "}}, "without one it would be all of a cluster"),
            ({"named": {"node": "n99"}}, "has no node"),
            ({"named": {"partition": "gone"}}, "has no partition"),
            ({"named": {"signature": "a\0b"}}, "plain text"),
            ({"owner": " "}, "whose silence"),
            ({"reason": ""}, "Say why"),
            ({"until": NOW}, "in the future"),
            ({"until": NOW + LONGEST + HOUR}, "at most 7 days"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, changes: dict[str, Any], says: str) -> None:
        asked = {"named": {"node": "n03"}, "owner": "olga", "reason": "r", "until": NOW + HOUR, **changes}
        with pytest.raises(Bad, match=says):
            silence(a_cluster(), asked.pop("named"), **asked, actor=OPERATOR, now=NOW)
        assert not Silence.objects.exists() and not AuditEvent.objects.filter(action="silence").exists()

    def test_the_same_again_is_one_and_ended_it_is_over(self) -> None:
        cluster = a_cluster()
        row = silenced(cluster, node="n03")
        assert silenced(cluster, node="n03") == row
        end_silence(row, "fixed", OPERATOR, NOW)
        assert (row.ended_by, row.end_reason) == ("olga", "fixed")
        with pytest.raises(Stale, match="over already"):
            end_silence(row, "fixed", OPERATOR, NOW)
        assert AuditEvent.objects.filter(action="silence").count() == 2
