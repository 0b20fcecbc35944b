"""What should the rows of incidents count, read from every verdict by hand?"""

from collections import defaultdict

from detectors.models import Incident, Verdict


def miscounted() -> list[str]:
    """Incidents whose row says something else than the verdicts that stand in it; must be empty."""
    newest = {one.attempt_id: one for one in Verdict.objects.select_related("attempt__job").order_by("pk")}
    attempts, jobs, users = defaultdict(set), defaultdict(set), defaultdict(set)
    for one in newest.values():
        attempts[one.incident_id].add(one.attempt_id)
        jobs[one.incident_id].add(one.attempt.job_id)
        users[one.incident_id].add(one.attempt.job.user)
    found = []
    for row in Incident.objects.order_by("pk"):
        says = (row.attempt_count, row.job_count, row.user_count)
        holds = (len(attempts[row.pk]), len(jobs[row.pk]), len(users[row.pk]))
        if says != holds:
            found.append(f"{row.pk} ({row.sentence}) says {says} and holds {holds}")
    return found
