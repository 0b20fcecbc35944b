"""What may the frame of a page ask for?"""

from typing import Any

from django import template

from console.navigation import MORE, PLACES, Entry, entries

register = template.Library()


@register.simple_tag(takes_context=True)
def places(context: dict[str, Any]) -> list[Entry]:
    """The lines of the menu that are always in sight."""
    return entries(PLACES, _here(context))


@register.simple_tag(takes_context=True)
def more_places(context: dict[str, Any]) -> list[Entry]:
    """The lines of the menu below *More*."""
    return entries(MORE, _here(context))


def _here(context: dict[str, Any]) -> str:
    request = context.get("request")
    match = getattr(request, "resolver_match", None)
    return (match.url_name or "") if match else ""
