"""What can be done to a simulated cluster from outside, while its jobs run? By people, by nodes, by the scheduler.

`words` are those of the act: a node's name, or the index of one of the case's jobs.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lab.simulate import actions, lies
from lab.simulate.jobs import PENDING, RUNNING, SUSPENDED, Job
from lab.simulate.model import Cluster
from lab.simulate.virtual_logs import VirtualLogs

REBOOT_SECONDS = 240.0  # until a node that restarted answers again (modelled: minutes, as servers take)
REASON = "drained in the lab"


class NotDone(Exception):
    """The act did not take place; one sentence says why. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class Deed:
    """What the act was done to: numbers of jobs and names of nodes."""

    jobs: tuple[int, ...] = ()
    nodes: tuple[str, ...] = ()


Words = Sequence[str]
Outside = Callable[[Cluster, Sequence[int], Words], Deed]


def act(cluster: Cluster, do: str, words: Words = (), jobs: Sequence[int] = ()) -> Deed:
    """Do it; `jobs` are the numbers of the case's jobs, in their order. Raises `NotDone`."""
    done = OUTSIDE.get(do)
    if done is None:
        raise NotDone(f"Nobody can do '{do[:40]}'; known are {', '.join(OUTSIDE)}.")
    try:
        return done(cluster, jobs, words)
    except actions.Refused as no:
        raise NotDone(f"{do}: {no}.") from None


# --- nodes


def _node(cluster: Cluster, words: Words) -> str:
    name = words[0] if words else ""
    if name not in cluster.nodes:
        raise NotDone(f"There is no node '{name[:64]}'.")
    return name


def _on(cluster: Cluster, name: str) -> Deed:
    return Deed(tuple(sorted(cluster.nodes[name].jobs)), (name,))


