"""How does a training job prove that it speaks of itself? By a key for one job, to tell its progress with.

A token of role ingest reports for its whole cluster, so no user's job should hold one. Whoever holds it (a prolog
of the scheduler, which runs as root) asks for the key of the job that begins, and hands the job that. Nothing is
stored: the key is signed, names the token that it was made with, and goes with it when that one is revoked. It
outlives a token that only expires: jobs run longer than tokens are rotated.
"""

import base64
import binascii
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.core.signing import BadSignature, Signer

from advisor_api.models import ApiToken
from advisor_api.refusals import Forbidden
from advisor_api.tokens import PREFIX
from workloads.models import Cluster, Job

JOB_PREFIX = f"{PREFIX}job_"  # what masks tokens in lines of logs masks keys, too
LIFETIME = timedelta(days=60)  # longer than jobs run; a key is for a job that runs
CLOCKS = timedelta(minutes=5)  # by which the scheduler's clock and ours may differ
_SIGNER = Signer(salt="rekindle.job-key", sep=".")


@dataclass(frozen=True)
class JobKey:
    """A key that was signed by us, and is not too old: for job `number` of a cluster, made at `made_at`."""

    token: ApiToken
    cluster: Cluster
    number: int
    made_at: datetime

    def belongs_to(self, job: Job) -> bool:
        """Whether it was made for this very submission: numbers come round again."""
        same = (job.cluster_id, job.number) == (self.cluster.pk, self.number)
        return same and job.created_at <= self.made_at + CLOCKS


def make_key(token: ApiToken | None, cluster: Cluster, number: int, now: datetime) -> tuple[str, datetime]:
    """The key of a job, and until when it works. Raises `Forbidden` for who has no token."""
    if token is None:
        raise Forbidden("Keys are made with a token.")
    signed = _SIGNER.sign(f"{token.pk}.{cluster.pk}.{number}.{int(now.timestamp())}").encode()
    return JOB_PREFIX + base64.urlsafe_b64encode(signed).decode().rstrip("="), now + LIFETIME


def read_key(text: str, now: datetime) -> JobKey | None:
    """What a key is for; `None` for one that we never made. Raises `Forbidden` for one that works no more."""
    encoded = text.removeprefix(JOB_PREFIX)
    try:
        signed = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode("ascii")
        token_key, cluster_key, number, seconds = (int(part) for part in _SIGNER.unsign(signed).split("."))
    except (BadSignature, binascii.Error, ValueError):
        return None
    made_at = datetime.fromtimestamp(seconds, UTC)
    token = ApiToken.objects.filter(pk=token_key).first()
    cluster = token.clusters.filter(pk=cluster_key).first() if token is not None else None
    if token is None or cluster is None or token.revoked_at is not None:
        raise Forbidden("The token that this key was made with was revoked, or is not for the cluster any more.")
    if now > made_at + LIFETIME:
        raise Forbidden(f"This key is older than {LIFETIME.days} days.")
    return JobKey(token, cluster, number, made_at)
