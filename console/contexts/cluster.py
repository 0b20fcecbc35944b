"""What stands on the page of one cluster?"""

from django.http import QueryDict

from audit.in_sight import hidden_now
from console.advice_lines import open_advice
from console.asking import Asked
from console.cluster_list import cluster_list, read_clusters_wanted
from console.cluster_rows import blind_attempts, cluster_rows, lease_of, left_out_of, sources_of
from console.contexts import Context
from console.contexts.nodes import MAY_EXCLUDE
from console.node_health import node_page
from console.source_health import files_line, source_lines

MAY_PAUSE = MAY_EXCLUDE


def cluster_table(asked: Asked) -> Context:
    """The clusters, each with how it stands."""
    wanted = read_clusters_wanted(QueryDict(asked.query))
    return {"lines": cluster_list(wanted, asked.now), "wanted": wanted, "partly": bool(hidden_now().keys)}


def cluster_health(asked: Asked) -> Context:
    """What Rekindle sees of a cluster, and what it may do there."""
    cluster = asked.the_cluster
    return {
        "row": cluster_rows(asked.now, cluster)[0],
        "sources": sources_of(cluster),
        "left_out": left_out_of(cluster),
        "blind": blind_attempts(cluster),
        "lease": lease_of(cluster),
        "may_switch": "workloads.switch_mode" in asked.may,
        "may_pause": MAY_PAUSE in asked.may,
    }


def cluster_sources(asked: Asked) -> Context:
    """How well each source was seen within the last hour."""
    return {
        "cluster": asked.the_cluster,
        "lines": source_lines(asked.the_cluster, asked.now),
        "files": files_line(asked.the_cluster),
    }


def cluster_advice(asked: Asked) -> Context:
    """Open advice of one cluster."""
    return {"lines": open_advice(asked.now, asked.the_cluster)}


def cluster_nodes(asked: Asked) -> Context:
    """How the nodes stand, in four counts, and the nodes themselves: all of them, or those of one count."""
    return {"page": node_page(asked.the_cluster, asked.standing, asked.now), "cluster": asked.the_cluster}
