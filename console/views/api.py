"""How is the API used? One page, made from its own document; nothing is fetched from elsewhere."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from advisor_api.described import document
from console.api_pages import operations, schemas


@require_safe
@login_required
def described(request: HttpRequest) -> HttpResponse:
    """Every operation and every form, with examples."""
    found = document()
    context = {"about": found["info"], "topics": operations(found), "schemas": schemas(found)}
    return render(request, "console/api.html", context)
