"""What stands on the list of jobs?"""

from dataclasses import dataclass
from datetime import UTC, timedelta

from django.utils.translation import gettext as _

from console.asking import Asked
from console.contexts import Context
from console.job_finding import Beyond, beyond
from console.job_list import job_page
from console.job_wanted import JobOrder, Wanted


@dataclass(frozen=True)
class Head:
    """The head of a column: the address that sorts by it, if any, and how it is sorted now."""

    label: str
    address: str = ""
    sorted: str = ""  # ascending, descending, or empty
    numeric: bool = False


def job_table(asked: Asked) -> Context:
    """One page of the list of jobs."""
    wanted = asked.wanted
    page = job_page(wanted, asked.now)
    return {
        "page": page,
        "wanted": wanted,
        "heads": heads(wanted),
        "next": wanted.address(after=page.next_after) if page.next_after else "",
        "first": wanted.address() if wanted.after else "",
        "beyond": [(one, _earlier(wanted, one)) for one in beyond(wanted, asked.now)],
        "every": wanted.address(state="every") if wanted.state != "every" else "",
    }


def _earlier(wanted: Wanted, one: Beyond) -> str:
    """The address of what was not looked at. Up to a second is looked at twice."""
    at = one.at.astimezone(UTC).replace(microsecond=0) + timedelta(seconds=1)
    return wanted.address(**{one.part: f"{at:%Y-%m-%dT%H:%M:%S}"})


def heads(wanted: Wanted) -> list[Head]:
    """The columns of the table, as the template has them."""
    return [
        _head(wanted, JobOrder.NUMBER),
        _head(wanted, JobOrder.STATE),
        _head(wanted, JobOrder.NAME),
        _head(wanted, JobOrder.USER),
        Head(_("Cluster")),
        _head(wanted, JobOrder.PARTITION),
        _head(wanted, JobOrder.ATTEMPTS, numeric=True),
        Head(_("Step"), numeric=True),
        Head(_("Checkpoint"), numeric=True),
        _head(wanted, JobOrder.NODES, numeric=True),
        Head(_("Started")),
        _head(wanted, JobOrder.SUBMITTED),
    ]


def _head(wanted: Wanted, order: JobOrder, *, numeric: bool = False) -> Head:
    """Numbers and times are sorted from the largest on at first; a second time turns the order round."""
    first = f"-{order}" if numeric or order in {JobOrder.NUMBER, JobOrder.SUBMITTED} else order.value
    other = order.value if first.startswith("-") else f"-{order}"
    now = "" if wanted.sort.removeprefix("-") != order else wanted.sort
    said = {"": "", order.value: "ascending", f"-{order}": "descending"}[now]
    return Head(_(order.label), wanted.address(sort=other if now == first else first), said, numeric)
