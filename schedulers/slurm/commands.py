"""Which commands do we ever run on a Slurm cluster?

Every one of them, as a list of arguments, so that this page is the whole of what may reach the cluster. Numbers
and names are checked here: nothing that came from outside can become an option or a second argument.
"""

from collections.abc import Sequence

from schedulers.hostlist import is_node_name, places

LARGEST_NUMBER = 2**32 - 1  # job numbers are 32 bits wide
LONGEST_TASKS = 8_192  # characters of one list of tasks; an array whose waiting ones need more is in pieces
LONGEST_NODES = 100_000  # characters of one list of nodes; Linux takes 131,072 in one argument
LONGEST_MARK = 10_000  # bytes; longer ones were never tried on a real Slurm

READING = frozenset({"squeue", "sacct", "sdiag"})
READING_VERBS = frozenset({"ping", "show"})


def only_reads(argv: Sequence[str]) -> bool:
    """Whether a command changes nothing: what monitor mode is proved by."""
    if argv[0] != "scontrol":
        return argv[0] in READING
    return next((word for word in argv[1:] if not word.startswith("-")), "") in READING_VERBS


def list_jobs(layout: str) -> tuple[str, ...]:
    """Every job, also finished ones until they are purged; arrays unfolded, for tasks may differ."""
    return ("squeue", "-h", "-a", "-r", "-t", "all", "-O", layout)


def list_job(number: int, layout: str) -> tuple[str, ...]:
    """One job, or every task of an array."""
    return (*list_jobs(layout), "-j", job_number(number))


def show_job(address: str) -> tuple[str, ...]:
    """What only the question about one job tells."""
    return ("scontrol", "-o", "show", "job", address)


def show_nodes() -> tuple[str, ...]:
    """Every node."""
    return ("scontrol", "-o", "show", "nodes")


def show_config() -> tuple[str, ...]:
    """Version and limits."""
    return ("scontrol", "show", "config")


def statistics() -> tuple[str, ...]:
    """Begins with the controller's clock."""
    return ("sdiag",)


def ping() -> tuple[str, ...]:
    """Whether a controller answers."""
    return ("scontrol", "ping")


def accounting(number: int, columns: Sequence[str], border: str) -> tuple[str, ...]:
    """Every attempt of a job (`-D`), without its steps (`-X`), each field followed by `border`."""
    return (
        "sacct",
        "-n",
        "-D",
        "-X",
        "-p",
        f"--delimiter={border}",
        "-o",
        ",".join(columns),
        "-j",
        job_number(number),
    )


def set_mark(address: str, text: str) -> tuple[str, ...]:
    """Write the administrator's comment; empty removes it."""
    if "\0" in text or len(text.encode("utf-8", "replace")) > LONGEST_MARK:
        raise ValueError(f"A mark holds at most {LONGEST_MARK} bytes and no NUL.")
    return ("scontrol", "update", f"JobId={address}", f"AdminComment={text}")


def requeue_hold(address: str, *, running: bool) -> tuple[str, ...]:
    """`Incomplete` leaves finished jobs alone; without it Slurm reruns even those that succeeded."""
    return ("scontrol", "requeuehold", *(("Incomplete",) if running else ()), address)


def set_exclusions(address: str, nodes: Sequence[str]) -> tuple[str, ...]:
    """Replace the whole list; there is no way to append."""
    for node in nodes:
        if not is_node_name(node):
            raise ValueError(f"'{node[:80]}' is no name of a node.")
    if len(",".join(nodes)) > LONGEST_NODES:
        raise ValueError(f"{len(nodes)} excluded nodes cannot be named in {LONGEST_NODES} characters.")
    return ("scontrol", "update", f"JobId={address}", f"ExcNodeList={','.join(nodes)}")


def set_exclusions_of_tasks(array_job: int, tasks: Sequence[int], nodes: Sequence[str]) -> tuple[str, ...]:
    """The same for tasks of an array that wait.

    All tasks of a record must be named, each time: Slurm splits a record of which it is told a part (observed: five
    tasks of six became five jobs). Named beside tasks that have begun, or that were split off, it stays whole.
    """
    listed = places(tasks)
    if not listed or len(listed) > LONGEST_TASKS:
        raise ValueError(f"The tasks of array {array_job} cannot be named in {LONGEST_TASKS} characters.")
    return set_exclusions(f"{job_number(array_job)}_{listed}", nodes)


def release(address: str) -> tuple[str, ...]:
    """Let a held job go."""
    return ("scontrol", "release", address)


def start_at(address: str, epoch_seconds: int) -> tuple[str, ...]:
    """Begin at this time, in seconds since 1970: scontrol would add up `now+2` on the clock of its own machine."""
    return ("scontrol", "update", f"JobId={address}", f"StartTime=uts{epoch_seconds}")


def cancel(address: str) -> tuple[str, ...]:
    """Cancel a job."""
    return ("scancel", address)


def job_number(number: int) -> str:
    """A job number as an argument."""
    if not 0 < number <= LARGEST_NUMBER:
        raise ValueError(f"{number} is no job number.")
    return str(number)
