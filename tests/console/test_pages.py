"""Can every member of the cast read the pages, and only they?"""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from tests.console.sample import Sample


def pages(rows: Sample) -> dict[str, str]:
    job = (rows.cluster.name, rows.recovered.number, rows.recovered.epoch)
    copy = rows.recovered.attempts.get(index=0).excerpts.get()
    return {
        "overview": reverse("overview"),
        "jobs": reverse("jobs"),
        "job": reverse("job", args=job),
        "log copy": reverse("log-copy", args=[*job, copy.pk]),
        "cluster": reverse("cluster", args=[rows.unseen.name]),
        "approvals": reverse("approvals"),
    }


@pytest.mark.parametrize("who", ["viewer", "operator", "admin"])
def test_everybody_with_an_account_reads_every_page(
    who: str, cast: dict[str, User], rows: Sample, client: Client
) -> None:
    client.force_login(cast[who])
    for name, address in pages(rows).items():
        answer = client.get(address)
        assert answer.status_code == 200, name
