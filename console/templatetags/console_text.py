"""What may a template do with times, spans, states and text that nobody can trust?"""

from datetime import datetime, timedelta
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.models import AuditEvent
from console import hostile_text, plain_words, spans
from schedulers.words import Word

register = template.Library()

VOCABULARY: dict[str, type[Word]] = {"event": EventType, "level": Level, "actor": ActorKind}
register.filter("duration", spans.duration)
register.filter("spoken", plain_words.spoken)
register.filter("node_state", plain_words.node_state)
register.filter("with_unit", plain_words.with_unit)
register.filter("read_from", plain_words.read_from)


@register.filter
def visible(text: Any) -> str:
    """Plain text with acting characters replaced; escaped by the template as usual."""
    return hostile_text.visible(text, limit=2000)


@register.filter
def log_text(text: Any) -> SafeString:
    """A log line, escaped, with acting characters set apart."""
    return hostile_text.visible_html(text)


@register.filter
def log_block(text: Any) -> SafeString:
    """Several log lines, for a `pre`."""
    return hostile_text.visible_block(text)


@register.filter
def coded(text: Any) -> SafeString:
    """Plain text as `visible`, with the words in it that a person has to type set apart as code."""
    return plain_words.coded(visible(text))


@register.filter
def actor_of(event: AuditEvent) -> str:
    """Who did what an event tells: a name as it is, a rule in words."""
    return visible(plain_words.spoken(event.actor) if event.actor_kind == ActorKind.RULE else event.actor)


@register.filter
def badge(word: Word | None) -> SafeString:
    """A member's label in its colour."""
    if word is None:
        return SafeString("")
    # stays English: markup
    return format_html('<span class="badge text-bg-{}">{}</span>', word.colour, _(word.label))


@register.filter
def word(value: str, vocabulary: str) -> Word | str:
    """The member of a vocabulary that a stored value names; the value itself when it is unknown to us."""
    try:
        return VOCABULARY[vocabulary](value)
    except ValueError:
        return value


@register.simple_tag
def moment(at: datetime | None, now: datetime | None = None, clock_only: bool = False) -> SafeString:
    """A time with zone and its age: `16:03:12 UTC, 3 min ago`; dated if not of today. `clock_only`: no age."""
    if not at:  # also the empty text of a variable that does not exist
        return SafeString('<span class="text-body-secondary">–</span>')  # stays English: markup
    same_day = at.date() == now.date() if now is not None else clock_only
    shown = f"{at:%H:%M:%S}" if same_day else f"{at:%Y-%m-%d %H:%M:%S}"
    exact = f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d} UTC"
    # stays English: markup
    when = format_html('<time datetime="{}" title="{}">{} UTC</time>', at.isoformat(), exact, shown)
    if now is None or clock_only:
        return when
    # stays English: markup
    return format_html('{} <span class="age" data-age-of="{}">{}</span>', when, at.isoformat(), spans.age(at, now))


@register.simple_tag
def ago(at: datetime | None, now: datetime) -> SafeString:
    """Only the age, with the exact time behind it."""
    if not at:
        return format_html('<span class="text-body-secondary">{}</span>', _("never"))  # stays English: markup
    return format_html(
        # stays English: markup
        '<time datetime="{}" title="{} UTC" data-age-of="{}">{}</time>',
        at.isoformat(),
        f"{at:%Y-%m-%d %H:%M:%S}",
        at.isoformat(),
        spans.age(at, now),
    )


@register.filter
def until(at: datetime, now: datetime) -> str:
    """`2 min 5 s` from `now` to `at`; `0 s` when that is over. Whole seconds, as the page counts them down."""
    return spans.duration(float(max(0, int((at - now).total_seconds()))))


@register.filter
def after(at: datetime, start: datetime | None) -> str:
    """`+3.2 s` from `start` to `at`; empty without a start."""
    return "" if start is None else f"+{spans.duration(max(at - start, timedelta()))}"


@register.filter
def percent(share: float | None) -> str:
    """`0.934` as `93 %`."""
    return "–" if share is None else f"{share * 100:.0f} %"
