"""What stands on the page of one cluster?"""

from console.advice_lines import open_advice
from console.asking import Asked
from console.cluster_rows import blind_attempts, cluster_rows, lease_of, left_out_of, sources_of
from console.contexts import Context
from console.node_health import node_page


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
    }


def cluster_advice(asked: Asked) -> Context:
    """Open advice of one cluster."""
    return {"lines": open_advice(asked.now, asked.the_cluster)}


def cluster_nodes(asked: Asked) -> Context:
    """How the nodes stand, in four counts, and the nodes themselves: all of them, or those of one count."""
    return {"page": node_page(asked.the_cluster, asked.standing, asked.now), "cluster": asked.the_cluster}
