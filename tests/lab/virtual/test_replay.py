"""Do all decisions of a simulated run come out the same when they are made again?"""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from advisor_api.models import Advice, LeftAlone
from advisor_api.policies import Place
from advisor_api.policy.replay import Summary
from advisor_api.replaying import Draft, Span, replay
from lab.simulate.demo import opt_in
from lab.simulate.model import Cluster
from lab.simulate.play import Fault
from lab.simulate.settings import Settings
from lab.simulate.virtual_logs import VirtualLogs
from lab.virtual.site import VirtualSite
from tests.lab.virtual.cases import play

pytestmark = pytest.mark.django_db
START = 1_777_622_400.0
KINDS = ("ecc", "exit", "oom", "cancel", "preempt", "sigkill")
NODES = tuple(f"n{number:02d}" for number in range(1, 17))


@pytest.fixture
def span(tmp_path: Path) -> Iterator[Span]:
    """A cluster on which jobs die in several ways, some of them again, and one that its user cancels."""
    logs = tmp_path / "logs"
    logs.mkdir()
    files = VirtualLogs(logs)
    with VirtualSite(tmp_path / "site", START, 3) as site:
        cluster = Cluster(START, Settings(cluster_name="c", user_id=os.getuid(), node_names=NODES), files)
        site.watch("c", cluster, logs, policy={"storm_restarts": 6, "max_user_restarts": 9})
        for kind in KINDS:
            cluster.submit(play(Fault(kind, step=20, attempt=None, node=0), nodes=2, comment=opt_in("c")))
        cluster.submit(play(nodes=2, comment=opt_in("c")))
        site.advance(START + 80)
        begin = datetime.fromtimestamp(START, UTC)
        yield Span(begin, begin + timedelta(days=1))
    files.close()


def test_every_decision_of_a_run_comes_out_the_same(span: Span) -> None:
    summary = Summary()
    differing = [one for one in replay(span, None, summary) if one.differs]
    assert not differing, [(one.past.label, one.past.outcome, one.would, one.differs) for one in differing]
    kept = Advice.objects.count() + LeftAlone.objects.count()
    assert (summary.seen, summary.replayed, summary.unreadable) == (kept, kept, 0)
    rules = set(Advice.objects.values_list("rule", flat=True)) | set(
        LeftAlone.objects.values_list("rule", flat=True)
    )
    assert len(rules) >= 6, rules
    assert Advice.objects.count() >= 5 and LeftAlone.objects.count() >= 2

    row = Advice.objects.get(attempt__job__number=1, attempt__index=0, generation=1)
    calm = {"exclude_confidence": 1, "storm_restarts": 6, "max_user_restarts": 9}
    draft = Draft(Place(row.attempt.job.cluster), calm)
    would = {one.past.label: one for one in replay(span, draft, Summary()) if one.differs}
    assert would[row.attempt.label].past.outcome.nodes and not would[row.attempt.label].would.nodes
