"""Does the product live with a fleet, and does it leave it alone in monitor mode?"""

from pathlib import Path

import pytest

from lab import truth
from lab.fleet.goodput import goodput
from lab.fleet.ledger import BY_NAME
from lab.fleet.options import Options
from lab.fleet.result import FleetResult
from lab.fleet.results import commands_without_advice, results_of
from lab.fleet.run import live_alone
from lab.fleet.watched import watch
from tests.lab.fleet.test_fleet import facts

pytestmark = pytest.mark.django_db(transaction=True)


def test_some_hours_with_the_product(tmp_path: Path) -> None:
    options = Options(days=0.25, nodes=32, seed=2)
    kept = watch(tmp_path, options)
    results = tuple(results_of(kept.ledger, options, kept.said, truth.read([tmp_path / "truth.jsonl"])))
    fleet = FleetResult(
        options=options,
        results=results,
        with_product=goodput(kept.ledger, options),
        by_hand=goodput(live_alone(options), options),
        stray_commands=tuple(commands_without_advice(kept.said)),
        seconds=kept.seconds,
        watched_seconds=kept.seconds,
        peak_bytes=kept.peak_bytes,
    )
    broken = [one for one in fleet.grades if BY_NAME[one.name].harmful]
    assert broken and all(one.counted for one in fleet.grades)
    assert any(one.found for one in broken)
    assert kept.said.advice and kept.said.commands
    assert fleet.stray_commands == ()
    whole = sum(one.seconds(options.end) for one in kept.ledger.attempts)
    assert 0 < fleet.healthy_hours * 3600 <= whole
    table = fleet.table()
    assert "false actions per 1,000 healthy job-hours" in table and "people alone" in table
    assert not list((tmp_path / "logs").glob("*.checkpoint"))


def test_monitor_mode_changes_nothing_of_what_people_alone_live_through(tmp_path: Path) -> None:
    options = Options(days=0.02, nodes=32, seed=2, mode="monitor")
    kept = watch(tmp_path, options)
    assert kept.said.symptoms
    assert kept.said.commands == ()
    assert facts(kept.ledger) == facts(live_alone(options))
