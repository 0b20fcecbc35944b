"""What may the frame of a page ask for?"""

from typing import Any

from django import template

from console.navigation import MORE, PLACES, Entry, entries
from console.open_forms import address_of, topic_of
from console.rights import mark_of
from workloads.models import Job

register = template.Library()


@register.simple_tag(takes_context=True)
def places(context: dict[str, Any]) -> list[Entry]:
    """The lines of the menu that are always in sight."""
    return entries(PLACES, _here(context))


@register.simple_tag(takes_context=True)
def more_places(context: dict[str, Any]) -> list[Entry]:
    """The lines of the menu below *More*."""
    return entries(MORE, _here(context))


register.filter("rights_mark", mark_of)


@register.inclusion_tag("console/stands.html", takes_context=True)
def stands(  # noqa: PLR0917  # which thing, how it was seen, and where it belongs
    context: dict[str, Any],
    kind: str,
    of: Any,
    mark: Any,
    cluster: str = "",
    look: str = "alert alert-warning",  # stays English: classes
    job: Job | None = None,
) -> dict[str, str]:
    """The place in a form, before its button, where it is told that what it speaks of has changed.

    `kind` as in `open_forms.KINDS`. `mark`: how it was seen; of a node `of` is its name. `look`: classes of the
    place once something stands there.
    """
    which = f"{cluster}/{of}" if kind == "exclusions" else of
    return {
        "address": address_of(kind, which, mark),
        "topic": topic_of(kind, cluster, job),
        "rights": mark_of(context["user"]),
        "look": look,
    }


def _here(context: dict[str, Any]) -> str:
    request = context.get("request")
    match = getattr(request, "resolver_match", None)
    return (match.url_name or "") if match else ""
