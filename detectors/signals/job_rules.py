"""What is wrong with the lines of one job, why does it matter, and what helps? One function for each point."""

from collections.abc import Callable

from detectors.catalogue.hang import LINES_KNOWN
from detectors.signals.clocks import AHEAD, LATE, zone_name
from detectors.signals.facts import ClusterFacts, JobFacts, Labelled
from detectors.signals.log_rules import age_of, judge_log
from detectors.signals.remark import Remark, few, fine, note, span, wrong

FEW = 20  # lines below which nothing is said about shares
RARE = 0.1  # share of lines with a stamp below which symptoms are dated by the read
DISORDER = 0.05  # share of stamps that may go back
BURST = 10.0  # seconds; a shipper's usual batch
CRASH_LATENCY = "Symptoms and step times are dated by the moment of the read, which is later, and differs by node."


def judge_job(job: JobFacts, cluster: ClusterFacts) -> tuple[Remark, ...]:
    """The remarks on one job; where no line can be read, only why."""
    seen = judge_log(job, cluster)
    remarks = [seen, *_labels(job)]
    if job.lines.count:
        remarks += [remark for rule in RULES if (remark := rule(job, cluster)) is not None]
    return tuple(remarks)


def _labels(job: JobFacts) -> list[Remark]:
    lines = job.lines.count
    return [_label(name, labelled, lines) for name, labelled in job.labels.items()] if job.lines.count else []


_WANTED = {
    "node": ("a node of the job", "A fault cannot be put on a node, so no node is left out."),
    "rank": ("a rank", "Who did not join a collective is not known: a hang names no rank."),
    "filename": ("a file name", "Lines of different files are read as one stream."),
    "restart": ("the restart count", "After a quick requeue lines may be given to the wrong attempt, or to none."),
}


def _label(name: str, seen: Labelled, lines: int) -> Remark:
    what, matters = _WANTED[name]
    point = f"label {name}"
    if not seen.label:
        return note(point, f"No label is mapped to {name}.", matters, "Map one where the shipper sets it.")
    if not seen.present:
        remedy = "Correct the mapping (see the proposal), or let the shipper set the label."
        return wrong(point, f"None of {lines} lines has the label {seen.label}.", matters, remedy)
    if seen.fitting < seen.present:
        sentence = (
            f"{seen.present - seen.fitting} of {seen.present} lines have a label {seen.label} that is not {what}"
        )
        return wrong(
            point, f"{sentence}: {few(seen.strange)}.", matters, "Map another label, or let the shipper correct it."
        )
    return fine(point, f"{seen.present} of {lines} lines have {what} in {seen.label}.")


def _stamps(job: JobFacts, _cluster: ClusterFacts) -> Remark | None:
    lines = job.lines
    share = lines.stamped / lines.count
    sentence = f"{lines.stamped} of {lines.count} lines have a time stamp"
    remedy = "Let the program's logger write the time in each line, e.g. 2026-11-29 14:00:00,123."
    if not lines.stamped and lines.count >= FEW:
        return wrong("stamps", f"{sentence}.", CRASH_LATENCY, remedy)
    if share < RARE:
        return note("stamps", f"{sentence}.", CRASH_LATENCY, remedy)
    return fine("stamps", f"{sentence}, {lines.zoned} with their zone.")


def _order(job: JobFacts, _cluster: ClusterFacts) -> Remark | None:
    lines = job.lines
    if lines.stamped < FEW:
        return None
    if lines.backwards / lines.stamped > DISORDER:
        return wrong(
            "order",
            f"{lines.backwards} of {lines.stamped} stamps are older than the one before in the same stream.",
            "Step times, and so slow-downs, are measured wrongly; which rank failed first is not known.",
            "Let each rank or node write a file of its own (%t or %N in the path), and set the "
            "nodes' clocks by NTP.",
        )
    return fine("order", "Stamps rise.")


def _zone(job: JobFacts, _cluster: ClusterFacts) -> Remark | None:
    lines = job.lines
    off = [shift for shift in lines.zone_shifts if shift]
    dated = "Symptoms are dated wrongly, or, in the future, not at all."
    if off:
        names = few(zone_name(shift) for shift in off)
        return wrong(
            "zone",
            f"Stamps that name their zone are {span(off[0])} {'ahead' if off[0] > 0 else 'behind'}: "
            "as if written in "
            f"{names}.",
            dated,
            "The program writes its local time with another zone's mark (often Z): correct its time format, or TZ.",
        )
    if len(lines.shifts) > 1:
        return wrong(
            "zone",
            f"Streams of this job write in different zones: {few(map(zone_name, lines.shifts))}.",
            "One zone is learned for all lines of one form: those of the others are dated hours "
            "wrong, or not at all.",
            "Set one TZ for the whole job, or let the stamps name their zone.",
        )
    if lines.shifts and lines.shifts[0]:
        name = zone_name(lines.shifts[0])
        return note(
            "zone",
            f"Stamps name no zone and stand {span(lines.shifts[0])} "
            f"{'ahead of' if lines.shifts[0] > 0 else 'behind'} the clock: written in {name}.",
            "The zone is learned from lines that arrive while the job runs; old lines alone do not tell it.",
            "Let the stamps name their zone, or set TZ=UTC for the job.",
        )
    return fine("zone", "Stamps agree with the clock.") if lines.shifts or lines.zone_shifts else None


