"""Does an open form still speak of what there is?

`/forms/still?kind=…&of=…&mark=…`: 204 while all stands as the form was made; else
`{"sentence": "…", "refused": true}`, with `refused` false where the form is still of use.
"""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from console.answering import actor_of
from console.open_forms import KINDS, MARK_AT_MOST, OF_AT_MOST, change_of, sentence_of
from console.views.asked import person_of

NO_LONGER = gettext_lazy("You may no longer do this: your rights were changed after you opened this page.")
SIGNED_OUT = gettext_lazy("You are signed out. Sign in again in another window; this page keeps what you typed.")


@never_cache
@require_safe
def still(request: HttpRequest) -> HttpResponse:
    """As above; 401 for a stranger, 403 for who may not send the form, 400 for what is no form of ours."""
    if not request.user.is_authenticated:
        return JsonResponse({"sentence": SIGNED_OUT, "refused": True}, status=401)
    kind = KINDS.get(request.GET.get("kind", ""))
    of, mark = request.GET.get("of", ""), request.GET.get("mark", "")
    if kind is None or "\0" in of + mark or len(of) > OF_AT_MOST or len(mark) > MARK_AT_MOST:
        # stays English: an answer to a script
        return HttpResponse("This is no form.", status=400, content_type="text/plain")
    if kind.permission and not request.user.has_perm(kind.permission):
        return JsonResponse({"sentence": NO_LONGER, "refused": True}, status=403)
    changed = change_of(kind, of, mark, person_of(request), timezone.now())
    if changed is None:
        return HttpResponse(status=204)
    return JsonResponse({"sentence": sentence_of(changed, actor_of(request).name), "refused": changed.refused})
