"""What do `scontrol show` and sdiag tell?

Their `key=value` texts have no quoting, and some values are free text. Nothing is read here from behind a text
that somebody else could have written, except the text itself.
"""

import re
from collections.abc import Sequence
from datetime import datetime

from schedulers.hostlist import expand
from schedulers.port import JobRow, Limits, NodeRow, WaitingTasks
from schedulers.slurm.values import moment, whole

TESTED = ("22.05", "24.11")  # versions whose recorded answers stand in tests/schedulers/recorded
CRED_EXPIRE = 120  # seconds, Slurm's own value of AuthInfo=cred_expire

_STAMPED = re.compile(r"(.*) \[([^\s@\[\]]+)@(\d{1,11}|Unknown)\](.*)", re.DOTALL | re.ASCII)


def excluded_nodes(text: str, row: JobRow) -> tuple[str, ...]:
    """`ExcNodeList` of one job out of `scontrol -o show job`, which shows all tasks of an array.

    The name is the only free text before the list. squeue told it exactly, so it can be stepped over, whatever it
    says; the comment comes later.
    """
    keys = r"(?:(?:Array|Het)\w+=\S* )*"
    head = re.compile(rf"^JobId={row.number} {keys}JobName={re.escape(row.name)} {keys}UserId=", re.MULTILINE)
    named = head.search(text)
    found = re.compile(r" ExcNodeList=(\S*) ").search(text, named.end()) if named else None
    if found is None:
        raise ValueError(f"The answer about job {row.number} shows no such job with a list of excluded nodes.")
    return expand(found[1])


def by_exclusions(text: str, waiting: Sequence[JobRow]) -> tuple[WaitingTasks, ...]:
    """Waiting tasks of one array by their lists in `scontrol -o show job ARRAY`, which shows each record once."""
    lists: dict[int, tuple[str, ...]] = {}
    found: dict[tuple[tuple[str, ...], bool], list[JobRow]] = {}
    for row in waiting:
        if row.number not in lists:
            lists[row.number] = tuple(sorted(set(excluded_nodes(text, row))))
        found.setdefault((lists[row.number], row.held), []).append(row)
    return tuple(
        WaitingTasks(
            array_job=rows[0].array_job or 0,
            user=rows[0].user,
            tasks=tuple(sorted(row.array_task for row in rows if row.array_task is not None)),
            excluded_nodes=listed,
            required_nodes=tuple(sorted({node for row in rows for node in row.required_nodes})),
            stuck=stuck,
        )
        for (listed, stuck), rows in found.items()
    )


def nodes(text: str) -> tuple[NodeRow, ...]:
    """Every node of `scontrol -o show nodes`."""
    records: list[str] = []
    for line in text.split("\n"):
        if line.startswith("NodeName="):
            records.append(line)
        elif line.strip() and records:
            records[-1] += f"\n{line}"  # a reason over several lines
        elif line.strip():
            raise ValueError(f"The listing of nodes begins with '{line[:80]}'.")
    return tuple(_node(record) for record in records)


def _node(record: str) -> NodeRow:
    # Reason and then Comment are free text at the end; everything else stands before them.
    facts, _, reason = record.partition(" Reason=")
    facts, comment, _ = facts.partition(" Comment=")
    of = dict(word.partition("=")[::2] for word in facts.split())
    if "State" not in of:
        raise ValueError(f"The node '{of['NodeName'][:80]}' shows no state.")
    text, by, at = ("", "", "") if comment else _reason(reason)
    (name,) = expand(of["NodeName"])
    return NodeRow(
        name=name,
        states=_states(of["State"]),
        reason=text,
        reason_by=by,
        reason_at=moment(at),
        booted_at=moment(of.get("BootTime", "")),
        partitions=tuple(filter(None, of.get("Partitions", "").split(","))),
    )


def _reason(text: str) -> tuple[str, str, str]:
    """`text [user@time]`, the further lines of the text behind that, then the comment."""
    text = text.partition(" Comment=")[0]
    stamped = _STAMPED.fullmatch(text)  # other brackets are part of the text, which may say anything
    first, by, at, behind = stamped.groups() if stamped else (text, "", "", "")
    return " ".join(f"{first} {behind}".split()), by, at


def _states(text: str) -> tuple[str, ...]:
    """`IDLE+DRAIN` as `("idle", "drain")`; the mark `*` of older versions means that it does not answer."""
    words = tuple(word.rstrip("*~#!%$@^-").lower() for word in text.split("+"))
    return (*words, "not_responding") if "*" in text and "not_responding" not in words else words


def limits(text: str) -> Limits:
    """Version and limits out of `scontrol show config`."""
    of = dict(reversed(re.findall(r"^(\w+) *= (.*)$", text, re.MULTILINE)))  # of equal names the first
    missing = [name for name in ("SLURM_VERSION", "ClusterName", "MinJobAge", "KillWait") if name not in of]
    if missing:
        raise ValueError(f"The configuration shows no {missing[0]}.")
    version = of["SLURM_VERSION"].strip()
    expires = re.search(r"(?:\A|,)cred_expire=(\d{1,9})", of.get("AuthInfo", ""))
    return Limits(
        version=version,
        cluster_name=of["ClusterName"].strip(),
        min_job_age=_seconds(of["MinJobAge"], "MinJobAge"),
        requeue_wait=(int(expires[1]) if expires else CRED_EXPIRE) + 1,
        kill_wait=_seconds(of["KillWait"], "KillWait"),
        tested=".".join(version.split(".")[:2]) in TESTED,
    )


def clock(text: str) -> datetime:
    """The controller's time, which sdiag prints in its head as `(epoch seconds)`."""
    found = re.search(r"^sdiag output at .*\((\d{1,12})\)\s*$", text, re.MULTILINE)
    at = moment(found[1]) if found else None
    if at is None:
        raise ValueError("sdiag shows no time.")
    return at


def _seconds(text: str, name: str) -> int:
    """`60 sec`."""
    return whole(text.split(maxsplit=1)[0] if text.split() else "", name)
