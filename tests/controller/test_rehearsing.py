"""Does a dry run print the commands that would be sent, and send, write and report nothing?"""

import pytest

from controller.rehearsing import Withheld, Withholding
from schedulers.port import JobDetail
from schedulers.slurm.adapter import Slurm
from schedulers.states import JobState
from schedulers.transport import Answer
from tests.controller.test_simulated import Site, failing, site  # noqa: F401  the fixture


def failed(site: Site) -> tuple[int, JobDetail]:  # noqa: F811
    number = site.submit(**failing("n01"))
    return number, site.reach(number, JobState.FAILED, 0)


@pytest.mark.parametrize("acknowledged", [True, False])
def test_the_next_command_is_printed_and_nothing_happens(site: Site, acknowledged: bool) -> None:  # noqa: F811
    if not acknowledged:
        text = site.config.read_text()
        site.config.write_text(
            text.replace("acknowledgeSchedulerActions = true", "acknowledgeSchedulerActions = false")
        )
    number, before = failed(site)
    site.advise(number, before.row.nodes[:1])
    files = {path.name for path in site.config.parent.iterdir()}
    done = site.ask("run", "--dry-run", "--once")
    assert done.returncode == 0, done
    assert f"job {number}-0 g1: would send: scontrol requeuehold {number}" in done.stderr
    assert ("not sent in any case" in done.stderr) is not acknowledged
    assert site.job(number) == before
    assert {path.name for path in site.config.parent.iterdir()} == files
    assert {method for method, _, _ in site.advisor.requests} == {"GET"}


def test_whatever_changes_something_is_withheld() -> None:
    class Deaf:
        """Must not be asked to change anything."""

        def run(self, argv: tuple[str, ...], seconds: float) -> Answer:
            assert argv[0] == "squeue"
            return Answer(0, "", "")

    slurm = Slurm(Withholding(Deaf()), 5)
    assert slurm.jobs().jobs == ()
    for argv in (
        ("scontrol", "release", "7"),
        ("scancel", "7"),
        ("scontrol", "update", "JobId=7", "AdminComment=a b"),
    ):
        with pytest.raises(Withheld):
            Withholding(Deaf()).run(argv, 5)
    assert str(Withheld(argv)) == "scontrol update JobId=7 'AdminComment=a b'"
