"""How do the pictures of a job say what they show: marks with their links, values with their units?"""

from datetime import timedelta

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from console import hostile_text
from console.curve_picture import HEIGHT, WIDTH
from console.job_series import Measure, moment
from console.job_window import around
from console.spans import duration
from console.time_axis import Axis, Stretch
from console.timeline import Lane, Mark

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
        # stays English: markup
        '<a href="{}" class="stamp stamp-{}" aria-label="{}: {}"><title>{} UTC: {}</title>',
        target,
        mark.kind.value,
        _(mark.kind.label),
        words,
        f"{first.at:%H:%M:%S}",
        words,
    )


@register.simple_tag
def narrow_lane(lane: Lane, listed_from: int, address: str) -> SafeString:
    """Bars and marks of a lane without room for signs. There are hundreds: a template takes ten times as long."""
    drawn = [
        # stays English: markup
        f'<rect class="bar {"bar-waiting" if bar.waiting else f"bar-{bar.colour}"}" x="{bar.x}%" '
        f'width="{bar.width}%" y="{11 if bar.waiting else 7}" height="{2 if bar.waiting else 10}"/>'
        for bar in lane.bars
    ]
    drawn += [
        # stays English: markup
        f'{mark_link(mark, listed_from, address)}<rect x="{mark.x}%" y="2" width="7" height="20" rx="3" '
        'transform="translate(-3)"/></a>'
        for mark in lane.marks
    ]
    return mark_safe("".join(drawn))  # noqa: S308  # numbers, words of ours, and what `mark_link` has escaped


@register.simple_tag
def lane_name(lane: Lane, address: str) -> SafeString:
    """The name of a lane, with the way to its stretch of time."""
    query = lane.window.query
    steps = format_html("<small>{}</small>", lane.run.steps) if lane.run.steps and not lane.narrow else ""
    return format_html(
        # stays English: markup
        '<li class="{}"><a href="{}{}#title-job_lanes" data-stretch="{}" title="{}">{}</a> <span>{}</span>{}</li>',
        "narrow" if lane.narrow else "wide",
        address,
        query,
        query,
        _("Show these attempts") if lane.earlier else _("Show this attempt alone"),
        lane.name,
        lane.title,
        steps,
    )


@register.simple_tag
def fold_box(axis: Axis, fold: Stretch) -> SafeString:
    """A folded stretch in the box of a curve."""
    x, over = (axis.x(at) * WIDTH / 100 for at in fold)
    width = f"{over - x:.1f}"
    # stays English: markup
    return format_html('<rect class="fold" x="{}" y="0" width="{}" height="{}"/>', f"{x:.1f}", width, HEIGHT)


@register.filter
def measured(value: float | None, measure: Measure) -> str:
    """A value with its unit: `2.1 s`, `48,200 tokens/s`."""
    if value is None:
        return "–"
    if measure is Measure.SECONDS:
        return duration(value)
    return f"{value:,.0f} {measure.unit}" if abs(value) >= 1000 else f"{value:.4g} {measure.unit}"


@register.filter
def at_seconds(seconds: float) -> str:
    """A time of a point: `2026-11-30 03:12:45 UTC`."""
    return f"{moment(seconds):%Y-%m-%d %H:%M:%S} UTC"
