"""What does scontrol do and print?"""

from collections.abc import Callable, Sequence

from lab.simulate import actions
from lab.simulate.actions import Refused, Unreadable
from lab.simulate.client import HOST
from lab.simulate.jobs import Job
from lab.simulate.model import Cluster
from lab.simulate.slurm.options import VERSION, Answer, read
from lab.simulate.slurm.show import show

KNOWN = {"oneliner": "o", "all": "a", "details": "d", "quiet": "Q", "verbose": "v", "version": "V"}
SUSPEND = "slurm_suspend error"  # what hold and release add to each refusal
ENTITIES = ("jobid", "job", "nodename")
NO_ENTITY = (
    "No valid entity in update command\n"
    'Input line must include "NodeName", "PartitionName", "Reservation", "JobId", or "SlurmctldDebug"\n'
)
NEEDS_REASON = "You must specify a reason when DOWNING or DRAINING a node. Request denied\n"


def scontrol(cluster: Cluster, argv: Sequence[str], time_format: str) -> Answer:
    """The answer of `scontrol`. Success of an action is silence and rc 0."""
    options = read("scontrol", argv, KNOWN)
    if options.has("version") or options.words[:1] == ("version",):
        return 0, f"slurm-wlm {VERSION}\n", ""
    if not options.words:
        return 0, "scontrol: \n", ""
    verb, words = options.words[0].lower(), options.words[1:]
    if verb == "show":
        return show(cluster, words, time_format, options.has("oneliner"))
    if verb == "ping":
        return 0, f"Slurmctld(primary) at {HOST} is UP\n", ""
    act = VERBS.get(verb)
    if act is None:
        return 1, "", f"invalid keyword: {verb}\n"
    if not words:
        return 1, "", f"too few arguments for {'update keyword' if verb == 'update' else f'keyword:{verb}'}\n"
    return act(cluster, words)


def _on_jobs(cluster: Cluster, words: Sequence[str], act: Callable[[Job], None], more: str = "") -> Answer:
    """Do it to each job; the good ones are done, the bad ones listed, rc 1 (observed)."""
    errors = []
    try:
        jobs = actions.named(words)
    except Refused as refusal:
        return 1, "", f"{refusal} for job {words[0]}\n"
    for word in jobs:
        try:
            act(actions.find(cluster, word))
        except Refused as refusal:
            errors.append(f"{refusal} for job {word}\n")
            if more:
                errors.append(f"{more}: {refusal}\n")
    if any("[" in word for word in words) and 0 < len(errors) < len(jobs):
        errors.append(f"{words[0]}: No error\n")
    return int(bool(errors)), "", "".join(errors)


def _requeue(cluster: Cluster, words: Sequence[str]) -> Answer:
    return _again(cluster, words, hold=False)


def _requeue_hold(cluster: Cluster, words: Sequence[str]) -> Answer:
    return _again(cluster, words, hold=True)


def _again(cluster: Cluster, words: Sequence[str], *, hold: bool) -> Answer:
    flags = []
    while words and words[0].lower() in ("incomplete", "state=specialexit"):
        flags.append(words[0].lower())
        words = words[1:]
    special, incomplete = "state=specialexit" in flags, "incomplete" in flags
    return _on_jobs(
        cluster,
        words,
        lambda job: actions.requeue(cluster, job, hold=hold or special, special=special, incomplete=incomplete),
    )


def _hold(cluster: Cluster, words: Sequence[str]) -> Answer:
    return _on_jobs(cluster, words, lambda job: actions.hold(cluster, job, "JobHeldAdmin"), SUSPEND)


def _user_hold(cluster: Cluster, words: Sequence[str]) -> Answer:
    return _on_jobs(cluster, words, lambda job: actions.hold(cluster, job, "JobHeldUser"), SUSPEND)


def _release(cluster: Cluster, words: Sequence[str]) -> Answer:
    return _on_jobs(cluster, words, lambda job: actions.release(cluster, job), SUSPEND)


def _update(cluster: Cluster, words: Sequence[str]) -> Answer:
    pairs: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign:
            return 1, "", f"Invalid input: {word}\nRequest aborted\n"
        if name.endswith(("+", "-")):
            return 1, "", f"scontrol: error: Option {word} does not accept [+|-]= syntax\n"
        pairs[name.lower()] = value
    entity = next((name for name in pairs if name in ENTITIES), "")
    if not entity:
        return 1, "", NO_ENTITY
    target = pairs.pop(entity)
    known = ("state", "reason") if entity == "nodename" else actions.CHANGES
    for word in words:
        name = word.partition("=")[0].lower()
        if name != entity and name not in known:
            return 1, "", f"Update of this parameter is not supported: {word}\nRequest aborted\n"
    return _update_nodes(cluster, target, pairs) if entity == "nodename" else _update_jobs(cluster, target, pairs)


def _update_jobs(cluster: Cluster, target: str, changes: dict[str, str]) -> Answer:
    try:
        for name, value in changes.items():
            actions.readable(name, value, cluster.now)
    except Unreadable as mistake:
        return 1, "", str(mistake)
    return _on_jobs(cluster, [target], lambda job: actions.update_job(cluster, job, changes))


def _update_nodes(cluster: Cluster, target: str, changes: dict[str, str]) -> Answer:
    state, reason = changes.get("state", "").upper(), changes.get("reason")
    if state and state not in actions.NODE_STATES:
        return (
            1,
            "",
            f"Invalid input: State={changes['state']}\nRequest aborted\n"
            "Valid states are: NoResp DRAIN FAIL FUTURE RESUME POWER_DOWN POWER_UP UNDRAIN\n"
            "Not all states are valid given a node's prior state\n",
        )
    if state in actions.NEED_REASON and not reason:
        return 1, "", NEEDS_REASON
    try:
        actions.update_nodes(cluster, target, state, reason)
    except Refused as refusal:
        return 1, "", f"slurm_update error: {refusal}\n"
    return 0, "", ""


VERBS: dict[str, Callable[[Cluster, Sequence[str]], Answer]] = {
    "requeue": _requeue,
    "requeuehold": _requeue_hold,
    "hold": _hold,
    "uhold": _user_hold,
    "release": _release,
    "update": _update,
}
