"""Several workers, controllers or people at the same moment: is it still done once? On SQLite and on MariaDB."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.stores.stores import Stores
from tests.advisor_api.rush import THREADS

ROOT = Path(__file__).resolve().parents[2]
LATE = THREADS - 1


@pytest.fixture(scope="module", params=["sqlite", "mariadb"])
def outcome(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("rush")
    if request.param == "sqlite":
        yield rush(folder, {})
        return
    with Stores(folder / "stores") as stores:
        yield rush(folder, {"REKINDLE_DATABASE_URL": stores.environment["REKINDLE_DATABASE_URL"]})


def rush(folder: Path, more: dict[str, str]) -> dict[str, Any]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REKINDLE_")}
    environment |= {"REKINDLE_STATE_DIR": str(folder), "REKINDLE_LOG_LEVEL": "ERROR", **more}
    command = [sys.executable, "-m", "tests.advisor_api.rush"]
    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert run.returncode == 0, run.stderr[-3000:]
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def test_one_verdict_becomes_one_advice(outcome: dict[str, Any]) -> None:
    assert outcome["one_verdict"] == {"answers": {"True": 1, "False": LATE}, "advice": 1, "excluded": 1}


def test_sweeps_decide_each_verdict_once_and_keep_the_storm_limit(outcome: dict[str, Any]) -> None:
    assert outcome["sweeps"] == {"advice": 12, "restarts": 9}


def test_the_cap_on_exclusions_holds(outcome: dict[str, Any]) -> None:
    assert outcome["caps"] == {"excluded": 1}


def test_the_defaults_are_stored_once(outcome: dict[str, Any]) -> None:
    assert outcome["first_policy"] == {"answers": 1, "made": 1, "active": 1}


def test_of_those_who_activate_at_once_one_is_first(outcome: dict[str, Any]) -> None:
    assert outcome["activation"] == {"answers": {"1": 1, "Stale": LATE}, "stored": 1, "events": 1}


def test_one_milestone(outcome: dict[str, Any]) -> None:
    assert outcome["one_milestone"] == {"answers": {"True": 1, "False": LATE}, "stored": 1, "events": 1}


def test_the_same_report_gets_the_same_answer(outcome: dict[str, Any]) -> None:
    assert outcome["one_report"] == {"answers": {"converged": THREADS}, "events": 1}


def test_events_are_stored_once(outcome: dict[str, Any]) -> None:
    assert outcome["events"] == {"answers": {"20": THREADS}, "stored": 20}


def test_one_holder(outcome: dict[str, Any]) -> None:
    assert outcome["lease"] == {
        "first": {"1": 1, "Stale": LATE},
        "second": {"2": 1, "Stale": LATE},
        "fence": 2,
    }


def test_one_approval(outcome: dict[str, Any]) -> None:
    assert outcome["approval"] == {"answers": {"pending": 1, "Stale": LATE}, "excluded": 1}


def test_one_switch_of_the_mode(outcome: dict[str, Any]) -> None:
    assert outcome["mode"] == {"answers": {"monitor": 1, "Stale": LATE}, "version": 2}


def test_one_registration(outcome: dict[str, Any]) -> None:
    answers = outcome["registration"]["answers"]
    assert answers["True"] == 1
    assert set(answers) <= {"True", "False", "Stale"}
    assert outcome["registration"]["stored"] == 1


def test_outcomes_are_written_once(outcome: dict[str, Any]) -> None:
    assert outcome["outcomes"] == {"events": ["allocation_restarted", "training_completed"], "closed": 1}


def test_a_fault_and_its_end_that_arrive_at_once_see_each_other(outcome: dict[str, Any]) -> None:
    assert outcome["health"] == {"answers": {"True": THREADS}, "stored": 40, "open": 0, "told": 20}


def test_the_same_exclusion_is_made_once_and_lifted_once(outcome: dict[str, Any]) -> None:
    assert outcome["exclusion"] == {"answers": [THREADS], "lifted": {"True": 1, "Stale": LATE}, "events": 2}


def test_the_same_pause_is_made_once_and_ended_once(outcome: dict[str, Any]) -> None:
    assert outcome["pausing"] == {"answers": [THREADS], "ended": {"True": 1, "Stale": LATE}, "events": 2}


def test_of_a_yes_and_a_no_at_once_one_holds(outcome: dict[str, Any]) -> None:
    """A no after the yes, before anybody began, takes it back: then two were heard, and nothing is excluded."""
    found = outcome["rulings"]
    assert found["answers"].pop("Stale") in {LATE, LATE - 1}
    assert (found["state"], found["excluded"]) in {("pending", 1), ("abandoned", 0)}


def test_a_token_is_replaced_once(outcome: dict[str, Any]) -> None:
    assert outcome["rotation"] == {"answers": {"True": 1, "Stale": LATE}, "stored": 2}


def test_who_begins_is_not_replaced_and_who_is_replaced_does_not_begin(outcome: dict[str, Any]) -> None:
    for found in [*outcome["stale_generation"], outcome["begun_meanwhile"]]:
        assert set(found["answers"]) <= {"begun 0", "begun 1", "decided True", "decided False"}, found
        assert (found["begun"] > 0) is (found["generations"] == 1), found


def test_messages_of_a_job_are_stored_once_and_in_order(outcome: dict[str, Any]) -> None:
    found = outcome["telling"]
    assert (found["same"], found["each"]) == ({"True": 1, "False": LATE}, {"True": THREADS})
    assert found["offsets"] == [7 * number for number in range(THREADS + 1)]