def _lateness(job: JobFacts, _cluster: ClusterFacts) -> Remark | None:
    late = job.lines.late
    if late is None:
        return None
    if late < -AHEAD:
        return wrong(
            "lag",
            f"The newest stamp lies {span(late)} after the arrival of its line.",
            "Stamps in the future are not used: symptoms are dated by the read.",
            "Set the clocks of the nodes and of the file server by NTP.",
        )
    if late > LATE:
        return wrong(
            "lag",
            f"The newest stamp was {span(late)} old when its line arrived.",
            "A crash is seen that much later, the zone of the stamps cannot be learned, and a hang "
            "may be held for one "
            "that is none.",
            "Write without a buffer (PYTHONUNBUFFERED=1, srun --unbuffered), or look at what the "
            "shipper waits for; if "
            "nothing is late, the node's clock is wrong.",
        )
    return fine("lag", f"The newest stamp was {span(max(0.0, late))} old when its line arrived.")


def _silence(job: JobFacts, cluster: ClusterFacts) -> Remark | None:
    if job.newest_at is None or not job.running or job.cut:
        return None
    age = (cluster.now - job.newest_at).total_seconds()
    sentence = f"The newest line is {span(max(0.0, age))} old"
    patience = max(cluster.limits["hang_floor_seconds"], cluster.limits["hang_factor"] * (job.lines.gap or 0.0))
    if age > patience:
        return note("age", f"{sentence}.", "It may hang or be busy without a word; or its lines do not arrive.")
    return fine("age", f"{sentence}.")


def _ranks(job: JobFacts, _cluster: ClusterFacts) -> Remark | None:
    lines = job.lines
    told = f"{lines.ranked} of {lines.count} lines tell their rank, {lines.hosted} their host"
    if job.node_count <= 1:
        return fine("ranks", f"{told}; the job has one node.")
    if lines.mapped:
        return fine("ranks", f"{told}; {lines.mapped} ranks are known with their host.")
    if lines.hosted:
        return fine("ranks", f"{told}.")
    remedy = (
        "Label the lines (srun -l, torchrun --log-dir or --tee), write a file per rank or node (%t, %N), or set "
        "NCCL_DEBUG=INFO, which prints who runs where at the start."
    )
    matters = "A fault cannot be put on one of several nodes: none is left out, and a hang names nobody."
    if lines.ranked:
        return note("ranks", f"{told}; which rank runs on which host is not known yet.", matters, remedy)
    return wrong("ranks", f"{told}, and the job has {job.node_count} nodes.", matters, remedy)


_SILENT_JOB = (
    "A hang is found only when all output stops, after the cold limit; slow-downs, lost losses and "
    "missing checkpoints "
    "are not found at all."
)


def _progress(job: JobFacts, cluster: ClusterFacts) -> Remark | None:
    lines = job.lines
    if lines.dialect:
        return fine("progress", f"Step {lines.step} was read in the form {lines.dialect}.")
    if lines.odd:
        return wrong(
            "progress",
            f"Lines that look like progress are in a form that is not known: {lines.odd}",
            _SILENT_JOB,
            "Print one line per step in a known form, e.g. 'step 1200 | loss 3.011 | 0.71 s/it'.",
        )
    sentence = f"None of {lines.count} lines tells a step."
    if age_of(job, cluster) < cluster.limits["startup_seconds"]:
        return note("progress", sentence, "The job may not have begun to train: it is given time to start.")
    return wrong(
        "progress", sentence, _SILENT_JOB, "Print one line per step, e.g. 'step 1200 | loss 3.011 | 0.71 s/it'."
    )


def _rhythm(job: JobFacts, cluster: ClusterFacts) -> Remark | None:
    lines = job.lines
    if not lines.dialect:
        return None
    if lines.steps >= LINES_KNOWN and lines.gap is not None:
        return fine("rhythm", f"{lines.steps} step lines are known, one every {lines.gap:.3g} s.")
    cold = span(cluster.limits["hang_cold_seconds"])
    return note(
        "rhythm",
        f"{lines.steps} of {LINES_KNOWN} step lines are known; {max(0, LINES_KNOWN - lines.steps)} are missing.",
        f"Until then a silence counts as a hang only after {cold}.",
    )


def _checkpoints(job: JobFacts, _cluster: ClusterFacts) -> Remark | None:
    saved, loaded = job.lines.saved, job.lines.loaded
    if saved is not None:
        return fine("checkpoints", f"A checkpoint of step {saved} was seen to be saved.")
    if loaded is not None:
        return fine("checkpoints", f"It began from the checkpoint of step {loaded}; none was seen to be saved yet.")
    return note(
        "checkpoints",
        "No line tells of a checkpoint so far.",
        "What a restart would lose is not known, and training on without saving is not found.",
        "Print a line when a checkpoint is complete, as Megatron, DeepSpeed or Lightning do.",
    )


def _bursts(job: JobFacts, cluster: ClusterFacts) -> Remark | None:
    burst, floor = job.lines.burst, cluster.limits["hang_floor_seconds"]
    if burst <= BURST:
        return fine("bursts", "Lines come one by one.")
    sentence = f"Lines come in bursts: up to {span(burst)} of them at once."
    matters = "A hang is told that much later, so that a full buffer is not taken for one; step times are rough."
    remedy = "Write without a buffer (PYTHONUNBUFFERED=1, srun --unbuffered), or shorten what the shipper waits."
    make = wrong if burst >= floor else note
    return make("bursts", sentence, matters, remedy)


Rule = Callable[[JobFacts, ClusterFacts], Remark | None]
RULES: tuple[Rule, ...] = (
    _stamps,
    _order,
    _zone,
    _lateness,
    _silence,
    _ranks,
    _progress,
    _rhythm,
    _checkpoints,
    _bursts,
)
