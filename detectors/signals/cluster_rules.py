"""What is wrong with the sources of a whole cluster? One function for each point."""

from collections.abc import Callable
from datetime import timedelta

from detectors.signals.clocks import shift_of, zone_name
from detectors.signals.facts import ClusterFacts, StoreFacts
from detectors.signals.remark import Remark, few, fine, note, span, unknown, wrong

CLOCK = 5.0  # seconds by which the scheduler's clock may differ, as lines are assigned by it
LISTED = timedelta(minutes=5)  # a listing older than this is no listing of now
TWO = 2  # jobs that fall silent together: one may hang
_ALL_BLIND = "Every job of the cluster is blind: no crash, hang or slow-down is seen."


def judge_cluster(cluster: ClusterFacts) -> tuple[Remark, ...]:
    """The remarks on the cluster itself, in the order in which they are to be mended."""
    found = (rule(cluster) for rule in RULES)
    return tuple(remark for some in found for remark in some)


def _scheduler(cluster: ClusterFacts) -> list[Remark]:
    scheduler = cluster.scheduler
    if scheduler.trouble:
        return [
            unknown(
                "scheduler",
                f"The scheduler does not answer: {scheduler.trouble}.",
                "Which jobs run, and how they end, is not known; the jobs below are those of the last listing.",
                "Check the path and configuration of the scheduler; this user must be able to run squeue.",
            )
        ]
    if scheduler.unseen:
        return [
            wrong(
                "scheduler",
                f"The scheduler answers, but its jobs could not be listed: {scheduler.unseen}.",
                "Ends of jobs are not seen, and nothing is advised.",
                "See the raw answer on the cluster's page.",
            )
        ]
    listed = scheduler.listed_at
    if listed is None or cluster.now - listed > LISTED:
        when = "never" if listed is None else f"{span((cluster.now - listed).total_seconds())} ago"
        return [
            wrong(
                "scheduler",
                f"The scheduler answers; its jobs were last listed {when}.",
                "Nobody watches this cluster: ends of jobs are not seen.",
                "Start the site's worker and beat, and check that the cluster is enabled.",
            )
        ]
    return [fine("scheduler", "The scheduler answers, and its jobs are listed.")]


def _clock(cluster: ClusterFacts) -> list[Remark]:
    ahead = cluster.scheduler.ahead
    if ahead is None:
        return []
    if abs(ahead) > CLOCK:
        return [
            wrong(
                "clock",
                f"The scheduler's clock is {span(ahead)} {'ahead of' if ahead > 0 else 'behind'} ours.",
                "Lines around a job's start and end are given to the wrong attempt, and latencies "
                "are measured wrongly.",
                "Set both clocks by NTP.",
            )
        ]
    return [fine("clock", "The scheduler's clock agrees with ours.")]


def judge_source(cluster: ClusterFacts) -> list[Remark]:
    """Whether files or the log store can be read at all."""
    if cluster.store is not None:
        return _store(cluster.store, cluster)
    if not cluster.rooted:
        return [
            wrong(
                "log_roots",
                "The cluster has no log roots and no log store: no log may be read.",
                _ALL_BLIND,
                "Set the folders below which job logs may be read, or a log store, on the cluster's "
                "page in the admin.",
            )
        ]
    if not cluster.roots:
        return [fine("log_roots", "The log roots can be read.")]
    return [
        wrong(
            "log_roots",
            f"The log root {root} {why}: jobs that write there will be blind.",
            _ALL_BLIND if len(cluster.jobs) == 0 else "Jobs that write below it are blind.",
            "Mount it on this machine, and let the site's user read it.",
        )
        for root, why in cluster.roots
    ]


def _store(store: StoreFacts, cluster: ClusterFacts) -> list[Remark]:
    if store.trouble:
        return [
            unknown(
                "store",
                f"The log store cannot be seen: {store.trouble}. Until it can, every job is blind.",
                _ALL_BLIND,
                "Check address, tenant and credential of the log store.",
            )
        ]
    return [*_arriving(store, cluster), *_future(store, cluster), *_mapping(store)]


def _arriving(store: StoreFacts, cluster: ClusterFacts) -> list[Remark]:
    if not store.lines:
        return [_nothing(store, cluster)]
    more = " or more" if store.cut else ""
    count = f"{store.lines}{more} lines of the last minutes"
    if not store.named:
        return [
            wrong(
                "store",
                f"{store.title} gave {count}, but none has the label {store.job_label!r}.",
                _ALL_BLIND,
                "Map the label that holds the job's number; see the proposal.",
            )
        ]
    return [fine("store", f"{store.title} gave {count}, {store.named} of them with a job's number.")]


