"""Where is the log store of a cluster, and how is it asked? The door between stored settings and the network."""

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings

from detectors.credential_folder import credential_named
from detectors.stores import STORES
from detectors.stores.belonging import labels_of
from detectors.stores.http import ask
from detectors.stores.store import Answer, Labels, Request, Store
from workloads.models import Cluster

Ask = Callable[[Request], Answer]
"""One question to the store. Raises `StoreTrouble`."""


@dataclass(frozen=True)
class Place:
    """A cluster's log store as its administrator described it."""

    store: Store
    address: str
    tenant: str
    labels: Labels
    job_lines: str
    node_lines: str

    def stream(self, selector: str) -> str:
        """Names what is read: another address, tenant or selector is another cursor."""
        tenant = f" {self.tenant}" if self.tenant else ""
        return f"{self.address}{tenant} {selector}"


def place_of(cluster: Cluster) -> Place:
    """The store of a cluster that has one."""
    return Place(
        store=next(store for store in STORES if store.name == cluster.log_store),
        address=cluster.log_store_address,
        tenant=cluster.log_store_tenant,
        labels=labels_of(cluster.log_store_labels),
        job_lines=cluster.log_store_job_lines.strip(),
        node_lines=cluster.log_store_node_lines.strip(),
    )


def asking(cluster: Cluster) -> Ask:
    """Asks the cluster's store over the network; the credential is read anew each time. Raises `StoreTrouble`."""
    seconds = settings.REKINDLE["REKINDLE_STORE_SECONDS"]

    def asked(request: Request) -> Answer:
        credential = credential_named(cluster.log_store_credential)
        return ask(cluster.log_store_address, request, credential.authorization, credential.authorities, seconds)

    return asked
