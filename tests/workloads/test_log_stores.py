"""Is a cluster's log store described wholly, and beside nothing else?"""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from workloads.models import Cluster

pytestmark = pytest.mark.django_db
WHOLE = {
    "name": "alpha",
    "log_store": "loki",
    "log_store_address": "https://loki.example.org:3100/behind",
    "log_store_job_lines": '{cluster="a", job_id!=""}',
    "log_store_node_lines": '{cluster="a", unit="kernel"}',
    "log_store_labels": {"job_id": "job_id", "node": "host"},
    "log_store_tenant": "team-a",
    "log_store_credential": "loki",
}


def test_a_whole_description_is_taken() -> None:
    Cluster(**WHOLE).full_clean()
    Cluster(**{**WHOLE, "log_store": "victorialogs", "log_store_tenant": "12:34"}).full_clean()
    Cluster(name="files", log_roots=["/logs"]).full_clean()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"log_store": ""}, "Say which kind"),
        ({"log_store": "splunk"}, "not a valid choice"),
        ({"log_store_address": ""}, "Say where the log store is"),
        ({"log_store_address": "loki:3100"}, "is no address"),
        ({"log_store_address": "ftp://loki"}, "is no address"),
        ({"log_store_address": "http://loki:99999"}, "is no address"),
        ({"log_store_address": "https://me:secret@loki"}, "name a credential instead"),
        ({"log_store_address": "https://loki/?a=b"}, "no user, query or fragment"),
        ({"log_store_job_lines": " "}, "how the lines of all jobs"),
        ({"log_store_job_lines": "{a\n}"}, "in one line"),
        ({"log_store_labels": {}}, "which label holds the job's number"),
        ({"log_store_labels": {"job_id": "job"}}, "a label for the node"),
        ({"log_store_labels": {"job_id": "job", "gpu": "x"}}, "'gpu' is not mapped"),
        ({"log_store_labels": {"job_id": 'a"b'}}, "is no label's name"),
        ({"log_store_labels": ["job_id"]}, "Labels are written as"),
        ({"log_roots": ["/logs"]}, "files or a log store"),
        ({"log_store": "victorialogs", "log_store_tenant": "team-a"}, "ACCOUNT or ACCOUNT:PROJECT"),
        ({"log_store": "victorialogs", "log_store_tenant": "4294967296"}, "ACCOUNT or ACCOUNT:PROJECT"),
        ({"log_store_credential": "../secret"}, "is no name of a credential"),
        ({"log_store_address": "http://loki.example.org"}, "over https only"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_sentence(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Cluster(**{**WHOLE, **changes}).full_clean()
    assert any(why in sentence for sentence in caught.value.messages), caught.value.messages
