"""Does `check` say how listings come and go, and what is wrong with it?"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from controller.checking import Check
from controller.config import read_config
from schedulers.port import JobRow, Listing, Unreachable
from tests.controller.advisor import Server, SmallAdvisor
from tests.controller.conftest import write_config
from tests.controller.scripted import ScriptedClock, ScriptedScheduler, row

REST = '\n[slurmrestd]\nurl = "unix:/run/slurmrestd/socket"\n'
PUSH = "\n[push]\nenabled = true\n"
Checked = Callable[..., tuple[bool, str]]


class Reading(ScriptedScheduler):
    """A scheduler whose listing can be another one, or fail, and is counted."""

    other: tuple[JobRow, ...] | None = None
    listings = 0
    fails = ""

    def jobs(self) -> Listing:
        self.listings += 1
        if self.fails:
            raise Unreachable(self.fails)
        return super().jobs() if self.other is None else Listing(self.other)


@pytest.fixture
def reader(clock: ScriptedClock) -> Reading:
    scheduler = Reading(clock)
    scheduler.add(row())
    return scheduler


@pytest.fixture
def checked(clock: ScriptedClock, server: Server, token_file: Path, tmp_path: Path) -> Checked:
    def check(reader: Reading, lines: str = "", by_commands: ScriptedScheduler | None = None) -> tuple[bool, str]:
        path = write_config(tmp_path, server.url, token_file)
        path.write_text(path.read_text() + lines)
        said: list[str] = []
        good = Check(read_config(path), reader, said.append, clock, by_commands).run()
        return good, "\n".join(said)

    return check


def test_commands_alone(reader: Reading, checked: Checked) -> None:
    good, said = checked(reader)
    assert good
    assert "Jobs and nodes are read by the scheduler's commands." in said


def test_slurmrestd_that_says_what_the_commands_say(reader: Reading, checked: Checked) -> None:
    good, said = checked(reader, REST)
    assert good
    assert "are read from slurmrestd at unix:/run/slurmrestd/socket (v0.0.38): 1 jobs." in said
    assert "Limits, accounting and the waiting tasks of arrays are still read by commands." in said
    assert "Both list 1 jobs, and say the same of each." in said


def test_slurmrestd_that_sees_less_or_says_something_else(
    reader: Reading, checked: Checked, clock: ScriptedClock
) -> None:
    by_commands = ScriptedScheduler(clock)
    by_commands.add(row())
    reader.other = ()
    good, said = checked(reader, REST, by_commands)
    assert not good
    assert f"does not list 1 jobs (of them {row().number}) that the commands list" in said
    reader.other = (replace(row(), admin_comment="x"),)
    good, said = checked(reader, REST, by_commands)
    assert not good
    assert "these fields differ: admin_comment;" in said
    reader.other = (replace(row(), restarts=7, comment="another attempt"),)
    assert checked(reader, REST, by_commands)[0]


def test_slurmrestd_that_does_not_answer_is_no_reason_to_compare(reader: Reading, checked: Checked) -> None:
    reader.fails = "slurmrestd at unix:/run/slurmrestd/socket does not answer: No such file or directory."
    good, said = checked(reader, REST)
    assert not good
    assert "slurmrestd cannot be read: slurmrestd at unix:/run" in said
    assert reader.listings == 1


def test_an_advisor_that_takes_listings(reader: Reading, checked: Checked, advisor: SmallAdvisor) -> None:
    good, said = checked(reader, PUSH)
    assert good
    assert "The Advisor takes pushed listings; there was none yet." in said
    assert "The next one would have 1 jobs and" in said
    assert advisor.observations == []
    advisor.observations.append({"sequence": int(reader.clock.now().timestamp() * 1000) - 90_000})
    good, said = checked(reader)
    assert good
    assert "the last was made 90 s ago" in said
    assert "`run` pushes none (push.enabled is false)" in said
    assert len(advisor.observations) == 1


def test_an_advisor_that_takes_none(reader: Reading, checked: Checked, advisor: SmallAdvisor) -> None:
    advisor.refuse["observation"] = 404
    good, said = checked(reader)
    assert good
    assert "The Advisor asks the scheduler itself; nothing is pushed." in said
    good, said = checked(reader, PUSH)
    assert not good
    assert "The Advisor takes no listings: 404" in said
    advisor.refuse["observation"] = 503
    good, said = checked(reader, PUSH)
    assert not good
    assert "Whether the Advisor takes listings is not known" in said


def test_a_push_that_could_not_see(reader: Reading, checked: Checked) -> None:
    reader.fails = "squeue did not answer."
    good, said = checked(reader, PUSH)
    assert not good
    assert "The next one would say that the scheduler cannot be seen: squeue did not answer." in said


def test_all_of_it_asks_for_two_listings_at_most(reader: Reading, checked: Checked) -> None:
    checked(reader, REST + PUSH)
    assert reader.listings == 2
