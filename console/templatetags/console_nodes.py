"""How does a template say how a node stands, and what is paused?"""

from django import template

from advisor_api.models import Pause
from advisor_api.node_standing import Standing
from console.pause_words import place_of
from console.standing_words import MEANING, SHORT

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