def node_down(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
    """The node's daemon is gone; the controller notices later. Words: node."""
    deed = _on(cluster, name := _node(cluster, words))
    cluster.lose_node(name)
    return deed


def node_drain(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
    """An administrator drains the node. Words: node, and the reason if it is another than ours."""
    deed = _on(cluster, name := _node(cluster, words))
    actions.update_nodes(cluster, name, "DRAIN", words[1] if len(words) > 1 else REASON)
    return deed


def node_resume(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
    """The node answers again, and whatever kept jobs away is taken back. Words: node."""
    name = _node(cluster, words)
    cluster.return_node(name)
    node = cluster.nodes[name]
    if node.down or node.drained or node.failing:
        actions.update_nodes(cluster, name, "RESUME", None)
    return Deed((), (name,))


def node_reboot(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
    """The node restarts without being asked. Words: node, and the seconds until it is back."""
    deed = _on(cluster, name := _node(cluster, words))
    cluster.reboot_node(name, _number(words[1]) if len(words) > 1 else REBOOT_SECONDS)
    return deed


# --- jobs


def _job(cluster: Cluster, jobs: Sequence[int], words: Words) -> Job:
    index = int(_number(words[0])) if words else 0
    if not index < len(jobs):
        raise NotDone(f"The case has no job {index}.")
    job = cluster.jobs.get(jobs[index])
    if job is None:
        raise NotDone(f"Job {index} is gone.")
    if not cluster.controller_up:
        raise NotDone("The controller is down.")
    return job


def _number(word: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e9:
        raise NotDone(f"'{word[:40]}' is no number.")
    return number


def cancel(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
    """Its user cancels the job. Words: index of the job."""
    job = _job(cluster, jobs, words)
    if job.finished:
        raise NotDone("The job has already finished.")
    cluster.cancel(job, cluster.settings.user_id)
    return Deed((job.number,))


def requeue(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
    """An administrator requeues the job. Words: index of the job."""
    job = _job(cluster, jobs, words)
    actions.requeue(cluster, job, hold=False, special=False, incomplete=False)
    return Deed((job.number,))


def foreign_requeue(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
    """Its user, or another tool, wants the job to run: requeued if it runs or ended, let go if it is held."""
    job = _job(cluster, jobs, words)
    if job.state == PENDING:
        return release(cluster, jobs, words)
    return requeue(cluster, jobs, words)


def hold(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
    """An administrator holds the job. Words: index of the job."""
    job = _job(cluster, jobs, words)
    actions.hold(cluster, job, "JobHeldAdmin")
    return Deed((job.number,))


def user_hold(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
    """Its user holds the job. Words: index of the job."""
    job = _job(cluster, jobs, words)
    actions.hold(cluster, job, "JobHeldUser")
    return Deed((job.number,))


def release(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
    """Somebody lets go of the held job. Words: index of the job."""
    job = _job(cluster, jobs, words)
    if job.priority:
        raise NotDone("The job is not held.")
    actions.release(cluster, job)
    return Deed((job.number,))


def suspend(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
    """An administrator suspends the running job: it keeps its nodes and does nothing. Words: index of the job."""
    job = _job(cluster, jobs, words)
    if job.state != RUNNING:
        raise NotDone("The job does not run.")
    cluster.suspend(job)
    return Deed((job.number,))


def unsuspend(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
    """The suspended job goes on. Words: index of the job."""
    job = _job(cluster, jobs, words)
    if job.state != SUSPENDED:
        raise NotDone("The job is not suspended.")
    cluster.unsuspend(job)
    return Deed((job.number,))


# --- the controller and what it says


def stop_controller(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
    """No command is answered and no job started; jobs run on."""
    cluster.stop_controller()
    return Deed()


def start_controller(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
    """The controller is back, with its jobs."""
    cluster.start_controller()
    return Deed()


def lose_state(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
    """The controller starts without its state: no job is known, numbers begin anew; the accounting remembers."""
    if any(not job.finished or job.completing for job in cluster.jobs.values()):
        raise NotDone("There are jobs that have not ended.")
    known = tuple(number for number in jobs if number in cluster.jobs)
    cluster.lose_state()
    return Deed(known)


def _lying(how: str) -> Outside:
    def begin(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
        lies.begin(cluster, how, _number(words[0]) if words else lies.SLOW_SECONDS)
        return Deed()

    return begin


def listing_normal(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
    """The listings tell the truth again."""
    lies.end(cluster)
    return Deed()


# --- logs


def _logs(cluster: Cluster) -> VirtualLogs:
    if not isinstance(cluster.logs, VirtualLogs):
        raise NotDone("Only logs of virtual time can be stopped, rotated and truncated.")
    return cluster.logs


def logs_stop(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
    """The collector stops: what is written appears only after `logs_start`."""
    _logs(cluster).logs_stop()
    return Deed(tuple(jobs))


def logs_start(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
    """The collector goes on, and brings what it missed."""
    _logs(cluster).logs_start()
    return Deed(tuple(jobs))


def rotate_logs(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
    """Logs are renamed and begun anew. Words: index of a job; none: every log."""
    return _whose(cluster, jobs, _logs(cluster).rotate(_paths(cluster, jobs, words)))


def truncate_logs(cluster: Cluster, jobs: Sequence[int], words: Words) -> Deed:
    """Logs are emptied in place. Words: index of a job; none: every log."""
    return _whose(cluster, jobs, _logs(cluster).truncate(_paths(cluster, jobs, words)))


def _paths(cluster: Cluster, jobs: Sequence[int], words: Words) -> tuple[str, ...]:
    return (_job(cluster, jobs, words).path,) if words else ()


def _whose(cluster: Cluster, jobs: Sequence[int], done: Iterable[str]) -> Deed:
    paths = set(done)
    if not paths:
        raise NotDone("There is no log yet.")
    return Deed(tuple(number for number in jobs if number in cluster.jobs and cluster.jobs[number].path in paths))


OUTSIDE: dict[str, Outside] = {
    "node_down": node_down,
    "node_drain": node_drain,
    "node_resume": node_resume,
    "node_reboot": node_reboot,
    "cancel": cancel,
    "requeue": requeue,
    "foreign_requeue": foreign_requeue,
    "hold": hold,
    "user_hold": user_hold,
    "release": release,
    "suspend": suspend,
    "unsuspend": unsuspend,
    "lose_state": lose_state,
    "stop_controller": stop_controller,
    "start_controller": start_controller,
    "listing_empty": _lying("empty"),
    "listing_slow": _lying("slow"),  # words: seconds
    "listing_error": _lying("error"),
    "listing_garbled": _lying("garbled"),
    "listing_stale": _lying("stale"),
    "listing_normal": listing_normal,
    "logs_stop": logs_stop,
    "logs_start": logs_start,
    "rotate_logs": rotate_logs,
    "truncate_logs": truncate_logs,
}
"""Every act: `(cluster, numbers of the case's jobs, words)`."""
