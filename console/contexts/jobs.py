"""What stands on the list of jobs?"""

from console.asking import Asked
from console.contexts import Context
from console.job_list import job_page


def job_table(asked: Asked) -> Context:
    """One page of the list of jobs."""
    page = job_page(asked.wanted)
    older = asked.wanted.address(before=page.next_before) if page.next_before else ""
    return {"page": page, "wanted": asked.wanted, "older": older, "newest": asked.wanted.address()}
