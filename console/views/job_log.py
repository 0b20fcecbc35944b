"""Which pages show the logs of a job: those of an attempt, a piece of one, and a stored copy?"""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from console.asking import Asked
from console.job_rows import end_of
from console.log_key import log_key
from console.log_reading import MAY_READ, Log, Place, logs_of, piece_of, read_place
from console.views.asked import asked_of
from detectors.models import Excerpt
from workloads.models import Attempt


@require_safe
@login_required
def job_logs(request: HttpRequest, cluster: str, number: int, epoch: int, index: int) -> HttpResponse:
    """The logs of one attempt, as far as anything is known of them."""
    asked = asked_of(request, cluster, number, epoch)
    attempt = _attempt(asked, index)
    found = {
        "attempt": attempt,
        "logs": logs_of(attempt),
        "asked": asked,
        "now": asked.now,
        "may_read": request.user.has_perm(MAY_READ),
    }
    return render(request, "console/job_logs.html", found)


@require_safe
@login_required
def job_log(request: HttpRequest, cluster: str, number: int, epoch: int, *, index: int, key: str) -> HttpResponse:
    """A piece of one log: around a byte (`at`), from one on (`from`), up to one (`before`), or its end.

    Without the permission to read whole logs: the copy that was kept of that place, or 403.
    """
    asked = asked_of(request, cluster, number, epoch)
    attempt = _attempt(asked, index)
    log = next((log for log in logs_of(attempt) if log.key == key), None)
    if log is None:
        found = {"attempt": attempt, "asked": asked, "now": asked.now}
        return render(request, "console/job_log_gone.html", found, status=404)
    return _shown(request, asked, log, read_place(request.GET))


@require_safe
@login_required
def log_copy(request: HttpRequest, cluster: str, number: int, epoch: int, excerpt: int) -> HttpResponse:
    """The stored copy of a piece of a job's log."""
    asked = asked_of(request, cluster, number, epoch)
    found = Excerpt.objects.filter(pk=excerpt, attempt__job=asked.the_job).defer("text").first()
    if found is None:
        raise Http404(_("There is no such copy of this job's log."))
    attempt = _attempt(asked, Attempt.objects.values_list("index", flat=True).get(pk=found.attempt_id))
    log = next(log for log in logs_of(attempt) if log.key == log_key(found.stream))
    place = read_place(request.GET)
    return _shown(request, asked, log, Place(place.at, place.start, place.end, found.pk, place.wanted))


def _attempt(asked: Asked, index: int) -> Attempt:
    found = Attempt.objects.filter(job=asked.the_job, index=index).first()
    if found is None:
        raise Http404(_("The job has no such attempt."))
    found.job = asked.the_job
    found.job.cluster = asked.the_cluster
    return found


def _shown(request: HttpRequest, asked: Asked, log: Log, place: Place) -> HttpResponse:
    may_read = request.user.has_perm(MAY_READ)
    piece = piece_of(log, place, asked.now, whole=may_read)
    context = {
        "may_read": may_read,
        "log": log,
        "attempt": log.attempt,
        "piece": piece,
        "place": place,
        "asked": asked,
        "now": asked.now,
        "live": end_of(log.attempt) is None,
    }
    refused = not may_read and piece.copy is None
    return render(request, "console/job_log.html", context, status=403 if refused else 200)
