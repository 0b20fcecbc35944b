"""Is this process alive, and can it answer?"""

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET


@require_GET
@never_cache
def healthz(_request: HttpRequest) -> JsonResponse:
    """200 as long as the process answers at all."""
    return JsonResponse({"status": "alive"})


@require_GET
@never_cache
def readyz(_request: HttpRequest) -> JsonResponse:
    """200 when the database answers and has all migrations; 503 with a sentence otherwise."""
    problem = _database_problem()
    if problem:
        return JsonResponse({"status": "not ready", "reason": problem}, status=503)
    return JsonResponse({"status": "ready"})


def _database_problem() -> str:
    try:
        executor = MigrationExecutor(connection)
        waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return "the database does not answer"
    if waiting:
        return f"{len(waiting)} migrations are not applied; run `python manage.py migrate`"
    return ""
