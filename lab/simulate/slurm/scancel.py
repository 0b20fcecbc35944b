"""What does scancel do and print?"""

from collections.abc import Sequence

from lab.simulate.actions import is_number, job_called
from lab.simulate.model import Cluster
from lab.simulate.slurm.options import VERSION, Answer, read

KNOWN = {"quiet": "Q", "verbose": "v", "version": "V"}
ADMINISTRATOR = 0  # commands come from root


def scancel(cluster: Cluster, argv: Sequence[str]) -> Answer:
    """The answer of `scancel`. An unknown or finished job is silence and rc 0 (observed)."""
    options = read("scancel", argv, KNOWN)
    if options.has("version"):
        return 0, f"slurm-wlm {VERSION}\n", ""
    words = [word for argument in options.words for word in argument.split(",") if word]
    if not words:
        return 1, "", "scancel: error: No job identification provided\n"
    for word in words:
        if not is_number(word):
            return 1, "", f"scancel: error: Invalid job id {word}\n"
    said = []
    for word in words:
        job = job_called(cluster, word)
        said.append(f"scancel: Terminating job {word}\n")
        if job is None:
            said.append(f"scancel: error: Kill job error on job id {word}: Invalid job id specified\n")
        elif job.finished:
            wrong = "Job/step already completing or completed"
            said.append(f"scancel: error: Kill job error on job id {word}: {wrong}\n")
        else:
            cluster.cancel(job, ADMINISTRATOR)
    return 0, "", "".join(said) if options.has("verbose") else ""