def _nothing(store: StoreFacts, cluster: ClusterFacts) -> Remark:
    sentence = f"{store.title} answers, but has no line of any job in the last minutes"
    remedy = "Check the selector of job lines, and whether the shippers run."
    running = any(job.running for job in cluster.jobs)
    if store.last_at is not None:
        age = (cluster.now - store.last_at).total_seconds()
        zone, _late = shift_of(-age)
        sentence += f"; the newest is {span(age)} old"
        if zone:
            sentence += f", as if it were dated in {zone_name(zone)}"
            remedy = "Let the shipper read the stamps in the zone in which they are written."
    make = wrong if running else note
    return make("store", f"{sentence}.", _ALL_BLIND, remedy)


def _future(store: StoreFacts, cluster: ClusterFacts) -> list[Remark]:
    if store.ahead_at is None:
        return []
    ahead = (store.ahead_at - cluster.now).total_seconds()
    zone, _late = shift_of(ahead)
    name = f", as if written in {zone_name(zone)}" if zone else ""
    return [
        wrong(
            "store time",
            f"{store.title} has lines dated {span(ahead)} in the future{name}.",
            "A line is read when its date has come: hours too late for any detector.",
            "Let the shipper read the stamps in the zone in which they are written, or date lines by "
            "their arrival.",
        )
    ]


def _mapping(store: StoreFacts) -> list[Remark]:
    mapped = store.mapped
    if mapped is None:
        return []
    if mapped.trouble:
        return [note("mapping", f"The store's labels could not all be looked at: {mapped.trouble}.")]
    if mapped.command:
        pairs = few((f"{name}={label}" for name, label in mapped.proposal.items()), limit=9)
        wanted = "job_id" in mapped.proposal and mapped.proposal["job_id"] != mapped.present.get("job_id")
        make = wrong if wanted else note
        return [
            make(
                "mapping",
                f"By their values the labels would be: {pairs}.",
                "Lines reach the right attempt, node and rank only by these labels.",
                f"If that is right: {mapped.command}",
            )
        ]
    return [fine("mapping", "No label fits better than those that are mapped.")]


def _node_lines(cluster: ClusterFacts) -> list[Remark]:
    matters = "GPU, memory and link errors of the kernel are not seen: causes stay unknown, and warnings come late."
    store = cluster.store
    if store is None or store.node_lines is None:
        if store is not None and store.trouble:
            return []
        where = "are read from a log store only" if store is None else "are not selected"
        remedy = "Push health events of the nodes, or select kernel lines in a log store."
        return [note("node lines", f"Lines of the nodes' kernels {where}.", matters, remedy)]
    if store.node_trouble:
        return [unknown("node lines", f"They cannot be looked at: {store.node_trouble}.", matters)]
    if not store.node_lines:
        remedy = "Check the selector of node lines, and that the journal of the nodes is shipped."
        return [wrong("node lines", "No line of a node came in the last hour.", matters, remedy)]
    if store.node_known < store.node_lines:
        strange = few(store.node_strange) or "no such label"
        return [
            wrong(
                "node lines",
                f"{store.node_lines - store.node_known} of {store.node_lines} lines are of no node "
                "that the scheduler "
                f"knows; in {store.node_label!r} stands: {strange}.",
                matters,
                "Map the label that holds the node's name as the scheduler writes it (a domain "
                "behind it does no harm).",
            )
        ]
    return [fine("node lines", f"{store.node_lines} lines of nodes in the last hour, all of known nodes.")]


def _metrics(cluster: ClusterFacts) -> list[Remark]:
    metrics = cluster.metrics
    matters = "No counter of a GPU or adapter witnesses a fault: causes are less sure, and an idle job is not seen."
    if metrics is None:
        return [note("metrics", "The cluster has no metrics.", matters, "Name a Prometheus with DCGM's exporter.")]
    if not metrics.answered:
        return [unknown("metrics", metrics.sentence, matters, "Check address, selector and credential.")]
    if not metrics.whole:
        remedy = "Let each node's exporters be scraped, and map the labels that hold the node's name."
        return [wrong("metrics", metrics.sentence, matters, remedy)]
    return [fine("metrics", metrics.sentence)]


def _jobs(cluster: ClusterFacts) -> list[Remark]:
    remarks = []
    if not cluster.jobs:
        remarks.append(
            unknown(
                "jobs", "No job is running: nothing can be tested job by job.", "", "Look again while one runs."
            )
        )
    if cluster.left_out:
        remarks.append(note("jobs", f"{cluster.left_out} more running jobs were not looked at."))
    running = [job for job in cluster.jobs if job.running and job.newest_at is not None and not job.cut]
    floor = timedelta(seconds=max(cluster.limits["hang_floor_seconds"], 60.0))
    if len(running) >= TWO and all(job.newest_at and cluster.now - job.newest_at > floor for job in running):
        remarks.append(
            wrong(
                "silence",
                f"None of {len(running)} running jobs has written for {span(floor.total_seconds())}.",
                "That is rather a collector or a file system that stands still than so many hangs: "
                "they count as blind.",
                "Check the file system or the shippers.",
            )
        )
    return remarks


RULES: tuple[Callable[[ClusterFacts], list[Remark]], ...] = (
    _scheduler,
    _clock,
    judge_source,
    _node_lines,
    _metrics,
    _jobs,
)
