"""How does a mark of the timeline lead to its line in the list of events?"""

from datetime import timedelta

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console import hostile_text
from console.job_window import around
from console.timeline import Mark

register = template.Library()
WORDS_LIMIT = 300  # characters of what a mark says; the list has all of it
BESIDE = timedelta(seconds=5)


@register.simple_tag
def mark_link(mark: Mark, listed_from: int, address: str) -> SafeString:
    """The opening tag of a mark and its title. Where its line is not listed, it leads to its stretch of time."""
    first, last = mark.happenings[0], mark.happenings[-1]
    target = f"#{first.anchor}"
    if int(first.anchor.rpartition("-")[2]) < listed_from:
        target = address + around(first.at - BESIDE, last.at + BESIDE).query + target
    words = hostile_text.visible(mark.words, WORDS_LIMIT)
    return format_html(
        '<a href="{}" class="stamp stamp-{}" aria-label="{}: {}"><title>{} UTC: {}</title>',
        target,
        mark.kind.value,
        mark.kind.label,
        words,
        f"{first.at:%H:%M:%S}",
        words,
    )
