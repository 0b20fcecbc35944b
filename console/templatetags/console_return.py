"""How does a template say where a form leads back to, and a page to the list from which it was opened?"""

from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console import returning

register = template.Library()


@register.simple_tag(takes_context=True)
def way_back(context: dict[str, Any], otherwise: str) -> str:
    """The address of the page where the person was."""
    return returning.way_back(context["request"], otherwise)


@register.simple_tag(takes_context=True)
def back_field(context: dict[str, Any]) -> SafeString:
    """The same for a form, which sends it with whatever else it sends; nothing when it is not known."""
    address = returning.way_back(context["request"], "")
    if not address:
        return SafeString("")
    # stays English: markup
    return format_html('<input type="hidden" name="{}" value="{}">', returning.FIELD, address)


@register.simple_tag(takes_context=True)
def listed_at(context: dict[str, Any], name: str, otherwise: str) -> str:
    """The list of that name as the person had filtered it."""
    return returning.listed_at(context["request"], name, otherwise)
