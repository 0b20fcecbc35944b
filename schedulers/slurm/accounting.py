"""How did a job that Slurm no longer lists end? One sacct call and how its answer is read."""

from schedulers.hostlist import expand
from schedulers.port import AccountedAttempt
from schedulers.slurm.values import exit_status, moment, state

COLUMNS = ("JobIDRaw", "State", "ExitCode", "Submit", "Start", "End", "NodeList", "User", "JobName")


def ended(text: str, number: int, border: str) -> tuple[AccountedAttempt, ...]:
    """The ended attempts of one job, oldest first.

    Asked for an array, sacct answers with all its tasks: only records of this very number are taken.
    """
    fields = text.split(border)
    if fields.pop().strip() or len(fields) % len(COLUMNS):
        raise ValueError("The accounting's answer breaks off in the middle of a record.")
    found = []
    for start in range(0, len(fields), len(COLUMNS)):
        of = dict(zip(COLUMNS, fields[start : start + len(COLUMNS)], strict=True))
        ended_at = moment(of["End"])
        if ended_at is None or of["JobIDRaw"].strip() != str(number):
            continue
        word = of["State"].split(" ")[0]  # "CANCELLED by 0"
        code, signal = exit_status(of["ExitCode"])
        found.append(
            AccountedAttempt(
                number=number,
                name=of["JobName"],
                user=of["User"],
                state=state(word),
                word=word,
                submitted_at=moment(of["Submit"]),
                started_at=moment(of["Start"]),
                ended_at=ended_at,
                exit_code=code,
                exit_signal=signal,
                nodes=expand(of["NodeList"]),
            )
        )
    return tuple(sorted(found, key=lambda attempt: attempt.submitted_at or attempt.ended_at))
