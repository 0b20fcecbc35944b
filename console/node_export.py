"""How does a list of nodes leave the site as a table, for instance for those who repair them?"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from advisor_api.csv_lines import csv_line
from console.node_list import NodeRow, NodesWanted, every_node
from detectors.models import Verdict

COLUMNS = (
    "cluster",
    "node",
    "partitions",
    "stands",
    "because",
    "state",
    "schedulerReason",
    "schedulerReasonBy",
    "schedulerReasonAt",
    "fault",
    "faultOf",
    "faultSource",
    "faultAt",
    "leftOutSince",
    "leftOutUntil",
    "leftOutBy",
    "leftOutReason",
    "leftOutAfter",
)


def node_lines(wanted: NodesWanted, now: datetime) -> Iterator[str]:
    """A head and a line for each node that is asked for, whatever page the address names."""
    yield csv_line(COLUMNS)
    for rows in every_node(wanted, now):
        attempts = _attempts(rows)
        for row in rows:
            yield csv_line(_values(row, attempts))


def _values(row: NodeRow, attempts: Mapping[UUID, str]) -> tuple[object, ...]:
    node, fault, exclusion = row.node, row.fault, row.exclusion
    return (
        node.cluster.name,
        node.name,
        " ".join(str(name) for name in node.partitions),
        row.stands.standing.value,
        row.stands.why,
        node.state,
        node.reason,
        node.reason_by,
        node.reason_at,
        fault.check_name if fault else "",
        fault.entity if fault else "",
        fault.source if fault else "",
        fault.happened_at if fault else None,
        exclusion.since if exclusion else None,
        exclusion.until if exclusion else None,
        exclusion.owner if exclusion else "",
        exclusion.reason if exclusion else "",
        attempts.get(exclusion.verdict_id, "") if exclusion and exclusion.verdict_id else "",
    )


def _attempts(rows: Sequence[NodeRow]) -> dict[UUID, str]:
    """The attempts after whose failure nodes were left out, by the verdict. One query, none where nobody was."""
    keys = [row.exclusion.verdict_id for row in rows if row.exclusion and row.exclusion.verdict_id]
    if not keys:
        return {}
    found = Verdict.objects.filter(uuid__in=keys).select_related("attempt__job")
    return {one.uuid: one.attempt.label for one in found}
