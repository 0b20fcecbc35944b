"""Can the log of one job be read at all? Where not: what was tried, and what helps?"""

from detectors.signals.facts import ClusterFacts, JobFacts, Stream
from detectors.signals.remark import Remark, few, fine, note, unknown, wrong

EARLY = "no such file"  # of a job that has just begun, this passes by itself


def age_of(job: JobFacts, cluster: ClusterFacts) -> float:
    """Seconds since its start; 0 while that is not known."""
    return (cluster.now - job.started_at).total_seconds() if job.started_at else 0.0


def judge_log(job: JobFacts, cluster: ClusterFacts) -> Remark:
    """Whether a log was found and can be read."""
    matters = "Every detector is blind on this job: no crash, hang or slow-down of it is seen."
    places = f"tried: {few(job.tried) or 'no path is known'}"
    if job.trouble:
        return unknown("log", job.trouble, matters)
    good = [stream for stream in job.streams if not stream.trouble]
    bad = [stream for stream in job.streams if stream.trouble]
    if good and job.lines.count:
        more = f"; {job.more} more were not looked at" if job.more else ""
        more += f"; {len(bad)} more cannot: {_troubles(bad)}" if bad else ""
        sentence = f"{len(good)} of its logs can be read, {job.lines.count} lines looked at{more}."
        remedy = "See the reason beside each file; the ranks that write there are not heard."
        return wrong("log", sentence, "What those ranks say is not seen.", remedy) if bad else fine("log", sentence)
    if job.cut:
        return unknown("log", f"The time, bytes or lines of this look were used up before a line of it; {places}.")
    if good:
        sentence = f"{_name(good[0])} can be read and holds no line."
        return _empty(job, cluster, sentence, matters)
    if bad:
        return _unreadable(job, cluster, bad, matters)
    return _empty(job, cluster, f"No log was found; {places}.", matters)


def _unreadable(job: JobFacts, cluster: ClusterFacts, bad: list[Stream], matters: str) -> Remark:
    if all(stream.trouble == EARLY for stream in bad) and age_of(job, cluster) < cluster.limits["blind_seconds"]:
        return note("log", f"No log yet: {_troubles(bad)}.", "The job has just begun; it is looked for again.")
    return wrong("log", f"No log can be read: {_troubles(bad)}.", matters, _remedy_of(bad[0].trouble))


def _empty(job: JobFacts, cluster: ClusterFacts, sentence: str, matters: str) -> Remark:
    if age_of(job, cluster) < cluster.limits["blind_seconds"]:
        return note("log", sentence, "The job has just begun; it is looked for again.")
    if cluster.store is not None:
        remedy = (
            "Map the label that holds the job's number (see the proposal), or let the shipper send these lines."
        )
    else:
        remedy = (
            "Name its files in the cluster's log patterns, or in the key logs of the job's comment; "
            "a path that only "
            "srun --output names inside the script is not known to the scheduler."
        )
    return wrong("log", sentence, matters, remedy)


def _troubles(streams: list[Stream]) -> str:
    return few((f"{stream.name}: {stream.trouble}" for stream in streams), length=300)


def _name(stream: Stream) -> str:
    return few([stream.name])


def _remedy_of(trouble: str) -> str:
    """What helps against one trouble of a file."""
    for words, remedy in (
        (
            "belongs to user",
            "The file must belong to the job's user: do not let another account create or copy it.",
        ),
        ("outside", "Add the folder to the cluster's log roots, or let the job write below one of them."),
        ("user id is not known", "Let the scheduler be listed first: it tells the job's user id."),
        (
            "no such file",
            "Check the log patterns against the path that the job really writes to, and its file system.",
        ),
        ("permission", "The site's user must be able to read it: its group, or an ACL on the folder."),
        (
            "since the attempt started",
            "The file is another attempt's: this attempt writes elsewhere, or not at all.",
        ),
        ("a link", "Name the file itself: a link in the last place is not followed."),
        ("not a regular file", "Let the job write a plain file."),
    ):
        if words in trouble.lower():
            return remedy
    return "See the reason; the site's user must be able to open the file, and the job's user must own it."
