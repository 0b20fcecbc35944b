"""How does a template say how a node stands, and what is paused?"""

from django import template
from django.utils.translation import gettext as _

from advisor_api.models import Exclusion, Pause
from advisor_api.node_standing import Standing
from console.pause_words import place_of
from console.plain_words import spoken
from console.standing_words import MEANING, SHORT

RULE = "rule "  # as `advisor_api.excluding` writes it
register = template.Library()


@register.filter
def short(standing: Standing) -> str:
    """The word alone: `At risk`."""
    return str(SHORT[standing])


@register.filter
def meaning(standing: Standing) -> str:
    """What it says, without the word."""
    return str(MEANING[standing])


@register.filter
def place(pause: Pause) -> str:
    """What is paused, without its cluster: `partition gpu`."""
    return place_of(pause.scope, pause.value)


@register.filter
def owner(exclusion: Exclusion) -> str:
    """Who left it out: the name of a person, or `the rule named node`."""
    if exclusion.verdict_id is None or not exclusion.owner.startswith(RULE):
        return exclusion.owner
    return _("the rule %(name)s") % {"name": spoken(exclusion.owner.removeprefix(RULE))}
