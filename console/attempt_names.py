"""How are several attempts named within a sentence?"""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from workloads.models import Attempt


def some_of(attempts: Sequence[Attempt], most: int) -> str:
    """`4711-0 of amy, 4712-0 of ben and 3 more`: the first `most` of them by name."""
    named = ", ".join(
        _("%(attempt)s of %(user)s") % {"attempt": one.label, "user": one.job.user} for one in attempts[:most]
    )
    if len(attempts) <= most:
        return named
    return _("%(names)s and %(count)s more") % {"names": named, "count": len(attempts) - most}
