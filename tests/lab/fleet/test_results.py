"""Is every advice judged where it belongs?"""

from datetime import UTC, datetime

from lab.cases.case import Did
from lab.fleet.classes import GPU
from lab.fleet.ledger import Ledger
from lab.fleet.options import START, Options
from lab.fleet.results import commands_without_advice, results_of
from lab.score.said import Advised, Judged, Said
from lab.truth import Injected

AT = datetime.fromtimestamp(START + 100, UTC)
NODES = ("gpu01", "gpu02")


def advised(attempt: int, *nodes: str) -> Advised:
    return Advised(7, attempt, Did.RESTART_EXCLUDE, nodes, "some_rule", AT)


def judged(attempt: int, *nodes: str) -> Judged:
    return Judged(7, attempt, "crash", "hardware.gpu", "xid.79", 0.9, "restart_exclude", nodes, nodes, AT, "")


def lived() -> Ledger:
    """Job 7: its first attempt is struck after a minute, its second is healthy."""
    ledger = Ledger()
    ledger.submitted(0, 7)
    ledger.started(7, 0, NODES, 0, START)
    ledger.struck(7, GPU, START + 60)
    ledger.ended(7, "FAILED", 0, START + 90)
    ledger.started(7, 1, NODES, 0, START + 200)
    ledger.ended(7, "COMPLETED", 5, START + 500)
    return ledger


def test_a_restart_is_judged_without_the_nodes_that_others_excluded() -> None:
    said = Said(
        verdicts=(judged(0, "gpu01"),), advice=(advised(0, "gpu01", "gpu33"), advised(1, "gpu01")), states={7: "x"}
    )
    deed = Injected("fleet.gpu", 7, 0, "off_the_bus", START + 60, ("gpu01",))
    struck, plain = results_of(lived(), Options(days=1), said, [deed])
    assert (struck.case.name, plain.case.name) == ("fleet.gpu", "fleet.plain")
    assert [(one.did, one.nodes) for one in struck.said.advice] == [(Did.RESTART_EXCLUDE, ("gpu01",))]
    assert [(one.did, one.nodes) for one in plain.said.advice] == [(Did.RESTART, ())]
    assert (struck.healthy_seconds, plain.healthy_seconds) == (60, 300)
    assert struck.injected == (deed,)


def test_a_failed_attempt_waits_until_its_work_starts_again() -> None:
    assert lived().waited == [(2, 110)]


def test_commands_for_jobs_that_nothing_was_advised_on_are_told() -> None:
    said = Said(advice=(advised(0),), commands=("scontrol release 7", "scontrol update JobId=8 Comment=x"))
    assert commands_without_advice(said) == ["scontrol update JobId=8 Comment=x"]
