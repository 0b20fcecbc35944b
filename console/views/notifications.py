"""Who is told what, and what came of it? And how does a person have something sent?"""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from advisor_api.notification_models import Delivery, NotificationRoute
from advisor_api.notifying.deliveries import send_again, send_test
from advisor_api.refusals import Refusal
from audit.trail import Actor
from console.answering import actor_of
from console.delivery_lines import SEE_WHOM, delivery_line, routes
from console.views.asked import asked_of, page
from console.wake import push

MAY_SEND = "advisor_api.change_notificationroute"


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def notifications(request: HttpRequest) -> HttpResponse:
    """GET: routes and messages. POST: a test message to a route (409 when it is switched off)."""
    status = _send_test(request) if request.method == "POST" else 200
    if request.method == "POST" and status == 200:
        return redirect("notifications")
    more = {"routes": routes(), "may_send": request.user.has_perm(MAY_SEND)}
    more["may_see_whom"] = request.user.has_perm(SEE_WHOM)
    return page(request, "console/notifications.html", ["deliveries"], asked_of(request), status, **more)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def delivery(request: HttpRequest, delivery: int) -> HttpResponse:
    """GET: one message as it was sent. POST: send it again (409 when it was not given up)."""
    row = Delivery.objects.select_related("route").filter(pk=delivery).first()
    if row is None:
        raise Http404(_("There is no such message."))
    status, refusal = 200, ""
    if request.method == "POST":
        try:
            send_again(row, _sender(request), timezone.now())
            push()
            messages.success(request, _("A worker sends it to %(name)s again.") % {"name": row.name})
            return redirect("notification", row.pk)
        except Refusal as error:
            status, refusal = 409, str(error)
    context = {
        "line": delivery_line(row),
        "may_send": request.user.has_perm(MAY_SEND),
        "may_see_whom": request.user.has_perm(SEE_WHOM),
        "refusal": refusal,
        "now": timezone.now(),
    }
    return render(request, "console/notification.html", context, status=status)


def _send_test(request: HttpRequest) -> int:
    actor, name = _sender(request), request.POST.get("route", "")
    route = NotificationRoute.objects.select_related("cluster").filter(name=name[:64]).first()
    if route is None:
        raise Http404(_("There is no such route."))
    try:
        send_test(route, actor, timezone.now())
    except Refusal as refusal:
        messages.error(request, str(refusal))
        return 409
    push()
    messages.success(request, _("A worker sends a test message to %(name)s.") % {"name": route.name})
    return 200


def _sender(request: HttpRequest) -> Actor:
    if not request.user.has_perm(MAY_SEND):
        raise PermissionDenied
    return actor_of(request)
