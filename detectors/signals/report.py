"""How does the whole check read, as text and as JSON?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from detectors.signals.cluster_rules import judge_cluster
from detectors.signals.facts import ClusterFacts
from detectors.signals.grade import Grade
from detectors.signals.job_rules import judge_job
from detectors.signals.mapping import Candidate, Mapped
from detectors.signals.remark import Remark, few, shown

ORDER = (Grade.WRONG, Grade.UNKNOWN, Grade.NOTE, Grade.FINE)
STATUSES = {Grade.FINE: 0, Grade.NOTE: 0, Grade.WRONG: 1, Grade.UNKNOWN: 2}


@dataclass(frozen=True)
class JobReport:
    """The remarks on one attempt."""

    number: int
    index: int
    remarks: tuple[Remark, ...]

    @property
    def label(self) -> str:
        """`12345-0`."""
        return f"{self.number}-{self.index}"

    @property
    def grade(self) -> Grade:
        """The worst of its remarks."""
        return worst(self.remarks)


@dataclass(frozen=True)
class Report:
    """Everything that was found out about a cluster's sources at one moment."""

    cluster: str
    at: datetime
    remarks: tuple[Remark, ...]
    jobs: tuple[JobReport, ...]
    mapped: Mapped | None = None

    @property
    def grade(self) -> Grade:
        """The worst of all remarks; what is wrong outweighs what could not be looked at."""
        return worst([*self.remarks, *(remark for job in self.jobs for remark in job.remarks)])

    @property
    def status(self) -> int:
        """Exit status: 0 fine, 1 something is wrong, 2 something could not be looked at."""
        return STATUSES[self.grade]

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Labels that may hold what is wanted."""
        return self.mapped.candidates if self.mapped else ()

    @property
    def command(self) -> str:
        """The command that would set the proposed mapping; empty: nothing to set."""
        return self.mapped.command if self.mapped else ""


def judge(facts: ClusterFacts) -> Report:
    """The report on a cluster whose facts are gathered."""
    jobs = tuple(JobReport(job.number, job.index, judge_job(job, facts)) for job in facts.jobs)
    mapped = facts.store.mapped if facts.store else None
    return Report(facts.name, facts.now, judge_cluster(facts), jobs, mapped)


def worst(remarks: Sequence[Remark]) -> Grade:
    """The grade that matters most; FINE without any remark."""
    grades = {remark.grade for remark in remarks}
    return next((grade for grade in ORDER if grade in grades), Grade.FINE)


def as_json(report: Report) -> dict[str, Any]:
    """The report as JSON values, the same as `GET /v1/clusters/NAME/signals` gives."""
    return {
        "cluster": report.cluster,
        "lookedAt": report.at.isoformat().replace("+00:00", "Z"),
        "grade": report.grade.value,
        "remarks": [_remark(remark) for remark in report.remarks],
        "jobs": [
            {
                "jobId": str(job.number),
                "attemptIndex": job.index,
                "grade": job.grade.value,
                "remarks": [_remark(remark) for remark in job.remarks],
            }
            for job in report.jobs
        ],
        "candidates": [
            {
                "holds": one.field,
                "name": one.label,
                "score": one.score,
                "why": one.why,
                "examples": list(one.examples),
            }
            for one in report.candidates
        ],
        "command": report.command,
    }


def as_text(report: Report) -> Iterator[str]:
    """The report as lines for a terminal."""
    yield f"{report.cluster}: {report.grade.label.lower()}"
    yield from _lines(report.remarks, "  ")
    for job in report.jobs:
        yield f"job {job.label}: {job.grade.label.lower()}"
        yield from _lines(job.remarks, "  ")
    if report.candidates:
        yield "labels by their values"
        for one in report.candidates:
            examples = few(one.examples, length=60)
            yield f"  {one.field:<9} {shown(one.label, 60):<24} {one.score:4.0%}  {one.why}; e.g. {examples}"
    if report.command:
        yield f"to set them: {report.command}"


def _lines(remarks: Sequence[Remark], indent: str) -> Iterator[str]:
    for remark in remarks:
        yield f"{indent}{remark.grade.value:<8}{remark.point:<14} {remark.sentence}"
        pad = " " * (len(indent) + 23)
        if remark.matters and remark.grade is not Grade.FINE:
            yield f"{pad}{remark.matters}"
        if remark.remedy:
            yield f"{pad}Do: {remark.remedy}"


def _remark(remark: Remark) -> dict[str, str]:
    return {
        "point": remark.point,
        "grade": remark.grade.value,
        "sentence": remark.sentence,
        "matters": remark.matters,
        "remedy": remark.remedy,
    }
