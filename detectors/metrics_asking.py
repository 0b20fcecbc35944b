"""Where are the metrics of a cluster, and how are they asked? The door between stored settings and the network."""

from collections.abc import Callable, Collection

from django.conf import settings

from detectors.credential_folder import credential_named
from detectors.metrics import SOURCES
from detectors.metrics.families import Labels, queries
from detectors.metrics.snapshot import Snapshot, Sorting
from detectors.stores.http import ask
from detectors.stores.store import Answer, Request
from workloads.metric_sources import effective_labels
from workloads.models import Cluster

Ask = Callable[[Request], Answer]
"""One question to the server. Raises `StoreTrouble`."""
SOURCE = SOURCES[0]
"""The only kind there is: others answer the same queries."""


def labels_of(cluster: Cluster) -> Labels:
    """Which label holds what on this cluster."""
    return Labels.of(effective_labels(cluster.metrics_labels))


def asking(cluster: Cluster) -> Ask:
    """Asks over the network; the credential is read anew each time. Raises `StoreTrouble`."""
    seconds = settings.REKINDLE["REKINDLE_STORE_SECONDS"]

    def asked(request: Request) -> Answer:
        credential = credential_named(cluster.metrics_credential)
        return ask(cluster.metrics_address, request, credential.authorization, credential.authorities, seconds)

    return asked


def seen_on(cluster: Cluster, nodes: Collection[str], asked: Ask) -> Snapshot:
    """All queries of one turn, or none: half of them would show GPUs that are gone. Raises `StoreTrouble`."""
    labels = labels_of(cluster)
    sorting = Sorting(labels, nodes)
    for name, query in queries(labels, cluster.metrics_selector).items():
        sorting.take(name, SOURCE.samples(asked(SOURCE.request(query))))
    return sorting.seen
