"""What stands on the list of nodes, and on the page of one?"""

from django.http import QueryDict

from advisor_api.models import Pause
from console.asking import Asked
from console.cluster_rows import pauses_of
from console.contexts import Context
from console.node_list import node_list, read_nodes_wanted
from console.node_page import (
    NodeNow,
    events_of,
    incidents_naming,
    kept_out,
    node_now,
    past_of,
    told_of,
    verdicts_naming,
    warnings_on,
)

MAY_EXCLUDE = "advisor_api.approve_advice"
"""Whoever answers advice may also exclude and pause: the role of an operator, as in the Advisor API."""


def node_table(asked: Asked) -> Context:
    """How the nodes stand, in four counts, and one page of them."""
    wanted = read_nodes_wanted(QueryDict(asked.query))
    page = node_list(wanted, asked.now)
    return {
        "page": page,
        "wanted": wanted,
        "all_of_them": wanted.address(standing=""),
        "earlier": wanted.address(page=wanted.page - 1) if wanted.page > 1 else None,
        "later": wanted.address(page=wanted.page + 1) if wanted.page < page.pages else None,
    }


def node_standing(asked: Asked) -> Context:
    """How the node stands now, what runs there, and what may be done about it."""
    found = node_now(asked.the_cluster, asked.node, asked.now)
    pauses = [
        one for one in pauses_of([asked.the_cluster], asked.now).get(asked.the_cluster.pk, ()) if _of(one, found)
    ]
    return {"cluster": asked.the_cluster, "seen": found, "pauses": pauses, "may": MAY_EXCLUDE in asked.may}


def _of(pause: Pause, seen: NodeNow) -> bool:
    """Whether a pause holds for everything that may run on the node."""
    return pause.scope == "cluster" or (pause.scope == "partition" and pause.value in seen.node.partitions)


def node_exclusions(asked: Asked) -> Context:
    """Who left it out, why, since when, until when, and whom that was told."""
    return {"cluster": asked.the_cluster, "kept": kept_out(asked.the_cluster, asked.node, asked.now)}


def node_history(asked: Asked) -> Context:
    """Which attempts ran there, which verdicts and incidents name it, and what was warned of."""
    cluster, past = asked.the_cluster, past_of(asked.the_cluster, asked.node)
    return {
        "cluster": cluster,
        "past": past,
        "named": verdicts_naming(asked.node, past),
        "warnings": warnings_on(asked.node, past),
        "incidents": incidents_naming(cluster, asked.node),
        "told": told_of(cluster, asked.node),
    }


def node_events(asked: Asked) -> Context:
    """What the trail says of the node."""
    return {"cluster": asked.the_cluster, "node": asked.node, "events": events_of(asked.the_cluster, asked.node)}
