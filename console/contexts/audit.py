"""What stands on the pages of the trail?"""

from django.http import QueryDict

from console.asking import Asked
from console.audit_list import SITE, read_trail_wanted, trail_page
from console.chain_lines import chain_lines
from console.contexts import Context


def audit_events(asked: Asked) -> Context:
    """One page of the trail."""
    wanted = read_trail_wanted(QueryDict(asked.query), asked.now)
    page = trail_page(wanted, asked.now)
    return {
        "page": page,
        "wanted": wanted,
        "older": wanted.address(before=page.older) if page.older else "",
        "newest": wanted.address(),
        "with_progress": wanted.address(progress="1"),
        "without_progress": wanted.address(progress=""),
        "site": SITE,
    }


def audit_chains(asked: Asked) -> Context:
    """Whether the trail holds, as far as is known."""
    return {"lines": chain_lines(asked.now)}
