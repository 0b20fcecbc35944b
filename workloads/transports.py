"""In which ways is a scheduler seen?"""

from django.utils.translation import gettext_noop

TRANSPORTS = [
    ("local", gettext_noop("Commands of this machine")),
    ("ssh", gettext_noop("Over SSH")),
    ("push", gettext_noop("Pushed by its controller")),
]
