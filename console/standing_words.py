"""How is it said how a node stands, in one word, and without that word?"""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from advisor_api.node_standing import Standing

SHORT: dict[Standing, Promise] = {
    Standing.EFFECTIVE: _("Effective"),
    Standing.AT_RISK: _("At risk"),
    Standing.ISOLATED: _("Isolated"),
    Standing.STRANDED: _("Stranded"),
}
MEANING: dict[Standing, Promise] = {
    Standing.EFFECTIVE: _("in use, nothing speaks against it"),
    Standing.AT_RISK: _("in use, with evidence against it"),
    Standing.ISOLATED: _("left out of restarts or out of use, for a reason that stands"),
    Standing.STRANDED: _("left out of restarts or out of use, and no reason stands any more"),
}
ORDER = {
    one: place
    for place, one in enumerate((Standing.AT_RISK, Standing.STRANDED, Standing.ISOLATED, Standing.EFFECTIVE))
}
"""What a person may want to do something about comes first."""
