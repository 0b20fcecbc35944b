"""On failures of which classes may be acted, job by job, by the policies in force at this moment?"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from advisor_api.models import PolicyVersion
from advisor_api.policies import in_force, layer_of, places_of
from advisor_api.policy.level import PolicyLevel
from advisor_api.policy.merging import merge
from advisor_api.policy.values import BadPolicy, Policy, read_policy
from workloads.models import Job


@dataclass(frozen=True)
class Acting:
    """The policy in force for each of some jobs, by their keys; `None`: what is stored for it cannot be used."""

    policies: Mapping[int, Policy | None] = field(default_factory=dict)

    def why_not(self, job: Job, failure_class: str) -> str:
        """Why nothing may be done to `job` for a failure of this class, or `""`; one not asked about is closed."""
        policy = self.policies.get(job.pk)
        if policy is None:
            return "the policy of the job cannot be read"
        if policy.acts_on(failure_class):
            return ""
        return f"failures of the class {failure_class} are only advised on, as the policy says"


def acting_on(jobs: Collection[Job]) -> Acting:
    """What holds for these jobs now. Reads their clusters; one query, however many they are."""
    if not jobs:
        return Acting()
    keys = {place.key for job in jobs for place in places_of(job.cluster, job.partition, job.user)}
    versions = {row.place: row.version for row in in_force(keys)}
    return Acting({job.pk: _policy(job, versions) for job in jobs})


def _policy(job: Job, versions: Mapping[str, PolicyVersion | None]) -> Policy | None:
    chosen: dict[PolicyLevel, PolicyVersion] = {}
    for place in places_of(job.cluster, job.partition, job.user):
        version = versions.get(place.key)
        if version is not None:
            chosen.setdefault(place.level, version)
    try:
        for version in chosen.values():
            read_policy(version.values)
    except BadPolicy:
        return None
    return merge(layer_of(version) for version in chosen.values()).policy
