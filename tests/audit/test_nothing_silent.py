"""Does anything move without its event?

Flows through the product's own doors are watched by the database; and each kind of move must have taken place in
one of them, so that no line of `MOVES` stands idle.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.test import override_settings

from advisor_api.models import Pause
from lab.simulate.demo import opt_in
from lab.simulate.model import Cluster as Simulated
from lab.simulate.outside import act
from lab.simulate.play import Fault, Play
from lab.simulate.settings import Settings
from lab.simulate.virtual_logs import VirtualLogs
from lab.virtual.site import VirtualSite
from tests.advisor_api.world import NOW, a_cluster
from tests.audit.flows import FLOWS, HOUR
from tests.audit.movement import Seen, watching
from tests.audit.moves import MOVES, STILL, UNMOVED
from tests.lab.virtual.cases import play

START = 1_777_622_400.0
ROOMS = ("workloads", "detectors", "advisor_api", "console")


@contextmanager
def a_site(folder: Path) -> Iterator[tuple[VirtualSite, Simulated]]:
    """A site that watches a simulated cluster, and acts on it."""
    logs = folder / "logs"
    logs.mkdir()
    files = VirtualLogs(logs)
    with VirtualSite(folder, START) as site:
        cluster = Simulated(START, Settings(cluster_name="c", user_id=os.getuid()), files)
        site.watch("c", cluster, logs, poll_seconds=5.0)
        yield site, cluster
    files.close()


def wanted(*faults: Fault, **more: object) -> Play:
    return play(*faults, **{"comment": opt_in("c"), "nodes": 1, "steps": 300, **more})


def jobs_fail_and_come_back(product: VirtualSite, cluster: Simulated, logs: Path) -> None:
    for fault in ("ecc", "exit", "hang", "pause"):
        more = {"seconds": 120.0} if fault == "pause" else {}
        cluster.submit(wanted(Fault(fault, step=60, attempt=None if fault == "exit" else 0, **more)))
    cluster.submit(wanted(steps=1000))
    product.advance(START + 100)
    logs.rename(logs.with_name("elsewhere"))
    act(cluster, "stop_controller")
    product.advance(START + 200)
    logs.with_name("elsewhere").rename(logs)
    act(cluster, "start_controller")
    product.advance(START + 600)


@pytest.mark.django_db(transaction=True)
class TestSilence:
    def test_no_move_is_silent_and_each_kind_took_place(self, tmp_path: Path) -> None:
        seen = Seen()
        with a_site(tmp_path) as (product, cluster), watching(seen):
            jobs_fail_and_come_back(product, cluster, tmp_path / "logs")
        with override_settings(REKINDLE={**settings.REKINDLE, "REKINDLE_HANDOFF_DIR": str(tmp_path / "out")}):
            for flow in FLOWS:
                go = flow()
                with watching(seen):
                    go()
        assert not seen.silent, "\n".join(seen.silent)
        idle = [move.names for move in MOVES if not seen.moves.issuperset(move.names[:1])]
        assert not idle

    def test_a_silent_move_is_found_and_its_event_must_speak_of_the_same_subject(self) -> None:
        cluster, other = a_cluster("one"), a_cluster("two")
        seen = Seen()
        with watching(seen):
            Pause.objects.create(
                cluster=cluster, scope="cluster", reason="r", owner="o", since=NOW, until=NOW + HOUR
            )
        assert len(seen.silent) == 1 and seen.silent[0].startswith("Pause of pause of cluster")
        assert other


def test_every_column_moves_with_an_event_or_has_a_reason() -> None:
    columns: dict[type, set[str]] = {}
    for move in MOVES:
        columns.setdefault(move.model, set()).update(move.columns)
    for room in ROOMS:
        for model in apps.get_app_config(room).get_models():
            if model not in columns:
                assert model._meta.label in UNMOVED, f"say of {model._meta.label} which events its moves write"
                continue
            reasons = [name for names in STILL.get(model, {}).values() for name in names.split()]
            fields = {one.name for one in model._meta.concrete_fields if not one.primary_key}
            moving = {one.name for one in model._meta.concrete_fields if one.column in columns[model]}
            unexplained = fields - moving - set(reasons)
            assert not unexplained, f"{model._meta.label}: say which events {unexplained} needs, or why none"
